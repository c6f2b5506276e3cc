"""Runs over HTTP."""

import threading
from pathlib import Path

from tests.server.process import Api, wait_for


def test_a_run_tells_its_answer_and_why(ben: Api) -> None:
    reply = ben.chat("Hello")

    run = ben.get(f"/runs/{reply['run_id']}").json()
    explanation = ben.get(f"/runs/{reply['run_id']}/explanation").json()

    assert (run["status"], run["turn"], run["text"]) == ("completed", 1, reply["text"])
    assert [stage["name"] for stage in explanation["stages"]] == [
        "intake",
        "open_session",
        "reset",
        "hold_intent",
        "materialize",
        "hand_off",
        "commit",
    ]
    assert len(explanation["graph"]["nodes"]) == len(explanation["stages"])
    assert explanation["partial"] is False


def test_a_failed_run_is_explained_too(ben: Api) -> None:
    run_id = ben.post("/chat", {"message": "boo", "agent": "failing"}).json()["run_id"]

    explanation = ben.get(f"/runs/{run_id}/explanation").json()

    assert (explanation["status"], explanation["error"]["code"]) == ("failed", "agent_failed")


def test_a_run_is_cancelled_wherever_it_is(ben: Api, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    session_id = ben.post("/sessions", {"agent": "gated"}).json()["id"]
    refused = []
    body = {"message": "Hi", "session_id": session_id, "params": {"gate": str(gate)}}
    caller = threading.Thread(target=lambda: refused.append(ben.post("/chat", body)))
    caller.start()
    wait_for(f"{gate}.reached")
    run_id = ben.get(f"/sessions/{session_id}/runs").json()["items"][0]["id"]
    open_explanation = ben.get(f"/runs/{run_id}/explanation").json()

    cancelled = ben.post(f"/runs/{run_id}/cancel")

    caller.join()
    assert cancelled.status_code == 202
    assert (refused[0].status_code, refused[0].json()["code"]) == (409, "run_cancelled")
    assert ben.get(f"/runs/{run_id}").json()["status"] == "cancelled"
    assert ben.get(f"/sessions/{session_id}").json()["turns"] == 0
    assert (open_explanation["status"], open_explanation["partial"]) == ("running", True)


def test_what_a_failed_run_was_told_stays_on_it_with_what_was_attached(ben: Api) -> None:
    picture = ben.post("/artifacts?name=cat.png", content=b"cat", headers={"Content-Type": "image/png"}).json()
    body = {"message": "Look", "attachments": [picture["id"]]}

    failed = ben.get(f"/runs/{ben.post('/chat', {**body, 'agent': 'failing'}).json()['run_id']}").json()
    reply = ben.post("/chat", {**body, "agent": "echo"}).json()
    run = ben.get(f"/runs/{reply['run_id']}").json()
    message, _ = ben.get(f"/sessions/{reply['session_id']}/messages").json()["items"]

    attached = {name: picture[name] for name in ("media_type", "sha256", "uri")} | {"artifact_id": picture["id"]}
    assert failed["said"] == [{"text": "Look", "attachments": [attached]}]
    assert (run["said"], message["content"], message["attachments"]) == ([], "Look", [attached])


def test_only_what_one_may_read_can_be_attached(ben: Api, gus: Api) -> None:
    theirs = gus.post("/artifacts", content=b"secret", headers={"Content-Type": "text/plain"}).json()["id"]

    refused = ben.post("/chat", {"message": "Look", "attachments": [theirs]})

    assert (refused.status_code, refused.json()["code"]) == (404, "artifact_not_found")


def test_another_tenants_run_does_not_exist(ben: Api, gus: Api) -> None:
    run_id = gus.chat("Mine")["run_id"]

    for response in (
        ben.get(f"/runs/{run_id}"),
        ben.get(f"/runs/{run_id}/feed"),
        ben.get(f"/runs/{run_id}/explanation"),
        ben.post(f"/runs/{run_id}/cancel"),
        ben.post(f"/runs/{run_id}/answer", {"message": "four"}),
    ):
        assert (response.status_code, response.json()["code"]) == (404, "run_not_found")
