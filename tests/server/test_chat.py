"""Talking over HTTP."""

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import House
from tests.server.process import Api, wait_for

TRACE = "0af7651916cd43dd8448eb211c80319c"


def test_a_message_is_answered(ben: Api) -> None:
    reply = ben.chat("Hello")

    assert reply == {
        "session_id": reply["session_id"],
        "run_id": reply["run_id"],
        "turn": 1,
        "text": "You said 'Hello'. This is turn 1 of our conversation.",
        "status": "completed",
        "created": True,
        "finish": "done",
        "warnings": [],
    }


def test_a_conversation_goes_on_in_its_session(ben: Api) -> None:
    first = ben.chat("remember milk")

    second = ben.chat("What did I say?", session_id=first["session_id"])

    assert (second["turn"], second["created"]) == (2, False)
    assert second["text"] == "You asked me to remember: milk"


def test_a_reset_with_a_message_forgets_what_was_before_it(ben: Api) -> None:
    first = ben.chat("remember milk")

    second = ben.chat("What did I say?", session_id=first["session_id"], reset=True)

    assert second["text"] == "You have not asked me to remember anything yet."


def test_an_unknown_session_is_replaced_and_the_reply_says_so(ben: Api) -> None:
    reply = ben.chat("Hello", session_id="sess_nobody")

    assert reply["created"] is True
    assert (reply["replaced_session_id"], reply["replaced_reason"]) == ("sess_nobody", "not_found")


def test_the_client_may_keep_the_session_itself(ben: Api) -> None:
    first = ben.chat("remember milk", custody="client")

    second = ben.chat("What did I say?", custody="client", session_id=first["session_id"], carried=first["carried"])

    assert second["text"] == "You asked me to remember: milk"
    assert ben.get(f"/sessions/{first['session_id']}").status_code == 404


def test_the_same_request_is_answered_once(ben: Api) -> None:
    key = {"Idempotency-Key": "order-7"}

    first = ben.post("/chat", {"message": "Order tea"}, headers=key)
    again = ben.post("/chat", {"message": "Order tea", "request_id": "order-7"})

    assert again.json()["run_id"] == first.json()["run_id"]
    assert (first.json()["created"], again.json()["created"]) == (True, False)
    assert first.headers["x-request-id"] == again.headers["x-request-id"] == "order-7"


def test_the_same_request_id_with_another_body_is_refused(ben: Api) -> None:
    ben.chat("Order tea", request_id="order-8")

    refused = ben.post("/chat", {"message": "Order coffee", "request_id": "order-8"})

    assert (refused.status_code, refused.json()["code"]) == (409, "duplicate_request")


def test_two_different_request_ids_in_one_request_are_refused(ben: Api) -> None:
    refused = ben.post("/chat", {"message": "Hi", "request_id": "one"}, headers={"Idempotency-Key": "two"})

    assert refused.status_code == 422
    assert {"pointer": "/request_id", "message": "must equal the header Idempotency-Key"} in refused.json()["details"]


def test_a_trace_goes_in_and_comes_out(ben: Api) -> None:
    response = ben.post("/chat", {"message": "Hi"}, headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})

    run = ben.get(f"/runs/{response.json()['run_id']}").json()
    assert response.headers["x-trace-id"] == run["trace_id"] == TRACE


@pytest.mark.parametrize(
    "sent", ["", "00-0-0-00", f"00-{'0' * 32}-b7ad6b7169203331-01", f"ff-{TRACE}-b7ad6b7169203331-01"]
)
def test_a_trace_that_cannot_be_read_is_replaced_by_a_new_one(ben: Api, sent: str) -> None:
    response = ben.post("/chat", {"message": "Hi"}, headers={"traceparent": sent})

    assert len(response.headers["x-trace-id"]) == 32
    assert response.headers["x-trace-id"] not in ("0" * 32, TRACE)


def test_a_failing_agent_is_a_problem_and_its_words_stay_inside(ben: Api) -> None:
    refused = ben.post("/chat", {"message": "boo", "agent": "failing"})

    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["stage"]) == (502, "agent_failed", "hand_off")
    assert "secret" not in refused.text
    assert ben.get(f"/runs/{problem['run_id']}").json()["status"] == "failed"


