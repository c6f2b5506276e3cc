"""What a client carries travels sealed, and every way of getting it wrong is told."""

import json
from typing import Any

import pytest

from tests.server.conftest import House
from tests.server.process import Api, audit_of


def carrying(api: Api, message: str, before: dict[str, Any] | None = None, **asked: Any) -> dict[str, Any]:
    more = {} if before is None else {"session_id": before["session_id"], "carried": before["carried"]}
    return api.chat(message, custody="client", **more, **asked)


def refusal(api: Api, **body: Any) -> tuple[int, str, str | None]:
    answer = api.post("/chat", {"message": "What did I say?", "custody": "client", **body})
    problem = answer.json()
    return answer.status_code, problem.get("code", ""), problem.get("reason")


def test_nothing_of_a_carried_state_can_be_read_in_any_answer(ben: Api) -> None:
    first = carrying(ben, "remember zebra-four")
    streamed = ben.stream_chat("remember zebra-five", custody="client")[-1].data["data"]
    run = ben.get(f"/runs/{first['run_id']}").text
    failed = ben.post("/chat", {"message": "Go", "agent": "failing", "reset": True, "custody": "client"}).json()

    assert isinstance(first["carried"], str)
    assert isinstance(streamed["carried"], str)
    assert isinstance(failed["carried"], str)
    assert "zebra" not in json.dumps([first["carried"], streamed["carried"], failed["carried"]])
    assert '"history"' not in run + json.dumps([first, streamed, failed])


def test_the_state_of_a_reset_that_stands_is_taken_back(ben: Api) -> None:
    first = carrying(ben, "remember milk")
    again = {"session_id": first["session_id"], "carried": first["carried"]}
    failed = ben.post(
        "/chat", {"message": "Go", "agent": "failing", "reset": True, "custody": "client", **again}
    ).json()

    after = carrying(ben, "What did I say?", failed)

    assert after["text"] == "You have not asked me to remember anything yet."


def test_whoever_asks_again_is_given_a_state_that_is_as_good(ben: Api) -> None:
    first = carrying(ben, "remember milk", request_id="sealed-1", session_id="kept-by-ben")
    again = carrying(ben, "remember milk", request_id="sealed-1", session_id="kept-by-ben")

    assert again["run_id"] == first["run_id"]
    assert carrying(ben, "What did I say?", again)["text"] == "You asked me to remember: milk"


def test_a_state_is_refused_to_everyone_else_and_everywhere_else(ben: Api, ada: Api, gus: Api, house: House) -> None:
    first = carrying(ben, "remember milk")
    carrying(gus, "remember oats")
    session, text = first["session_id"], first["carried"]
    told = len(audit_of(house.database))

    refusals = {
        "to a colleague": refusal(ada, session_id=session, carried=text),
        "to another tenant": refusal(gus, session_id=session, carried=text),
        "in another session": refusal(ben, session_id="another", carried=text),
        "without a session": refusal(ben, carried=text),
        "cut": refusal(ben, session_id=session, carried=text[:-8]),
        "tampered with": refusal(ben, session_id=session, carried=text[:-8] + "AAAAAAAA"),
        "too large": refusal(ben, session_id=session, carried="A" * 400_000),
        "not sealed at all": refusal(ben, session_id=session, carried="{}"),
    }

    assert refusals == {
        "to a colleague": (422, "carried_invalid", "not_yours"),
        "to another tenant": (422, "carried_invalid", "unknown_key"),
        "in another session": (422, "carried_invalid", "not_yours"),
        "without a session": (422, "carried_invalid", "no_session"),
        "cut": (422, "carried_invalid", "not_yours"),
        "tampered with": (422, "carried_invalid", "not_yours"),
        "too large": (422, "carried_invalid", "too_large"),
        "not sealed at all": (422, "carried_invalid", "no_seal"),
    }
    written = audit_of(house.database)[told:]
    assert [(entry["verb"], entry["outcome"]) for entry in written] == [("chat", "carried_invalid")] * len(refusals)


def test_the_owner_rotates_the_keys_and_retires_one(gus: Api) -> None:
    before = carrying(gus, "remember milk")

    rotated = gus.post("/seals/rotate", {})
    after = carrying(gus, "What did I say?", before)
    *_, old, new = gus.get("/seals").json()["items"]
    retired = gus.post(f"/seals/{old['id']}/retire", {})

    assert (rotated.status_code, rotated.json()["id"]) == (201, new["id"])
    assert after["text"] == "You asked me to remember: milk"
    assert retired.status_code == 204
    assert refusal(gus, session_id=before["session_id"], carried=before["carried"])[2] == "retired_key"
    assert carrying(gus, "What did I say?", after)["text"] == "You asked me to remember: milk"
    assert gus.post("/seals/nobody/retire", {}).json()["code"] == "seal_key_not_found"
    assert set(old) == {"id", "created_at", "retired_at"}


@pytest.mark.parametrize("path", ["/seals/rotate", "/seals/seal_1/retire"])
def test_only_owner_and_admin_have_to_do_with_the_keys(ben: Api, path: str) -> None:
    assert ben.post(path, {}).json()["code"] == "not_allowed"
    assert ben.get("/seals").json()["code"] == "not_allowed"


def test_a_session_changes_hands_and_goes_on(ben: Api, ada: Api) -> None:
    first = carrying(ben, "remember milk")
    body = {"session_id": first["session_id"], "carried": first["carried"]}

    adopted = ben.post("/sessions/adopt", {**body, "agent": "echo", "title": "Shopping"})
    here = ben.chat("What did I say?", session_id=adopted.json()["id"])
    released = ben.post(f"/sessions/{adopted.json()['id']}/release", {}).json()
    there = carrying(ben, "What did I say?", released)

    assert (adopted.status_code, adopted.json()["from_session_id"]) == (201, first["session_id"])
    assert here["text"] == there["text"] == "You asked me to remember: milk"
    assert (here["turn"], there["turn"], released["warnings"]) == (2, 3, [])
    assert ben.get(f"/sessions/{released['session_id']}").json()["closed_reason"] == "released"
    assert ada.post("/sessions/adopt", body).json()["code"] == "carried_invalid"
    again = ben.post(f"/sessions/{released['session_id']}/release", {}).json()
    assert carrying(ben, "What did I say?", again)["turn"] == 3


def test_a_state_that_is_not_the_newest_is_told_from_one_that_is(ben: Api) -> None:
    first = carrying(ben, "remember milk", freshness="strict")
    carrying(ben, "remember oats", first, freshness="strict")

    body = {"session_id": first["session_id"], "carried": first["carried"], "freshness": "strict"}
    stale = ben.post("/chat", {"message": "What did I say?", "custody": "client", **body})

    assert (stale.status_code, stale.json()["code"], stale.json()["revision"]) == (409, "carried_stale", 2)
