"""The life of a session over HTTP."""

import pytest

from tests.server.conftest import House
from tests.server.process import Api


def test_a_session_is_paused_resumed_and_closed(ben: Api) -> None:
    session_id = ben.post("/sessions").json()["id"]

    statuses = [ben.post(f"/sessions/{session_id}/{verb}").json()["status"] for verb in ("pause", "resume", "close")]

    assert statuses == ["paused", "active", "closed"]


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_closed_session_does_not_change_its_status(ben: Api, verb: str) -> None:
    session_id = ben.post("/sessions").json()["id"]
    ben.post(f"/sessions/{session_id}/close")

    refused = ben.post(f"/sessions/{session_id}/{verb}")

    assert (refused.status_code, refused.json()["code"]) == (409, "invalid_transition")


def test_a_message_resumes_a_paused_session(ben: Api) -> None:
    session_id = ben.chat("Hello")["session_id"]
    ben.post(f"/sessions/{session_id}/pause")

    ben.chat("Back again", session_id=session_id)

    assert ben.get(f"/sessions/{session_id}").json()["status"] == "active"


def test_settings_change_only_while_they_have_the_expected_etag(ben: Api) -> None:
    begun = ben.post("/sessions")
    address, etag = f"/api/v1/sessions/{begun.json()['id']}", begun.headers["etag"]

    changed = ben.client.patch(
        address, json={"title": "Harbour", "idle_for_seconds": 60, "double_text": "reject"}, headers={"If-Match": etag}
    )
    refused = ben.client.patch(address, json={"title": "Kitchen"}, headers={"If-Match": etag})

    assert changed.status_code == 200
    assert {name: changed.json()[name] for name in ("title", "idle_for_seconds", "double_text", "version")} == {
        "title": "Harbour",
        "idle_for_seconds": 60,
        "double_text": "reject",
        "version": 2,
    }
    assert (refused.status_code, refused.json()["code"]) == (412, "version_moved")


def test_a_finished_session_goes_on_in_a_new_one(ben: Api) -> None:
    session_id = ben.chat("Hello")["session_id"]
    early = ben.post("/sessions", {"from_session_id": session_id})
    ben.post(f"/sessions/{session_id}/close")

    session = ben.post("/sessions", {"from_session_id": session_id})

    assert (early.status_code, early.json()["code"]) == (409, "session_not_over")
    assert session.status_code == 201
    assert session.json()["from_session_id"] == session_id
    said = ben.get(f"/sessions/{session.json()['id']}/messages").json()["items"]
    assert (said[0]["turn"], said[0]["content"]) == (0, "Hello")


def test_fact_1_choices_of_a_new_session_become_its_preferences(ben: Api) -> None:
    chosen = {"plugins": {"gs-plugin": "gs-symbolic"}, "model": "small", "level": 2}

    session = ben.post("/sessions", chosen).json()

    assert session["preferences"] == chosen


def test_fact_2_a_session_that_chose_nothing_prefers_nothing(ben: Api) -> None:
    assert ben.post("/sessions").json()["preferences"] == {"model": None, "plugins": {}, "level": None}


@pytest.mark.parametrize(
    "body",
    [
        {"level": 4},
        {"level": -1},
        {"level": "2"},
        {"plugins": ["gs-symbolic"]},
        {"plugins": {"gs-plugin": 3}},
        {"model": ""},
    ],
)
def test_a_choice_that_is_none_is_refused(ben: Api, body: dict[str, object]) -> None:
    for refused in (ben.post("/sessions", body), ben.post("/chat", {"message": "Hello", **body})):
        assert (refused.status_code, refused.json()["code"]) == (422, "envelope_invalid")


def test_an_idle_time_has_its_bounds(ben: Api) -> None:
    for seconds in (0, -1, 10**12, 1.5, "60"):
        refused = ben.post("/sessions", {"idle_for_seconds": seconds})
        assert (refused.status_code, refused.json()["code"]) == (422, "envelope_invalid")


def test_nobody_else_changes_a_session(ben: Api, house: House) -> None:
    session_id = ben.post("/sessions").json()["id"]
    cora = house.api("cora")

    refused = [
        cora.post(f"/sessions/{session_id}/pause"),
        cora.client.patch(f"/api/v1/sessions/{session_id}", json={"title": "Mine"}),
        cora.post("/sessions", {"from_session_id": session_id}),
    ]

    assert {answer.json()["code"] for answer in refused} == {"session_not_found"}


def test_fault_21_sessions_are_listed_renamed_read_and_their_units_changed(ben: Api) -> None:
    session_id = ben.chat("Hello")["session_id"]
    ben.client.patch(f"/api/v1/sessions/{session_id}", json={"title": "Harbour"})
    (unit_id,) = ben.post(f"/sessions/{session_id}/units", {"text": "The ferry takes cars."}).json()["added"]
    ben.client.delete(f"/api/v1/sessions/{session_id}/units/{unit_id}")

    listed = {session["id"]: session["title"] for session in ben.get("/sessions").json()["items"]}
    said = [message["content"] for message in ben.get(f"/sessions/{session_id}/messages").json()["items"]]

    assert listed[session_id] == "Harbour"
    assert said[0] == "Hello"
    assert ben.get(f"/sessions/{session_id}/units/{unit_id}").json()["status"] == "forgotten"
