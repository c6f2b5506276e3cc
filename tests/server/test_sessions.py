"""Sessions over HTTP."""

import pytest

from tests.server.conftest import House
from tests.server.process import Api


def test_a_session_is_begun_read_and_listed(ben: Api) -> None:
    begun = ben.post("/sessions", {"title": "Tea"})

    session = begun.json()
    read = ben.client.get(begun.headers["location"])
    assert begun.status_code == 201
    assert read.json() == session | {"counts": {"runs": 0, "artifacts": 0}}
    assert read.headers["etag"] == begun.headers["etag"] == '"1"'
    assert session["title"] == "Tea"
    assert {name: session[name] for name in ("status", "revision", "version", "turns", "epoch")} == {
        "status": "active",
        "revision": 0,
        "version": 1,
        "turns": 0,
        "epoch": 1,
    }
    assert session["opening"] is None
    assert ben.get("/sessions").json()["items"][0] == session


def test_a_session_bears_one_opening_wherever_it_is_told(ben: Api) -> None:
    session_id = ben.chat("How cold is it?")["session_id"]

    told = [
        ben.get("/sessions").json()["items"][0],
        ben.get(f"/sessions/{session_id}").json(),
        ben.get(f"/sessions/{session_id}/resume-view").json()["session"],
        ben.post(f"/sessions/{session_id}/pause").json(),
    ]

    assert [session["opening"] for session in told] == ["How cold is it?"] * 4


def test_sessions_are_found_by_words_and_listed_by_their_last_activity(house: House) -> None:
    cora = house.api("cora")
    first, second, third = [cora.chat(f"Tell me about the {word}")["session_id"] for word in ("SEA", "sky", "sea bed")]
    cora.chat("And more of it", session_id=first)

    found = cora.get("/sessions", params={"text": "sea TELL", "order": "active", "limit": 1}).json()
    rest = cora.get("/sessions", params={"text": "sea TELL", "order": "active", "cursor": found["next"]}).json()
    refused = cora.get("/sessions", params={"order": "active", "cursor": second})

    assert [(each["id"], each["opening"]) for each in found["items"]] == [(first, "Tell me about the SEA")]
    assert [each["id"] for each in rest["items"]] == [third]
    assert (found["total"], rest["total"], "next" in rest) == (2, 2, False)
    assert (refused.status_code, refused.json()["code"]) == (422, "envelope_invalid")


def test_what_was_forked_from_a_session_can_be_listed(ben: Api) -> None:
    session_id = ben.chat("one")["session_id"]
    fork = ben.post(f"/sessions/{session_id}/fork").json()["id"]

    found = ben.get("/sessions", params={"fork_of": session_id}).json()

    assert [(each["id"], each["opening"]) for each in found["items"]] == [(fork, "one")]


def test_a_session_needs_nothing_to_begin(ben: Api) -> None:
    assert ben.post("/sessions").status_code == 201
    assert ben.post("/sessions", {}).status_code == 201


def test_sessions_come_in_pages_newest_first(gus: Api) -> None:
    made = [gus.post("/sessions").json()["id"] for _ in range(5)]

    seen: list[str] = []
    page = gus.get("/sessions?limit=2").json()
    while len(seen) < 5:
        seen += [session["id"] for session in page["items"]]
        page = gus.get("/sessions", params={"limit": 2, "cursor": page.get("next", seen[-1])}).json()

    assert seen[:5] == made[::-1]


def test_the_last_page_has_no_next(house: House) -> None:
    cora = house.api("cora")
    cora.post("/sessions")

    page = cora.get("/sessions").json()

    assert "next" not in page


def test_messages_come_in_pages_in_order(ben: Api) -> None:
    session_id = ben.chat("one")["session_id"]
    ben.chat("two", session_id=session_id)

    first = ben.get(f"/sessions/{session_id}/messages?limit=3").json()
    second = ben.get(f"/sessions/{session_id}/messages", params={"limit": 3, "cursor": first["next"]}).json()

    messages = first["items"] + second["items"]
    assert [message["seq"] for message in messages] == [1, 2, 3, 4]
    assert [message["role"] for message in messages] == ["user", "assistant"] * 2
    assert messages[2]["content"] == "two"
    assert set(messages[0]) == {"id", "seq", "turn", "epoch", "role", "content", "created_at"}
    assert "next" not in second


def test_runs_come_in_pages_newest_first(ben: Api) -> None:
    session_id = ben.chat("one")["session_id"]
    ben.chat("two", session_id=session_id)
    last = ben.chat("three", session_id=session_id)

    first = ben.get(f"/sessions/{session_id}/runs?limit=2").json()
    second = ben.get(f"/sessions/{session_id}/runs", params={"cursor": first["next"]}).json()

    assert [run["turn"] for run in first["items"] + second["items"]] == [3, 2, 1]
    assert first["items"][0]["id"] == last["run_id"]


def test_a_closed_session_can_be_read_but_takes_no_message(ben: Api) -> None:
    session_id = ben.chat("Hello")["session_id"]

    closed = ben.post(f"/sessions/{session_id}/close")
    refused = ben.post("/chat", {"message": "Still there?", "session_id": session_id})

    assert (closed.status_code, closed.json()["status"]) == (200, "closed")
    assert (refused.status_code, refused.json()["code"]) == (410, "session_closed")
    assert len(ben.get(f"/sessions/{session_id}/messages").json()["items"]) == 2


