"""Threads for agents that are not async; none of them keeps the process from ending."""

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class AgentThreads:
    """At most so many at once; a job more waits. A thread that is stuck in a cancelled run is never waited for."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._free = threading.Semaphore(0)
        self._started = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        """The result of `work`. Cancelling this leaves the thread alone and throws its result away."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        context = contextvars.copy_context()
        self._jobs.put((lambda: context.run(work), future))
        if not self._free.acquire(blocking=False) and self._started < self._most:
            self._started += 1
            threading.Thread(target=self._work, name="turnkeeper-agent", daemon=True).start()
        return await future

    def _work(self) -> None:
        while True:
            work, future = self._jobs.get()
            result, error = None, None
            try:
                result = work()
            except BaseException as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # The loop is closed: nobody is left to be told.
                future.get_loop().call_soon_threadsafe(_tell, future, result, error)
            self._free.release()


def _tell(future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
