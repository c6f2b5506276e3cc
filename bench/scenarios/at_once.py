"""Many sessions at once: turns per second, and whether all of them get their share.

A contender that needs something unmeasured before each turn goes in waves: all sessions prepare, then all take their
turn, and only the turns are timed.
"""

import asyncio
import os
import time
from pathlib import Path

from bench.contenders.contender import Contender
from bench.scenarios import Numbers, Task
from bench.scenarios.turns import Crowd, milliseconds
from bench.work import saying


async def measure(task: Task) -> Numbers:
    contender = task.contender.make()
    await contender.open(task.place)
    count: int = task.given["sessions"]
    sessions = [await contender.create() for _ in range(count)]
    crowd = Crowd(contender, count)
    try:
        if contender.prepares:
            return await _in_waves(contender, sessions, task.given["seconds"])
        await asyncio.gather(*(crowd.turn(session, saying("warm", 0)) for session in sessions))
        await asyncio.to_thread(_wait_for_all, task.place.folder, task.given.get("processes", 1))
        return await _freely(crowd, sessions, task.given["seconds"])
    finally:
        crowd.close()
        await contender.close()


def _wait_for_all(folder: Path, processes: int) -> None:
    """Begin together with the other processes on this place."""
    (folder / f"ready-{os.getpid()}").touch()
    while len(list(folder.glob("ready-*"))) < processes:
        time.sleep(0.002)


async def _freely(crowd: Crowd, sessions: list[str], seconds: float) -> Numbers:
    took: list[float] = []
    began = time.perf_counter()
    cpu_began = time.process_time()

    async def talk(session: str) -> int:
        turns = 0
        while time.perf_counter() - began < seconds:
            turn_began = time.perf_counter()
            await crowd.turn(session, saying(f"t{turns}", turns))
            took.append(time.perf_counter() - turn_began)
            turns += 1
        return turns

    turns = await asyncio.gather(*(talk(session) for session in sessions))
    elapsed, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    return {
        "turns_per_s": sum(turns) / elapsed,
        "p50_ms": milliseconds(took),
        "max_ms": max(took) * 1e3,
        "slowest_to_fastest": min(turns) / max(turns),
        "cpu_ms": cpu / sum(turns) * 1e3,
    }


async def _in_waves(contender: Contender, sessions: list[str], seconds: float) -> Numbers:
    took: dict[str, list[float]] = {session: [] for session in sessions}
    busy, cpu, wave = 0.0, 0.0, 0

    async def turn(session: str, said: str) -> None:
        began = time.perf_counter()
        await contender.turn(session, said)
        took[session].append(time.perf_counter() - began)

    while busy < seconds / 2 or wave < 3:
        said = saying(f"t{wave}", wave)
        await asyncio.gather(*(contender.prepare(session, said) for session in sessions))
        # Whoever comes first in one wave comes last in another.
        place = wave * 7 % len(sessions)
        order = sessions[place:] + sessions[:place]
        began, cpu_began = time.perf_counter(), time.process_time()
        await asyncio.gather(*(turn(session, said) for session in order))
        if wave:
            busy += time.perf_counter() - began
            cpu += time.process_time() - cpu_began
        wave += 1
    waited = [sum(times[1:]) for times in took.values()]
    every = [seconds for times in took.values() for seconds in times[1:]]
    return {
        "turns_per_s": len(every) / busy,
        "p50_ms": milliseconds(every),
        "max_ms": max(every) * 1e3,
        "slowest_to_fastest": min(waited) / max(waited),
        "cpu_ms": cpu / len(every) * 1e3,
    }
