"""Walking sessions through turns, for every scenario alike."""

import asyncio
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.contenders.contender import BlockingContender, Contender
from bench.work import saying


async def timed_turn(contender: Contender, session: str, said: str) -> float:
    """Seconds of one turn, without what it needs beforehand."""
    if contender.prepares:
        await contender.prepare(session, said)
    began = time.perf_counter()
    await contender.turn(session, said)
    return time.perf_counter() - began


async def walk(contender: Contender, session: str, turns: range) -> list[float]:
    """Seconds of each turn, one after the other."""
    return [await timed_turn(contender, session, saying(f"t{number}", number)) for number in turns]


class Crowd:
    """Turns of many sessions at once; a contender that holds its thread gets one for each session."""

    def __init__(self, contender: Contender, sessions: int) -> None:
        self._contender = contender
        self._threads = ThreadPoolExecutor(sessions) if contender.blocking else None

    async def turn(self, session: str, said: str) -> None:
        if self._threads is None:
            await self._contender.turn(session, said)
        else:
            assert isinstance(self._contender, BlockingContender)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._threads, self._contender.turn_now, session, said)

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown()


def milliseconds(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) * 1e3
