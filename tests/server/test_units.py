"""Units over HTTP: what a session knows can be read, imported, edited and forgotten."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.conftest import House
from tests.server.process import Api

FIELDS = ["text", "format", "name", "request_id", "x"]
REFUSALS = {"envelope_invalid", "unit_text_invalid", "malformed_json"}
TEXT = "The port of the staging server is 80. The system must run on CPU only."


def a_session(api: Api, **wanted: Any) -> str:
    session_id: str = api.post("/sessions", {"agent": "echo", **wanted}).json()["id"]
    return session_id


def test_units_are_imported_listed_and_read(ben: Api) -> None:
    session_id = a_session(ben)

    imported = ben.post(f"/sessions/{session_id}/units", {"text": TEXT, "name": "notes"})
    listed = ben.get(f"/sessions/{session_id}/units").json()

    assert imported.status_code == 200
    assert imported.json()["added"] == [item["id"] for item in listed["items"]]
    first = listed["items"][0]
    assert first["status"] == "committed"
    assert first["unit"]["claim"] == "The port of the staging server is 80."
    assert first["unit"]["source_name"] == "notes"
    assert ben.get(f"/sessions/{session_id}/units/{first['id']}").json() | {"no": 1} == first
    assert ben.get(f"/sessions/{session_id}").json()["revision"] == 1


def test_units_come_in_pages(ben: Api) -> None:
    session_id = a_session(ben)
    ben.post(f"/sessions/{session_id}/units", {"text": "The cat is red. The dog is blue. The cow is green."})

    first = ben.get(f"/sessions/{session_id}/units?limit=2").json()
    rest = ben.get(f"/sessions/{session_id}/units", params={"limit": 2, "cursor": first["next"]}).json()

    assert [len(first["items"]), len(rest["items"])] == [2, 1]
    assert "next" not in rest


def test_a_document_with_faults_names_them_all_and_changes_nothing(ben: Api) -> None:
    session_id = a_session(ben)
    text = '@k1 ku atomic "a"\n@k2 set $k1 role Gossip\n@k3 set $k1 topic port\n'

    refused = ben.post(f"/sessions/{session_id}/units", {"text": text, "format": "units"})

    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (422, "unit_text_invalid")
    assert {(fault["code"], fault["line"], fault["column"]) for fault in problem["details"]} >= {
        ("INVALID_ROLE_VALUE", 2, 18)
    }
    assert ben.get(f"/sessions/{session_id}/units").json()["items"] == []
    assert ben.get(f"/sessions/{session_id}/runs").json()["items"] == []


def test_a_unit_is_edited_and_the_old_one_stays_as_superseded(ben: Api) -> None:
    session_id = a_session(ben)
    (unit_id, *_) = ben.post(f"/sessions/{session_id}/units", {"text": TEXT}).json()["added"]

    edited = ben.client.patch(f"/api/v1/sessions/{session_id}/units/{unit_id}", json={"claim": "The port is 443."})

    old = ben.get(f"/sessions/{session_id}/units/{unit_id}").json()
    assert edited.status_code == 200
    assert edited.json()["unit"]["claim"] == "The port is 443."
    assert (old["status"], old["superseded_by"]) == ("superseded", edited.json()["id"])


@pytest.mark.parametrize("change", [{}, {"claim": None}, {"id": "x"}, {"role": "Gossip"}, {"topic": 3}])
def test_an_edit_that_makes_no_unit_is_refused(ben: Api, change: dict[str, Any]) -> None:
    session_id = a_session(ben)
    (unit_id, *_) = ben.post(f"/sessions/{session_id}/units", {"text": TEXT}).json()["added"]

    refused = ben.client.patch(f"/api/v1/sessions/{session_id}/units/{unit_id}", json=change)

    assert (refused.status_code, refused.json()["code"]) == (422, "envelope_invalid")


def test_a_unit_is_forgotten(ben: Api) -> None:
    session_id = a_session(ben)
    (unit_id, *_) = ben.post(f"/sessions/{session_id}/units", {"text": TEXT}).json()["added"]

    gone = ben.client.delete(f"/api/v1/sessions/{session_id}/units/{unit_id}")

    assert (gone.status_code, gone.json()["status"], gone.json()["unit"]) == (200, "forgotten", None)


def test_the_units_of_a_session_are_nobody_elses(ben: Api, house: House) -> None:
    session_id = a_session(ben)
    (unit_id, *_) = ben.post(f"/sessions/{session_id}/units", {"text": TEXT}).json()["added"]
    cora = house.api("cora")

    answers = [
        cora.get(f"/sessions/{session_id}/units"),
        cora.get(f"/sessions/{session_id}/units/{unit_id}"),
        cora.post(f"/sessions/{session_id}/units", {"text": TEXT}),
        cora.client.patch(f"/api/v1/sessions/{session_id}/units/{unit_id}", json={"claim": "x"}),
        cora.client.delete(f"/api/v1/sessions/{session_id}/units/{unit_id}"),
    ]

    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(404, "session_not_found")}


def test_a_unit_that_is_not_there_is_not_found(ben: Api) -> None:
    session_id = a_session(ben)

    for answer in (
        ben.get(f"/sessions/{session_id}/units/session::t0001::unit-000"),
        ben.client.delete(f"/api/v1/sessions/{session_id}/units/session::t0001::unit-000"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "unit_not_found")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    body=st.dictionaries(
        st.sampled_from(["text", "format", "name", "request_id", "x"]), st.none() | st.text(), max_size=4
    )
)
def test_whatever_is_imported_the_answer_is_an_answer_or_a_problem(ben: Api, body: dict[str, Any]) -> None:
    session_id = a_session(ben)

    answer = ben.post(f"/sessions/{session_id}/units", body)

    assert answer.status_code in (200, 400, 422)
    assert answer.status_code == 200 or answer.json()["code"] in (
        "envelope_invalid",
        "unit_text_invalid",
        "malformed_json",
    )
