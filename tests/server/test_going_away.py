"""Starting and stopping a server: what is in the way is said in one line, and going away loses nothing."""

import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.server.process import Api, ServerProcess, a_server, agent_flags, types_of, wait_for

TOKEN = ("--token", "sesame-open")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_goes_when_asked(tmp_path: Path, number: int) -> None:
    with a_server(tmp_path / "idle.db", *TOKEN) as server:
        assert server.stop(number) == 0

    assert server.complained == ""


def test_a_run_may_finish_while_its_server_goes(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with a_server(tmp_path / "going.db", *TOKEN) as server:
        api = server.api("sesame-open")
        chats = Calls(
            lambda: api.chat("Hi", agent="gated", params={"gate": str(gate)}),
        )
        wait_for(f"{gate}.reached")
        server.process.send_signal(signal.SIGTERM)
        wait_until_refused(server)

        gate.touch()

        assert chats.results()[0]["text"] == "Passed with 'Hi'."
        assert server.ended() == 0


def test_a_stream_is_told_the_end_of_its_run_while_its_server_goes(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with a_server(tmp_path / "going.db", *TOKEN) as server:
        api = server.api("sesame-open")
        streams = Calls(lambda: api.stream_chat("Hi", agent="gated", params={"gate": str(gate)}))
        wait_for(f"{gate}.reached")
        server.process.send_signal(signal.SIGTERM)
        wait_until_refused(server)

        gate.touch()

        assert types_of(streams.results()[0]) == ["run.accepted", "run.completed"]
        assert server.ended() == 0


def test_a_run_that_does_not_finish_is_handed_over_and_its_caller_told(tmp_path: Path) -> None:
    database, gate = tmp_path / "going.db", tmp_path / "gate"
    with a_server(database, *TOKEN, TURNKEEPER_GRACE_SECONDS="0.2") as server:
        api = server.api("sesame-open")
        session_id = api.post("/sessions", {"agent": "gated"}).json()["id"]
        body = {"message": "Hi", "session_id": session_id, "params": {"gate": str(gate)}}
        chats = Calls(lambda: api.post("/chat", body))
        wait_for(f"{gate}.reached")

        assert server.stop() == 0

        (refused,) = chats.results()
    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["retryable"]) == (503, "shutting_down", True)
    assert problem["session_id"] == session_id
    with a_server(database, *TOKEN) as next_server:
        run = next_server.api("sesame-open").get(f"/runs/{problem['run_id']}").json()
    assert run["status"] == "abandoned"


def test_readers_of_a_feed_do_not_hold_a_server_up(tmp_path: Path) -> None:
    with a_server(tmp_path / "going.db", *TOKEN) as server:
        api = server.api("sesame-open")
        session_id = api.post("/sessions").json()["id"]
        with api.streaming("GET", f"/sessions/{session_id}/feed") as events:
            code = server.stop()

            assert list(events) == []

    assert code == 0
    assert "Traceback" not in server.complained


def test_a_reader_goes_on_at_another_node_where_the_first_one_left(tmp_path: Path) -> None:
    database, gate = tmp_path / "going.db", tmp_path / "gate"
    with a_server(database, *TOKEN, TURNKEEPER_GRACE_SECONDS="0.2") as first, a_server(database, *TOKEN) as second:
        api, other = first.api("sesame-open"), second.api("sesame-open")
        session_id = api.post("/sessions", {"agent": "gated"}).json()["id"]
        body = {"message": "One", "session_id": session_id, "params": {"gate": str(gate)}}
        with first.api("sesame-open").streaming("GET", f"/sessions/{session_id}/feed") as events:
            chats = Calls(lambda: api.post("/chat", body))
            wait_for(f"{gate}.reached")
            seen = [next(events)]
            first.stop()
            seen += list(events)
        given_up = chats.results()[0].json()["run_id"]

        resumed = {"headers": {"Last-Event-ID": str(seen[-1].id)}}
        with other.streaming("GET", f"/sessions/{session_id}/feed", **resumed) as events:
            other.chat("Two", session_id=session_id)
            for event in events:
                seen.append(event)
                if event.type == "run.completed":
                    break

    assert [event.data["prev"] for event in seen[1:]] == [event.data["seq"] for event in seen[:-1]]
    ends = [(event.type, event.data["run_id"] == given_up) for event in seen if event.type.startswith("run.")]
    assert (ends[0], ends[-1]) == (("run.accepted", True), ("run.completed", False))
    assert any(is_given_up and type not in ("run.accepted", "run.started") for type, is_given_up in ends), ends


def test_a_taken_port_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        refused = ServerProcess("--port", str(port), "--database", str(tmp_path / "x.db"))

        assert refused.ended() == 2
    assert refused.complained == (
        f"turnkeeper: Port {port} on 127.0.0.1 is taken. Choose another with --port, or any with --port 0.\n"
    )
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_are_not_let_in_without_a_token(tmp_path: Path, host: str) -> None:
    refused = ServerProcess("--host", host, "--port", "0", "--database", str(tmp_path / "x.db"))

    assert refused.ended() == 2
    assert "--token or --identities" in refused.complained


def test_other_machines_are_let_in_with_a_token(tmp_path: Path) -> None:
    with a_server(tmp_path / "x.db", "--host", "0.0.0.0", *TOKEN) as server:
        port = server.url.rpartition(":")[2]
        api = Api(f"http://127.0.0.1:{port}", "sesame-open")

        reply = api.chat("Hello")

        api.client.close()
    assert reply["turn"] == 1


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--port", "70000"], "port is a number from 0 to 65535"),
        (["--port", "http"], "port"),
        (["--host", "no.such.host.invalid"], "is not an address of this machine"),
        (["--host", "203.0.113.7", *TOKEN], "Cannot listen on 203.0.113.7"),
        (["--token", "with space"], "printable ASCII"),
        (["--agent", "nothing"], "module:function"),
        (["--agent", "no_such_module:f"], "no_such_module"),
        (["--agent", "tests.server.agents:nobody"], "has no function 'nobody'"),
        (["--agent", "echo=tests.server.agents:gated"], "already registered"),
        (["--identities", "/no/such/file"], "cannot be read"),
        (["--database", "/dev/null/x.db"], "/dev/null/x.db"),
    ],
)
def test_what_is_in_the_way_is_said_without_a_traceback(tmp_path: Path, flags: list[str], said: str) -> None:
    database = [] if "--database" in flags else ["--database", str(tmp_path / "x.db")]
    port = [] if "--port" in flags else ["--port", "0"]
    refused = ServerProcess(*flags, *database, *port)

    code = refused.ended()

    assert code in (1, 2)
    assert said in refused.complained
    assert "Traceback" not in refused.complained