def test_a_question_comes_back_and_is_answered(ben: Api) -> None:
    asked = ben.chat("Book", agent="asking")
    answered = ben.post(f"/runs/{asked['run_id']}/answer", {"message": "four"})

    assert (asked["status"], asked["text"]) == ("waiting", "For how many?")
    assert answered.json()["text"] == "A table for four."
    assert answered.json()["run_id"] == asked["run_id"]


def test_a_question_is_answered_by_a_message_that_says_so(ben: Api) -> None:
    asked = ben.chat("Book", agent="asking")

    answered = ben.chat("six", session_id=asked["session_id"], answers=asked["run_id"])

    assert answered["text"] == "A table for six."


def test_a_run_that_does_not_wait_takes_no_answer(ben: Api) -> None:
    reply = ben.chat("Hello")

    refused = ben.post(f"/runs/{reply['run_id']}/answer", {"message": "four"})

    assert (refused.status_code, refused.json()["code"]) == (409, "run_not_waiting")


def test_a_busy_session_may_reject(ben: Api, tmp_path: Path) -> None:
    session_id = ben.post("/sessions", {"agent": "gated"}).json()["id"]
    with waiting_at_its_gate(ben, session_id, tmp_path / "gate") as answers:
        refused = ben.post("/chat", {"message": "Me too", "session_id": session_id, "double_text": "reject"})

    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["retryable"]) == (409, "session_busy", True)
    assert refused.headers["retry-after"] == "1"
    assert problem["retry_after_ms"] == 1000
    assert problem["holder"] == answers[0]["run_id"]


def test_a_caller_that_hangs_up_cancels_nothing(house: House, ben: Api, tmp_path: Path) -> None:
    session_id = ben.post("/sessions", {"agent": "gated"}).json()["id"]
    gate = tmp_path / "gate"
    hang_up_at_the_gate(house, {"message": "Hi", "session_id": session_id, "params": {"gate": str(gate)}}, gate)

    gate.touch()

    run_id = ben.get(f"/sessions/{session_id}/runs").json()["items"][0]["id"]
    assert ben.feed(f"/runs/{run_id}/feed")[-1].type == "run.completed"


@pytest.mark.parametrize("stream", [False, True])
def test_a_caller_that_wants_it_cancels_by_hanging_up(house: House, ben: Api, tmp_path: Path, stream: bool) -> None:
    session_id = ben.post("/sessions", {"agent": "gated"}).json()["id"]
    gate = tmp_path / "gate"
    body = {"message": "Hi", "session_id": session_id, "params": {"gate": str(gate)}, "stream": stream}
    hang_up_at_the_gate(house, body | {"cancel_on_disconnect": True}, gate)

    run_id = ben.get(f"/sessions/{session_id}/runs").json()["items"][0]["id"]

    assert ben.feed(f"/runs/{run_id}/feed")[-1].type == "run.cancelled"


class waiting_at_its_gate:  # noqa: N801  # reads as a sentence after `with`
    """A chat that is being answered, and stays so until the block ends."""

    def __init__(self, api: Api, session_id: str, gate: Path) -> None:
        self._gate = gate
        self.answers: list[dict[str, Any]] = []
        body = {"session_id": session_id, "params": {"gate": str(gate)}}
        self._thread = threading.Thread(target=lambda: self.answers.append(api.chat("First", **body)))

    def __enter__(self) -> list[dict[str, Any]]:
        self._thread.start()
        wait_for(f"{self._gate}.reached")
        return self.answers

    def __exit__(self, *_: object) -> None:
        self._gate.touch()
        self._thread.join()


def hang_up_at_the_gate(house: House, body: dict[str, Any], gate: Path) -> None:
    """Send a message, wait until its agent is under way, and close the connection without an answer."""
    import json
    import socket

    host, port = house.server.url.removeprefix("http://").split(":")
    sent = json.dumps(body).encode()
    head = (
        "POST /api/v1/chat HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer token-of-ben\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + sent)
        wait_for(f"{gate}.reached")
