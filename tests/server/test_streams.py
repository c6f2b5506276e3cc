"""Following a run or a session: in order, without gaps, from any point, on any node."""

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.server.conftest import House
from tests.server.process import PATIENCE, Api, Event, a_server, audit_of, types_of, wait_for
from tests.server.slow_reader import not_reading, read_until

ENDED_BY_DELTAS = ["run.accepted", "output.delta", "output.delta", "output.delta", "run.completed"]


def test_a_streamed_answer_comes_piece_by_piece_and_ends_with_the_truth(ben: Api) -> None:
    events = ben.stream_chat("Go", agent="streamer", params={"pieces": 3})

    assert types_of(events)[:3] == ["run.accepted", "output.delta", "output.delta"]
    last = events[-1]
    assert last.type == "run.completed"
    assert (
        "".join(event.data["data"]["text"] for event in events if event.type == "output.delta")
        in last.data["data"]["text"]
    )
    assert_chained(events)


def test_a_frame_has_exactly_the_promised_fields(ben: Api) -> None:
    events = ben.stream_chat("Hello")

    for event in events:
        assert set(event.data) == {
            *("seq", "prev", "type", "run_id", "session_id", "trace_id", "ts", "truncated", "dropped", "data"),
        }
        assert (event.id, event.type) == (str(event.data["seq"]), event.data["type"])
        assert len(event.data["trace_id"]) == 32
    assert events[0].data["data"]["created"] is True


def test_accept_asks_for_a_stream_too(ben: Api) -> None:
    with ben.streaming("POST", "/chat", json={"message": "Hi"}, headers={"Accept": "text/event-stream"}) as events:
        assert types_of(list(events)) == ["run.accepted", "run.completed"]


def test_what_is_refused_before_it_was_accepted_is_no_stream(ben: Api) -> None:
    refused = ben.post("/chat", {"message": " ", "stream": True})

    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"


def test_what_fails_after_it_was_accepted_is_a_frame(ben: Api) -> None:
    events = ben.stream_chat("boo", agent="failing")

    assert types_of(events) == ["run.accepted", "run.failed"]
    assert events[-1].data["data"]["error"]["code"] == "agent_failed"


def test_a_stream_ends_with_a_question_and_the_next_begins_with_its_answer(ben: Api) -> None:
    asked = ben.stream_chat("Book", agent="asking")
    run = asked[-1].data
    answered = ben.stream_chat("four", session_id=run["session_id"], answers=run["run_id"])

    assert types_of(asked) == ["run.accepted", "run.waiting"]
    assert asked[-1].data["data"]["question"] == "For how many?"
    assert types_of(answered) == ["run.answered", "run.completed"]


def test_a_streamed_reply_in_client_custody_carries_the_session(ben: Api) -> None:
    first = ben.stream_chat("remember milk", custody="client")[-1].data
    second = ben.stream_chat(
        "What did I say?",
        custody="client",
        session_id=first["session_id"],
        carried=first["data"]["carried"],
    )

    assert second[-1].data["data"]["text"] == "You asked me to remember: milk"


def test_a_stream_that_ends_by_itself_cancels_nothing(house: House, ben: Api) -> None:
    told = len(audit_of(house.database))

    events = ben.stream_chat("Hello", cancel_on_disconnect=True)

    assert events[-1].type == "run.completed"
    assert [entry["verb"] for entry in audit_of(house.database)[told:]] == ["chat"]


