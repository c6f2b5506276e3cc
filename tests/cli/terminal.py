"""The command `turnkeeper` in a process of its own, as a program or as a person uses it."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
COMMAND = [sys.executable, "-m", "turnkeeper.cli.main"]


def turnkeeper(
    *arguments: str, said: str = "", cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run it with this on its standard input, and wait for its end."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=_environ(environment),
        input=said,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


class Terminal:
    """A person at a terminal: types, and reads what appears."""

    def __init__(self, *arguments: str, columns: int = 100, cwd: Path = ROOT, **environment: str) -> None:
        self._master, slave = pty.openpty()
        environ = _environ({"COLUMNS": str(columns), "LINES": "40", "TERM": "xterm-256color", **environment})
        self._process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=cwd,
            env=environ,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = ""

    def until(self, words: str) -> str:
        """Wait for these words, and return what appeared up to them."""
        end = time.monotonic() + PATIENCE
        while words not in self.seen:
            if not select.select([self._master], [], [], max(0.0, end - time.monotonic()))[0]:
                raise AssertionError(f"{words!r} did not appear in: {self.seen}")
            try:
                self.seen += os.read(self._master, 65_536).decode()
            except OSError:
                raise AssertionError(f"{words!r} did not appear in: {self.seen}") from None
        before, _, self.seen = self.seen.partition(words)
        return before

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def ended(self) -> int:
        try:
            while True:
                self.seen += os.read(self._master, 65_536).decode()
        except OSError:
            pass  # The other end is closed.
        return self._process.wait(PATIENCE)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)


def plain(text: str) -> str:
    """Text without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _environ(more: dict[str, str]) -> dict[str, str]:
    """Without settings of the person who runs the tests; whoever names no agent is answered by the simplest one."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TURNKEEPER_")}
    simplest = {"TURNKEEPER_DEFAULT_AGENT": "echo", "TURNKEEPER_BUS_PORT": "off"}
    return {**inherited, **simplest, "PYTHONWARNINGS": "error", **more}
