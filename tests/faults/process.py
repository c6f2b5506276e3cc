"""Holding a worker process in the hand of a test."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("worker.py")
BRISK = {
    "TURNKEEPER_LEASE_SECONDS": "0.6",
    "TURNKEEPER_RENEW_SECONDS": "0.2",
    "TURNKEEPER_SWEEP_SECONDS": "0.1",
    "TURNKEEPER_GRACE_SECONDS": "0.1",
    "TURNKEEPER_STOP_SECONDS": "0.5",
    "TURNKEEPER_POOL_SIZE": "8",
    "TURNKEEPER_OUTBOX_ATTEMPTS": "1",
}


class Worker:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._tags = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.lines: list[dict[str, Any]] = []
        self._heard = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    def tell(self, do: str, **command: Any) -> None:
        """Give a command whose answer nobody waits for."""
        self._answers[-1] = self.begin(do, **command)

    async def ask(self, do: str, **command: Any) -> dict[str, Any]:
        """Give a command and wait for its answer."""
        return await self.begin(do, **command)

    def begin(self, do: str, **command: Any) -> asyncio.Future[dict[str, Any]]:
        tag = next(self._tags)
        answer = self._answers[tag] = asyncio.get_running_loop().create_future()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, "tag": tag, **command}).encode() + b"\n")
        return answer

    async def line(self, *keys: str, within: float = 60.0) -> dict[str, Any]:
        """Wait until it has said a line with one of these keys, or the process has ended."""
        async with asyncio.timeout(within), self._heard:
            while True:
                for line in self.lines:
                    if line.keys() & {*keys, "ended"}:
                        return line
                await self._heard.wait()

    @property
    def told(self) -> list[dict[str, Any]]:
        """The replies it gave out, as the caller of each saw them."""
        return [line["told"] for line in self.lines if "told" in line]

    def freeze(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    async def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)
        await self.end()

    def begin_close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b'{"do": "close"}\n')

    async def end(self) -> int:
        await self._reading
        return await self._process.wait()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while raw := await self._process.stdout.readline():
            line = json.loads(raw)
            answer = self._answers.pop(line.get("tag", 0), None)
            if answer is not None and not answer.done():
                answer.set_result(line)
            async with self._heard:
                self.lines.append(line)
                self._heard.notify_all()
        async with self._heard:
            self.lines.append({"ended": True})
            self._heard.notify_all()


@contextlib.asynccontextmanager
async def a_worker(
    address: str, *, stop_at: str | None = None, inside: Sequence[str] = (), **settings: str
) -> AsyncIterator[Worker]:
    """A turnkeeper process on this database; `inside` is a command that it is started under."""
    environment = {**os.environ, **BRISK, "TURNKEEPER_DATABASE": address, **settings}
    if stop_at is not None:
        environment["STOP_AT"] = stop_at
    process = await asyncio.create_subprocess_exec(
        *inside,
        sys.executable,
        str(WORKER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
    )
    worker = Worker(process)
    try:
        yield worker
    finally:
        await worker.kill()
