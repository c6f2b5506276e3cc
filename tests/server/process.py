"""Real servers in processes of their own, and what can be seen of them from outside."""

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx2

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
AGENTS = ("gated", "streamer", "endless", "failing", "asking", "doing")


class ServerProcess:
    """`turnkeeper serve` on a free port. What it says is kept for whoever wants to look at it."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        command = [sys.executable, "-m", "turnkeeper.cli.main", "serve", *arguments]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("TURNKEEPER_")}
        environ |= {"TURNKEEPER_ANCHOR_SECONDS": "3600", "PYTHONWARNINGS": "error", "COLUMNS": "100"}
        environ |= {"TURNKEEPER_BUS_PORT": "off", "TURNKEEPER_FAILED_TOKENS": "100000", **environment}
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._out, self._err = Ear(self.process.stdout), Ear(self.process.stderr)
        self.url = ""
        self._callers: dict[str | None, Api] = {}

    @property
    def said(self) -> str:
        return "".join(self._out.heard)

    @property
    def complained(self) -> str:
        return "".join(self._err.heard)

    def api(self, token: str | None) -> "Api":
        """A caller with this token."""
        if token not in self._callers:
            self._callers[token] = Api(self.url, token)
        return self._callers[token]

    def ready(self) -> "ServerProcess":
        until = time.monotonic() + PATIENCE
        while not (found := re.search(r"^Listening on (\S+)\n", self.said, re.MULTILINE)):
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"the server did not start: {self.said}{self.complained}")
            time.sleep(0.01)
        self.url = found[1]
        return self

    def stop(self, signal_number: int = signal.SIGTERM) -> int:
        """Ask it to go, and return its exit code."""
        self.process.send_signal(signal_number)
        return self.ended()

    def ended(self) -> int:
        code = self.process.wait(PATIENCE)
        self._out.close()
        self._err.close()
        return code

    def __enter__(self) -> "ServerProcess":
        return self.ready()

    def __exit__(self, *_: object) -> None:
        for caller in self._callers.values():
            caller.client.close()
        if self.process.poll() is None:
            self.process.kill()
        self.ended()


class Ear:
    """Hears what a process says while it says it, so that neither waits for the other."""

    def __init__(self, stream: IO[str]) -> None:
        self.heard: list[str] = []
        self._stream = stream
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        for line in self._stream:
            self.heard.append(line)

    def close(self) -> None:
        self._thread.join(PATIENCE)
        self._stream.close()


def agent_flags() -> list[str]:
    agents = [part for name in AGENTS for part in ("--agent", f"tests.server.agents:{name}")]
    return [*agents, "--setup", "tests.server.agents:set_up"]


def a_server(database: Path, *arguments: str, **environment: str) -> ServerProcess:
    """A server with the agents of the tests; echo stays the default."""
    flags = ["--port", "0", "--database", str(database), *agent_flags()]
    return ServerProcess(*flags, *arguments, **{"TURNKEEPER_DEFAULT_AGENT": "echo", **environment})


@dataclass(frozen=True)
class Event:
    """One event of a stream: its lines as they came, and what its data says."""

    type: str
    id: str | None
    data: Mapping[str, Any]


@dataclass
class Api:
    """A caller with a token."""

    url: str
    token: str | None
    client: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self.client = httpx2.Client(base_url=self.url, headers=headers, timeout=PATIENCE)

    def post(self, path: str, body: Any = None, **more: Any) -> httpx2.Response:
        return (
            self.client.post(f"/api/v1{path}", json=body, **more)
            if body is not None
            else self.client.post(f"/api/v1{path}", **more)
        )

    def get(self, path: str, **more: Any) -> httpx2.Response:
        return self.client.get(f"/api/v1{path}", **more)

    def put(self, path: str, body: Any, **more: Any) -> httpx2.Response:
        return self.client.put(f"/api/v1{path}", json=body, **more)

    def patch(self, path: str, body: Any, **more: Any) -> httpx2.Response:
        return self.client.patch(f"/api/v1{path}", json=body, **more)

    def delete(self, path: str, **more: Any) -> httpx2.Response:
        return self.client.delete(f"/api/v1{path}", **more)

    def chat(self, message: str, **more: Any) -> dict[str, Any]:
        response = self.post("/chat", {"message": message, **more})
        assert response.status_code == 200, response.text
        read: dict[str, Any] = response.json()
        return read

    @contextlib.contextmanager
    def streaming(self, method: str, path: str, **more: Any) -> Iterator[Iterator[Event]]:
        with self.client.stream(method, f"/api/v1{path}", **more) as response:
            assert response.status_code == 200, response.read()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield events_in(response.iter_lines())

    def stream_chat(self, message: str, **more: Any) -> list[Event]:
        with self.streaming("POST", "/chat", json={"message": message, "stream": True, **more}) as events:
            return list(events)

    def until_over(self, run_id: str) -> dict[str, Any]:
        """The run once it has come to its end, followed there by its feed."""
        self.feed(f"/runs/{run_id}/feed")
        run: dict[str, Any] = self.get(f"/runs/{run_id}").json()
        return run

    def feed(self, path: str, **more: Any) -> list[Event]:
        with self.streaming("GET", path, **more) as events:
            return list(events)


def events_in(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Event(type=fields["event"], id=fields.get("id"), data=json.loads(fields["data"]))
            fields = {}


def types_of(events: Sequence[Event]) -> list[str]:
    return [event.type for event in events]


def everything_in(database: Path, *, but: Sequence[str] = ("audit", "nodes", "buckets")) -> dict[str, list[Any]]:
    """All rows of all tables, read without being able to write."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables if table not in but}


def audit_of(database: Path) -> list[dict[str, Any]]:
    """What the audit says, oldest first."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT tenant, body FROM audit ORDER BY json_extract(body, '$.at')").fetchall()
    return [{"tenant": tenant, **json.loads(body)} for tenant, body in rows]


def wait_for(path: str | Path) -> None:
    """Until a file is there: how an agent says that it got to its gate."""
    until = time.monotonic() + PATIENCE
    while not Path(path).exists():
        assert time.monotonic() < until, f"{path} never came"
        time.sleep(0.005)
