"""What sessions are for and what they inherit, over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.conftest import House
from tests.server.process import Api, a_server

EMPTY: dict[str, object] = {"mounts": [], "thread": None, "closed_at": None, "context_chain": [], "provenance": {}}


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("operator")
    with a_server(folder / "conversations.db", "--token", "token-of-operator") as server:
        yield server.api("token-of-operator")


def code(response: object) -> tuple[int, str]:
    return response.status_code, response.json()["code"]  # type: ignore[attr-defined]


def test_nyqst_01_02_a_session_belongs_to_who_began_it_whatever_the_body_says(ben: Api) -> None:
    begun = ben.post("/sessions", {"module": "research"})
    forged = [ben.post("/sessions", {"module": "research", name: "gus"}) for name in ("tenant", "owner", "user_id")]

    session = begun.json()
    assert (begun.status_code, session["status"], session["module"]) == (201, "active", "research")
    assert (session["tenant"], session["owner"]) == ("acme", "ben")
    assert session["created_at"] == session["last_active_at"]
    assert {name: session[name] for name in EMPTY} == EMPTY
    assert [code(each) for each in forged] == [(422, "envelope_invalid")] * 3


def test_nyqst_03_there_are_six_modules(ben: Api) -> None:
    modules = ("research", "analysis", "document", "modelling", "knowledge", "insight")

    answers = [ben.post("/sessions", {"module": each}).status_code for each in (*modules, "cooking")]

    assert answers == [201] * 6 + [422]


def test_nyqst_04_08_nobody_else_reads_or_begins_what_is_not_theirs(house: House, ada: Api, ben: Api, gus: Api) -> None:
    project = gus.post("/projects", {"name": "Harbour"}).json()["id"]
    session = ben.post("/sessions", {"module": "research"}).json()["id"]
    body = {"module": "research", "project_id": project}

    assert house.api(None).post("/sessions", body).status_code == 401
    assert code(house.api("vera").post("/sessions", body)) == (403, "not_allowed")
    assert code(ben.post("/sessions", body)) == (404, "layer_not_found")
    assert code(gus.get(f"/sessions/{session}")) == (404, "session_not_found")
    assert code(house.api("cora").get(f"/sessions/{session}")) == (404, "session_not_found")
    assert ada.get(f"/sessions/{session}").json()["owner"] == "ben"


def test_nyqst_11_39_79_90_settings_are_changed_whole_and_only_while_the_session_lives(ben: Api) -> None:
    session = ben.post("/sessions", {"module": "research", "layout": {"tab": 1}}).json()["id"]
    place = f"/sessions/{session}"
    layout = {"panes": [{"id": 1, "open": True}], "scroll": 0.5, "note": "\u00e9"}

    assert ben.put(f"{place}/layout", {"layout": layout}).status_code == 204
    assert ben.get(f"{place}/resume-view").json()["layout"] == layout
    assert code(ben.put(f"{place}/layout", {"layout": "x" * 300_000})) == (413, "layout_too_large")
    pin = {"mounts": {"pin": [{"kind": "kb", "id": "kb_none"}]}, "module": "insight"}
    assert code(ben.patch(place, pin)) == (404, "mount_not_found")
    assert ben.get(place).json()["module"] == "research"
    assert code(ben.patch(place, {"pinned_artifacts": ["abc"]})) == (422, "envelope_invalid")
    assert code(ben.patch(place, {"title": "x"}, headers={"If-Match": '"9"'})) == (412, "version_moved")
    assert code(ben.patch(place, {})) == (422, "envelope_invalid")
    assert ben.patch(place, {"status": "idle"}).json()["pause_reason"] == "idle"
    assert ben.patch(place, {"status": "closed", "close_reason": "done"}).json()["closed_reason"] == "done"
    assert code(ben.patch(place, {"status": "active"})) == (409, "invalid_transition")
    assert code(ben.patch(place, {"module": "insight"})) == (409, "session_ended")
    assert code(ben.put(f"{place}/layout", {"layout": {}})) == (409, "session_ended")
    assert code(ben.post(f"{place}/rebase")) == (409, "session_ended")


def test_nyqst_36_a_pointer_that_is_deleted_is_missing_and_the_session_goes_on(ada: Api) -> None:
    pointer = ada.post("/pointers", {"namespace": "docs", "name": "handbook-36"}).json()["id"]
    terms = {"mounts": [{"kind": "pointer", "id": pointer}]}
    project = ada.post("/projects", {"name": "Harbour", "terms": terms}).json()["id"]
    session = ada.post("/sessions", {"project_id": project, "agent": "echo"}).json()["id"]
    before = ada.get(f"/sessions/{session}").json()["mounts"]

    ada.delete(f"/pointers/{pointer}")

    after = ada.get(f"/sessions/{session}").json()["mounts"]
    assert [mount["state"] for mount in (*before, *after)] == ["effective", "missing"]
    assert ada.chat("Hello", session_id=session)["turn"] == 1


def test_nyqst_87_88_89_what_happened_and_what_was_wrong_is_told_in_one_shape(ben: Api) -> None:
    session = ben.post("/sessions", {"module": "knowledge"}).json()["id"]
    ben.post(f"/sessions/{session}/pause")
    ben.post(f"/sessions/{session}/resume")

    events = ben.get(f"/sessions/{session}/events").json()["items"]
    found = ben.get("/sessions?module=knowledge&limit=1").json()
    wrong = [ben.get("/sessions?limit=0"), ben.get("/sessions?limit=201"), ben.get("/sessions?module=cooking")]

    assert [(event["what"], event["by"]) for event in events] == [
        ("started", "ben"),
        ("paused", "ben"),
        ("resumed", "ben"),
    ]
    assert (len(found["items"]), found["total"] >= 1, "next" in found) == (1, True, found["total"] > 1)
    assert [code(each) for each in wrong] == [(422, "envelope_invalid")] * 3
    assert all({"type", "title", "status", "detail", "code", "trace_id"} <= each.json().keys() for each in wrong)


def test_layers_carry_etags_and_only_operators_make_tenants(operator: Api, ada: Api) -> None:
    made = operator.post("/tenants", {"id": "umbrella", "name": "Umbrella", "terms": {"quotas": {"sessions": 5}}})
    stale = operator.patch("/tenants/umbrella", {"name": "Late"}, headers={"If-Match": '"7"'})
    changed = operator.patch("/tenants/umbrella", {"status": "suspended"}, headers={"If-Match": made.headers["etag"]})

    assert (made.status_code, made.headers["etag"], changed.headers["etag"]) == (201, '"1"', '"2"')
    assert changed.json()["terms"]["quotas"] == {"sessions": 5}
    assert code(stale) == (412, "revision_moved")
    assert [item["id"] for item in operator.get("/tenants").json()["items"]] == ["umbrella"]
    assert code(ada.post("/tenants", {"id": "evil", "name": "Evil"})) == (403, "not_allowed")
    assert code(ada.get("/tenants/globex")) == (404, "layer_not_found")
    assert ada.get("/tenants/acme").json()["id"] == "acme"
    assert code(ada.patch("/tenants/acme", {"terms": {"quotas": {"sessions": 1}}})) == (403, "not_allowed")


def test_a_suspended_user_is_told_so(house: House, ada: Api) -> None:
    cora = house.api("cora")
    assert ada.post("/users", {"id": "cora", "role": "member"}).status_code == 201
    ada.patch("/users/cora", {"status": "suspended"})

    refused = cora.get("/sessions")
    ada.patch("/users/cora", {"status": "active"})

    assert code(refused) == (403, "user_suspended")
    assert cora.get("/sessions").status_code == 200


def test_what_is_inherited_says_where_it_comes_from(ada: Api) -> None:
    ada.put("/models/deep", {"chat_model": "deep-thought"})
    terms = {"policy": "regulated", "model_profile": "deep", "limits": {"max_steps": 7}, "prompt": "Be brief."}
    project = ada.post("/projects", {"name": "Harbour", "terms": terms}).json()["id"]
    session = ada.post("/sessions", {"project_id": project}).json()

    assert (session["policy"], session["model_profile"], session["limits"]) == ("regulated", "deep", {"max_steps": 7})
    assert session["provenance"] == {
        "policy": "project",
        "model_profile": "project",
        "limits.max_steps": "project",
        "prompt.0": "project",
    }
    assert session["context_chain"] == [{"level": "project", "id": project, "revision": 1}]
    lax = ada.post("/sessions", {"project_id": project, "policy": "standard"})
    assert code(lax) == (403, "policy_relaxation")
    assert code(ada.post("/sessions", {"backend": "bwrap"})) == (409, "isolation_unavailable")


def test_nyqst_84_the_current_session_is_found_again(gus: Api) -> None:
    first = gus.put("/sessions/current", {"module": "modelling"})

    again = gus.put("/sessions/current", {"module": "modelling"})

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]
    assert first.headers["location"].endswith(f"/sessions/{first.json()['id']}")


def test_nyqst_06_the_same_key_begins_one_session(ben: Api) -> None:
    key = {"Idempotency-Key": "begin-once"}

    one, two = (ben.post("/sessions", {"module": "insight"}, headers=key) for _ in range(2))
    other = ben.post("/sessions", {"module": "analysis"}, headers=key)

    assert one.json()["id"] == two.json()["id"]
    assert code(other) == (409, "duplicate_request")


def test_a_list_of_mounts_takes_the_place_of_the_pins_of_who_went_before(ada: Api) -> None:
    base = ada.post("/kbs", {"name": "Pier"}).json()["id"]
    before = ada.post("/sessions", {"module": "research", "mounted_kbs": [base]}).json()["id"]
    ada.post(f"/sessions/{before}/close", {})

    def mounted(**asked: object) -> list[str]:
        went_on = ada.post("/sessions", {"from_session_id": before, **asked}).json()
        return [mount["id"] for mount in went_on["mounts"]]

    assert mounted(module="analysis") == [base]
    assert mounted(mounted_kbs=[]) == []
    assert mounted(mounted_pointers=[]) == [base]
