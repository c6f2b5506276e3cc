"""How runs are answered over HTTP: streams and slow readers, checkpoints, effects and verdicts."""

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.conftest import House
from tests.server.process import Api, ServerProcess, a_server, types_of, wait_for
from tests.server.slow_reader import not_reading, read_until

TOKEN = "sesame-open"
LONG_TEXT = {"TURNKEEPER_OUTPUT_CHARS": "10000000"}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server whose streams hold eight frames each."""
    database = tmp_path_factory.mktemp("narrow") / "narrow.db"
    with a_server(database, "--token", TOKEN, TURNKEEPER_STREAM_FRAMES="8", **LONG_TEXT) as server:
        yield server


def test_behaviour_34_frames_come_before_the_run_ends_and_rise_to_one_end(ben: Api, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    body = {"message": "Go", "agent": "streamer", "stream": True, "params": {"pieces": 3, "gate": str(gate)}}
    with ben.streaming("POST", "/chat", json=body) as events:
        seen = [next(events), next(events)]
        status = ben.get(f"/runs/{seen[0].data['run_id']}").json()["status"]
        gate.touch()
        seen += list(events)

    numbers = [event.data["seq"] for event in seen]
    assert (types_of(seen[:2]), status) == (["run.accepted", "output.delta"], "running")
    assert all(before < after for before, after in itertools.pairwise(numbers))
    assert types_of(seen).count("run.completed") == 1
    assert seen[-1].type == "run.completed"
    assert all(event.data["ts"].endswith("Z") for event in seen)


def test_behaviour_35_a_slow_reader_is_told_what_it_missed_and_gets_the_whole_text(narrow: ServerProcess) -> None:
    api = narrow.api(TOKEN)
    session_id = api.post("/sessions", {"agent": "streamer"}).json()["id"]
    with not_reading(narrow, f"/api/v1/sessions/{session_id}/feed?after=0", TOKEN) as connection:
        said = api.chat("Go", session_id=session_id, params={"pieces": 1000, "size": 8_000})

        events = read_until(connection, completed=1)

    numbers = [event.data["seq"] for event in events]
    torn = [event for event in events if event.data["dropped"]]
    missed = sorted(set(range(1, numbers[-1] + 1)) - set(numbers))
    assert len(torn) == 1
    assert torn[0].data["truncated"]
    dropped = torn[0].data["dropped"]
    # The snapshot stands at the number of the last piece that it takes the place of.
    assert (dropped["first_seq"], dropped["last_seq"]) == (missed[0], missed[-1] + 1)
    assert dropped["count"] == len(missed) + 1 == torn[0].data["data"]["dropped"]
    end = events[-1]
    assert (end.type, end.data["truncated"], end.data["dropped"]) == ("run.completed", True, None)
    assert end.data["data"]["text"] == said["text"]
    assert len(said["text"]) == 1000 * 8_000


def test_behaviour_36_who_misses_nothing_is_told_so(narrow: ServerProcess) -> None:
    events = narrow.api(TOKEN).stream_chat("Go", agent="streamer", params={"pieces": 40})

    assert [event.data["truncated"] for event in events] == [False] * len(events)
    assert [event.data["dropped"] for event in events] == [None] * len(events)
    numbers = [event.data["seq"] for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_behaviour_37_a_stalled_stream_does_not_hold_up_another(narrow: ServerProcess, tmp_path: Path) -> None:
    api, gate = narrow.api(TOKEN), tmp_path / "gate"
    session_id = api.post("/sessions", {"agent": "streamer"}).json()["id"]
    params = {"pieces": 1000, "size": 8_000, "gate": str(gate)}
    asking = threading.Thread(target=lambda: api.chat("Go", session_id=session_id, params=params))
    with not_reading(narrow, f"/api/v1/sessions/{session_id}/feed?after=0", TOKEN) as connection:
        asking.start()
        wait_for(f"{gate}.reached")

        others = [api.stream_chat("Go", agent="streamer", params={"pieces": 20}) for _ in range(3)]
        (stalled,) = api.get(f"/sessions/{session_id}/runs").json()["items"]
        gate.touch()
        asking.join()
        events = read_until(connection, completed=1)

    assert stalled["status"] == "running"
    assert [other[-1].type for other in others] == ["run.completed"] * 3
    assert all(not event.data["truncated"] for other in others for event in other)
    assert events[-1].type == "run.completed"


def test_the_checkpoints_of_a_waiting_run_are_shown_to_its_owner(house: House, ben: Api, gus: Api) -> None:
    asked = ben.chat("A table", agent="asking")

    shown = ben.get(f"/runs/{asked['run_id']}/checkpoints").json()

    (document,) = shown["items"]
    assert document["schema_version"] == "session_checkpoint/1"
    assert (document["seq"], document["prev_checkpoint_id"], document["verdict"]) == (1, None, None)
    assert (document["pending"]["kind"], document["pending"]["prompt"]) == ("input", "For how many?")
    assert document["pending"]["deadline_at"] is not None
    assert gus.get(f"/runs/{asked['run_id']}/checkpoints").status_code == 404
    assert house.api(None).get(f"/runs/{asked['run_id']}/checkpoints").status_code == 401


def test_what_a_run_did_is_shown_to_its_owner(ben: Api, gus: Api) -> None:
    done = ben.chat("a letter", agent="doing")

    shown = ben.get(f"/runs/{done['run_id']}/effects").json()

    (effect,) = shown["items"]
    assert (effect["key"], effect["status"], effect["attempts"]) == ("stamp", "done", 1)
    assert (effect["result"], done["text"]) == ("Stamped a letter.", "Stamped a letter.")
    assert gus.get(f"/runs/{done['run_id']}/effects").status_code == 404
    assert ben.get(f"/runs/{done['run_id']}/checkpoints").json() == {"items": []}


def test_a_stream_tells_of_effects_and_verdicts(ben: Api) -> None:
    events = ben.stream_chat("a letter", agent="doing")

    assert [type for type in types_of(events) if type != "output.delta"] == [
        "run.accepted",
        "tool.started",
        "tool.finished",
        "critic.verdict",
        "budget.update",
        "run.completed",
    ]
    (spent,) = [event.data["data"] for event in events if event.type == "budget.update"]
    assert (spent["used"], spent["limits"]["tool_calls"]) == ({"tool_calls": 1}, 64)
    assert "letter" not in str([event.data["data"] for event in events if event.type.startswith("tool.")])


@pytest.mark.parametrize(
    ("message", "code", "status", "kind", "reason"),
    [("reject", "verify_rejected", 422, "loop_guard", "Again?"), ("escalate", "escalated", 409, "cost", "It is dear.")],
)
def test_a_verdict_that_ends_a_run_is_told_with_its_reasons(
    ben: Api, message: str, code: str, status: int, kind: str, reason: str
) -> None:
    response = ben.post("/chat", {"message": message, "agent": "doing"})

    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code)
    assert problem["details"] == [{"kind": kind, "message": reason}]
    run = ben.get(f"/runs/{problem['run_id']}").json()
    assert run["error"]["details"] == problem["details"]
    assert run["mode"] == "batch"