def test_a_reader_resumes_in_the_middle_of_a_running_answer(ben: Api, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    body = {"message": "Go", "agent": "streamer", "params": {"pieces": 4, "gate": str(gate)}, "stream": True}
    with ben.streaming("POST", "/chat", json=body) as events:
        seen = [next(events) for _ in range(3)]

    run_id = seen[-1].data["run_id"]
    wait_for(f"{gate}.reached")
    with ben.streaming("GET", f"/runs/{run_id}/feed", headers={"Last-Event-ID": seen[1].id}) as events:
        resumed = [next(events)]
        gate.touch()
        resumed += list(events)

    assert resumed[0] == seen[2]
    assert resumed[-1].type == "run.completed"
    assert_chained(resumed, after=seen[1])


def test_who_resumes_inside_deltas_that_are_gone_gets_their_snapshot(ben: Api) -> None:
    events = ben.stream_chat("Go", agent="streamer", params={"pieces": 4})
    first_delta = events[1]

    resumed = ben.feed(f"/runs/{first_delta.data['run_id']}/feed", headers={"Last-Event-ID": first_delta.id})

    assert types_of(resumed) == ["output.snapshot", "run.completed"]
    assert resumed[0].data["truncated"] is True
    assert resumed[0].data["data"]["dropped"] > 0
    assert resumed[0].data["data"]["text"] == events[-1].data["data"]["text"]
    assert_chained(resumed, after=first_delta)


def test_who_comes_back_after_the_end_is_told_not_to(ben: Api) -> None:
    events = ben.stream_chat("Hello")
    session_id, run_id = events[-1].data["session_id"], events[-1].data["run_id"]
    ben.chat("Something later", session_id=session_id)

    last_seen = ben.get(f"/runs/{run_id}/feed", headers={"Last-Event-ID": events[-1].id})
    far_beyond = ben.get(f"/runs/{run_id}/feed?after=999999")

    assert (last_seen.status_code, far_beyond.status_code) == (204, 204)


def test_a_run_is_followed_from_its_beginning_when_nothing_was_seen(ben: Api) -> None:
    events = ben.stream_chat("Hello")

    again = ben.feed(f"/runs/{events[0].data['run_id']}/feed")

    assert types_of(again) == types_of(events)


def test_a_session_is_followed_from_now_on(ben: Api) -> None:
    session_id = ben.chat("Before")["session_id"]

    with ben.streaming("GET", f"/sessions/{session_id}/feed") as events:
        reply = ben.chat("Now", session_id=session_id)
        heard = [next(events), next(events)]
        ben.post(f"/sessions/{session_id}/close")
        heard.append(next(events))

    assert types_of(heard) == ["run.accepted", "run.completed", "session.changed"]
    assert heard[1].data["run_id"] == reply["run_id"]
    assert_chained(heard)


def test_a_session_is_followed_from_behind_a_number_already_seen(ben: Api) -> None:
    session_id = ben.chat("Before")["session_id"]

    with ben.streaming("GET", f"/sessions/{session_id}/feed?after=1") as events:
        heard = next(events)

    assert (heard.type, heard.data["prev"]) == ("run.completed", 1)


def test_a_number_that_is_none_is_refused(ben: Api) -> None:
    session_id = ben.post("/sessions").json()["id"]

    by_header = ben.get(f"/sessions/{session_id}/feed", headers={"Last-Event-ID": "x"})
    by_query = ben.get(f"/sessions/{session_id}/feed?after=-1")

    assert by_header.json()["details"][0]["header"] == "Last-Event-ID"
    assert by_query.json()["details"][0]["parameter"] == "after"


def test_a_reader_may_be_on_another_server_than_the_run(house: House, ben: Api, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    session_id = ben.post("/sessions", {"agent": "streamer"}).json()["id"]
    body = {"message": "Go", "session_id": session_id, "params": {"pieces": 3, "gate": str(gate)}}
    with a_server(house.database, "--identities", str(house.identities)) as other:
        there = other.api("token-of-ben")
        with there.streaming("GET", f"/sessions/{session_id}/feed?after=0") as events:
            caller = threading.Thread(target=lambda: ben.chat(**body))
            caller.start()
            heard = [next(events) for _ in range(3)]
            gate.touch()
            heard += [next(events), next(events)]
            caller.join()

        resumed = there.feed(f"/runs/{heard[0].data['run_id']}/feed", headers={"Last-Event-ID": heard[1].id})

    assert types_of(heard)[:3] == ["run.accepted", "output.delta", "output.delta"]
    assert "run.completed" in types_of(heard)
    assert types_of(resumed) == ["output.snapshot", "run.completed"]


def test_a_heartbeat_keeps_a_quiet_stream_alive(tmp_path: Path) -> None:
    database = tmp_path / "quiet.db"
    with a_server(database, "--token", "sesame-open", TURNKEEPER_HEARTBEAT_SECONDS="0.05") as server:
        api = server.api("sesame-open")
        session_id = api.post("/sessions").json()["id"]
        with api.client.stream("GET", f"/api/v1/sessions/{session_id}/feed") as response:
            lines = response.iter_lines()
            heard = [line for line in (next(lines) for _ in range(4)) if line]

    assert heard == [": heartbeat", ": heartbeat"]


def test_a_reader_that_does_not_read_stalls_nobody(house: House, ben: Api) -> None:
    session_id = ben.post("/sessions", {"agent": "streamer"}).json()["id"]
    with not_reading(house.server, f"/api/v1/sessions/{session_id}/feed?after=0") as connection:
        for _ in range(4):
            ben.chat("Go", session_id=session_id, params={"pieces": 400})
        other = ben.chat("Hello")

        events = read_until(connection, completed=4)

    assert other["text"].startswith("You said")
    assert_chained(events)
    assert types_of(events).count("run.accepted") == 4
    assert types_of(events).count("output.delta") < 4 * 400, "all of it fitted into the buffers, so nobody was slow"


def assert_chained(events: list[Event], after: Event | None = None) -> None:
    """Every frame names the number before it, so that a reader would see a gap."""
    numbers = [event.data["seq"] for event in events]
    assert numbers == sorted(set(numbers))
    if after is not None:
        assert events[0].data["prev"] == after.data["seq"]
    for before, event in itertools.pairwise(events):
        assert event.data["prev"] == before.data["seq"]


def test_fact_25_a_stream_names_its_charset_and_ends_with_the_whole_answer(ben: Api) -> None:
    with ben.client.stream("POST", "/api/v1/chat", json={"message": "Hello", "stream": True}) as response:
        kind = response.headers["content-type"]
        types = [line.removeprefix("event: ") for line in response.iter_lines() if line.startswith("event: ")]

    assert kind == "text/event-stream; charset=utf-8"
    assert types[0] == "run.accepted"
    assert types[-1] == "run.completed"


def test_fault_23_every_event_has_a_number_to_resume_behind(ben: Api) -> None:
    events = ben.stream_chat("Hello")

    again = ben.feed(f"/runs/{events[0].data['run_id']}/feed", headers={"Last-Event-ID": str(events[0].data["seq"])})

    assert [event.data["seq"] for event in again] == [event.data["seq"] for event in events[1:]]


def test_of_many_streams_that_are_asked_for_at_once_no_more_than_allowed_are_open(house: House, tmp_path: Path) -> None:
    everyone_asked = threading.Barrier(12)
    statuses: list[int] = []

    def ask(number: int) -> None:
        body = {"message": f"Hello {number}", "agent": "endless", "stream": True}
        with ben.client.stream("POST", "/api/v1/chat", json=body) as response:
            statuses.append(response.status_code)
            everyone_asked.wait()

    with a_server(
        tmp_path / "few.db", "--identities", str(house.identities), TURNKEEPER_STREAMS="3", TURNKEEPER_GRACE_SECONDS="0"
    ) as server:
        ben = server.api("token-of-ben")
        with ThreadPoolExecutor(12) as callers:
            list(callers.map(ask, range(12)))

        assert sorted(statuses) == [200] * 3 + [429] * 9


def test_who_hangs_up_before_the_first_event_gives_the_place_back(house: House, tmp_path: Path) -> None:
    with a_server(
        tmp_path / "few.db", "--identities", str(house.identities), TURNKEEPER_STREAMS="3", TURNKEEPER_GRACE_SECONDS="0"
    ) as server:
        ben = server.api("token-of-ben")
        session_id = ben.post("/sessions").json()["id"]
        for _ in range(12):
            with not_reading(server, f"/api/v1/sessions/{session_id}/feed"):
                pass

        wait_until_open(ben, f"/api/v1/sessions/{session_id}/feed")


def wait_until_open(api: Api, path: str) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        with api.client.stream("GET", path) as response:
            if response.status_code == 200:
                return
        assert time.monotonic() < until, "no place came free"
        time.sleep(0.01)
