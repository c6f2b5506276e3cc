"""Replays the commands of a page literally, and compares what they print: `python -m tests.replay README.md`.

Every ```console block is played in its order, in one empty folder that has `./dev` and `.venv` as a clone has. What
starts a server has a terminal of its own, which is left with Ctrl-C when the next server is started. In what is
expected, `...` stands for anything, and the usual port for the one that was free.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE = 240.0
USUAL_PORT = "8765"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STARTS_A_SERVER = re.compile(r"\./dev run|\bturnkeeper serve\b")


class Differs(AssertionError):
    """Says which command printed what instead of what the page says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    line: str
    expected: str

    @property
    def starts_a_server(self) -> bool:
        return _STARTS_A_SERVER.search(self.line) is not None

    def compare(self, printed: str, port: int) -> None:
        expected = self.expected.replace(f":{USUAL_PORT}", f":{port}").strip().splitlines()
        lines = ["(?:.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in expected]
        if not re.fullmatch("".join(lines), f"{printed.strip()}\n" if printed.strip() else ""):
            raise Differs(f"$ {self.line}\n--- the page says\n{self.expected}\n--- it printed\n{printed}")


def commands_in(page: str) -> list[Command]:
    return [command for block in _BLOCK.findall(page) for command in _commands(block)]


def _commands(block: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, expected = part.partition("\n")
        yield Command(line=line, expected=expected)


def replay(page: Path) -> int:
    """How many commands were played. Raises Differs."""
    commands = commands_in(page.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="replay-") as name:
        folder, port = Path(name), _free_port()
        for part in ("dev", ".venv"):
            (folder / part).symlink_to(ROOT / part)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("TURNKEEPER_")}
        environment.pop("VIRTUAL_ENV", None)
        environment |= {"TURNKEEPER_PORT": str(port), "TURNKEEPER_BUS_PORT": "off", "COLUMNS": "200"}
        server: Server | None = None
        try:
            for command in commands:
                if command.starts_a_server:
                    if server is not None:
                        server.leave()
                    server = Server(command, folder, environment)
                    server.wait(port)
                else:
                    command.compare(_printed(command.line, folder, environment), port)
        finally:
            if server is not None:
                server.leave()
    return len(commands)


def _printed(line: str, folder: Path, environment: dict[str, str]) -> str:
    """Both outputs together, as a terminal shows them."""
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    if done.returncode:
        raise Differs(f"$ {line}\n--- ended with {done.returncode}\n{done.stdout}")
    return done.stdout


class Server:
    """A terminal in which a server runs."""

    def __init__(self, command: Command, folder: Path, environment: dict[str, str]) -> None:
        self._command = command
        self._told = folder / f"terminal-{time.monotonic_ns()}.txt"
        with self._told.open("w") as told:
            self._process = subprocess.Popen(
                ["sh", "-c", f"exec {command.line}"],
                cwd=folder,
                env=environment,
                stdout=told,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self, port: int) -> None:
        """Until it listens; then it has said what the page says."""
        until = time.monotonic() + PATIENCE
        while not re.search(r"^Listening on", self._told.read_text(), re.MULTILINE):
            if self._process.poll() is not None or time.monotonic() > until:
                raise Differs(f"$ {self._command.line}\n--- did not start\n{self._told.read_text()}")
            time.sleep(0.05)
        self._command.compare(self._told.read_text() + "\n", port)

    def leave(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {replay(Path(name))} commands, each as the page says")
