"""Small duties at regular times: what is due, node beats, audit anchors, old request keys."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from turnkeeper.errors import StoreUnavailable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Duty:
    name: str
    every_seconds: float
    work: Callable[[], Awaitable[object]]


class Sweeper:
    """Runs on every node; each duty is safe to be done by many at once."""

    def __init__(self, *duties: Duty) -> None:
        self._duties = duties
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._hurry = {duty.name: asyncio.Event() for duty in self._duties}
        self._tasks = [asyncio.create_task(self._repeat(duty), name=f"turnkeeper-{duty.name}") for duty in self._duties]

    def hurry(self, name: str) -> None:
        """Have a duty done at once rather than at its next time."""
        self._hurry[name].set()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _repeat(self, duty: Duty) -> None:
        is_put_off = False
        while True:
            # A little off the beat, so that nodes started together do not all ask at once.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(duty.every_seconds * random.uniform(0.9, 1.1)):
                    await self._hurry[duty.name].wait()
            self._hurry[duty.name].clear()
            try:
                await duty.work()
                is_put_off = False
            except StoreUnavailable as error:
                # Said once: a database that is being moved, or is gone, may stay so for long.
                if not is_put_off:
                    log.warning("duty put off", extra={"duty": duty.name, "reason": error.code})
                is_put_off = True
            except Exception:
                log.exception("duty failed", extra={"duty": duty.name})