def test_nyqst_12_a_session_is_closed_once_however_often_it_is_asked_for(ben: Api) -> None:
    session_id = ben.post("/sessions").json()["id"]
    closed = ben.post(f"/sessions/{session_id}/close")

    again = ben.post(f"/sessions/{session_id}/close")

    assert (again.status_code, again.json()) == (200, closed.json())
    events = ben.get(f"/sessions/{session_id}/events").json()["items"]
    assert [event["what"] for event in events] == ["started", "closed"]


def test_settings_that_were_changed_meanwhile_are_not_changed_again(ben: Api) -> None:
    session_id = ben.post("/sessions").json()["id"]

    refused = ben.post(f"/sessions/{session_id}/close", headers={"If-Match": '"7"'})
    closed = ben.post(f"/sessions/{session_id}/close", headers={"If-Match": '"1"'})

    assert (refused.status_code, refused.json()["code"]) == (412, "version_moved")
    assert refused.json()["version"] == 1
    assert (closed.status_code, closed.headers["etag"]) == (200, '"2"')


def test_a_reset_begins_a_new_epoch(ben: Api) -> None:
    session_id = ben.chat("remember milk")["session_id"]

    reset = ben.post(f"/sessions/{session_id}/reset")
    reply = ben.chat("What did I say?", session_id=session_id)

    assert reset.json()["status"] == "completed"
    assert reply["text"] == "You have not asked me to remember anything yet."
    assert ben.get(f"/sessions/{session_id}").json()["epoch"] == 2


def test_another_members_session_does_not_exist(house: House, ben: Api) -> None:
    session_id = house.api("cora").chat("Mine")["session_id"]

    for path in ("", "/messages", "/runs", "/feed"):
        refused = ben.get(f"/sessions/{session_id}{path}")
        assert (refused.status_code, refused.json()["code"]) == (404, "session_not_found")
    for path in ("close", "reset"):
        refused = ben.post(f"/sessions/{session_id}/{path}")
        assert (refused.status_code, refused.json()["code"]) == (404, "session_not_found")
    refused = ben.post("/chat", {"message": "Hi", "session_id": session_id, "on_missing": "error"})
    assert (refused.status_code, refused.json()["code"]) == (404, "session_not_found")


def test_the_owner_of_a_tenant_sees_its_sessions_and_no_others(ada: Api, ben: Api, gus: Api) -> None:
    of_ben = ben.chat("Hi")["session_id"]
    of_gus = gus.chat("Hi")["session_id"]

    assert ada.get(f"/sessions/{of_ben}").status_code == 200
    assert ada.get(f"/sessions/{of_gus}").status_code == 404
    seen = {session["id"] for session in ada.get("/sessions?limit=200").json()["items"]}
    assert of_ben in seen
    assert of_gus not in seen


def test_a_viewer_reads_and_does_not_write(house: House) -> None:
    vera = house.api("vera")

    refused = [vera.post("/chat", {"message": "Hi"}), vera.post("/sessions"), vera.post("/runs/run_1/cancel")]

    assert [response.json()["code"] for response in refused] == ["not_allowed"] * 3
    assert vera.get("/sessions").json() == {"items": [], "total": 0}


def test_sessions_are_found_by_title_agent_owner_and_time(ada: Api, ben: Api) -> None:
    his = ben.post("/sessions", {"agent": "asking", "title": "The 7th table"}).json()
    ben.post("/sessions", {"agent": "echo", "title": "Another"})
    soon = {"created_from": his["created_at"], "active_until": "2999-01-01T00:00:00Z"}

    found = ada.get("/sessions", params={"title": "7TH TABLE", "agent": "asking", "owner": "ben", **soon}).json()
    none = ada.get("/sessions", params={"title": "7TH TABLE", "created_until": his["created_at"]}).json()
    others = ben.get("/sessions", params={"owner": "ada", "title": "7th table"}).json()

    assert ([each["id"] for each in found["items"]], found["total"]) == ([his["id"]], 1)
    assert none["items"] == []
    assert [each["id"] for each in others["items"]] == [his["id"]], "whoever asks looks among their own"


@pytest.mark.parametrize("asked", [{"created_from": "7"}, {"title": ""}, {"cursor": "no such cursor"}, {"limit": "0"}])
def test_what_cannot_be_looked_for_is_refused(ben: Api, asked: dict[str, str]) -> None:
    refused = ben.get("/sessions", params=asked)

    assert (refused.status_code, refused.json()["details"][0]["parameter"]) == (422, *asked)


def test_agents_come_in_pages(ada: Api) -> None:
    first = ada.get("/agents", params={"limit": 2}).json()
    rest = ada.get("/agents", params={"cursor": first["next"]}).json()

    assert [each["id"] for each in (*first["items"], *rest["items"])] == [
        each["id"] for each in ada.get("/agents").json()["items"]
    ]
    assert len(first["items"]) == 2