def test_a_made_token_is_printed_as_a_link(tmp_path: Path) -> None:
    server = ServerProcess("--port", "0", "--database", str(tmp_path / "x.db"))
    with server:
        assert server.stop() == 0

    link = next(line for line in server.said.splitlines() if line.startswith("Open "))
    assert link.startswith(f"Open {server.url}/#token=")
    assert len(link.rpartition("=")[2]) >= 24


def test_a_given_token_is_never_printed(tmp_path: Path) -> None:
    with a_server(tmp_path / "x.db", "--demo", *TOKEN) as server:
        server.api("sesame-open").chat("Hello")
        assert server.stop() == 0

    assert "sesame-open" not in server.said + server.complained


def test_flags_may_come_from_the_environment(tmp_path: Path) -> None:
    server = ServerProcess(
        TURNKEEPER_PORT="0",
        TURNKEEPER_DATABASE=str(tmp_path / "x.db"),
        TURNKEEPER_TOKEN="sesame-open",
        TURNKEEPER_AGENT="tests.server.agents:gated",
    )
    with server:
        assert server.api("sesame-open").chat("Hi")["text"] == "Passed with 'Hi'."


def test_a_second_agent_is_reached_by_its_name(tmp_path: Path) -> None:
    flags = ["--port", "0", "--database", str(tmp_path / "x.db"), *TOKEN, *agent_flags()]
    with ServerProcess(*flags, "--agent", "booker=tests.server.agents:asking") as server:
        assert server.api("sesame-open").chat("Book", agent="booker")["text"] == "For how many?"


class Calls:
    """A call under way in a thread, and what comes of it."""

    def __init__(self, call: Any) -> None:
        self._results: list[Any] = []
        self._thread = threading.Thread(target=lambda: self._results.append(call()))
        self._thread.start()

    def results(self) -> list[Any]:
        self._thread.join()
        return self._results


def wait_until_refused(server: ServerProcess) -> None:
    """Until the server takes no more connections."""
    host, port = server.url.removeprefix("http://").split(":")
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except ConnectionResetError:
            pass  # It was taken by the system just before the server stopped listening.
        except ConnectionRefusedError:
            return
