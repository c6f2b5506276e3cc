"""One client, one session: the time of a turn, beside the bare database in the same process.

Blocks of turns alternate between the contender and those it is compared with, so that whatever else the machine does
meets all of them, and their stores have the same age.
"""

import dataclasses
import statistics
import time

from bench.contenders.contender import Contender
from bench.scenarios import Numbers, Task
from bench.scenarios.turns import milliseconds, walk

BLOCK = 4
"""Short, so that a slow moment of the disk meets everyone."""

WARM_UP = 20


async def measure(task: Task) -> Numbers:
    turns: int = task.given["turns"]
    names = [entry.name for entry in (task.contender, *task.against)]
    contenders: dict[str, Contender] = {}
    sessions: dict[str, str] = {}
    for entry in (task.contender, *task.against):
        folder = task.place.folder / entry.name.replace(":", "-")
        folder.mkdir()
        dsn = task.given["databases"].get(entry.name)
        contender = contenders[entry.name] = entry.make()
        await contender.open(dataclasses.replace(task.place, folder=folder, dsn=dsn))
        sessions[entry.name] = await contender.create()
        await walk(contender, sessions[entry.name], range(WARM_UP))

    took: dict[str, list[float]] = {name: [] for name in names}
    cpu = 0.0
    for block in range(turns // BLOCK):
        for place in range(len(names)):
            name = names[(place + block) % len(names)]
            first = WARM_UP + block * BLOCK
            began = time.process_time()
            took[name] += await walk(contenders[name], sessions[name], range(first, first + BLOCK))
            if name == task.contender.name:
                cpu += time.process_time() - began
    for contender in contenders.values():
        await contender.close()

    own = took[task.contender.name]
    return {
        "p50_ms": milliseconds(own),
        "p99_ms": statistics.quantiles(own, n=100)[-1] * 1e3,
        "cpu_ms": cpu / len(own) * 1e3,
        "p50_ms_of": {name: milliseconds(took[name]) for name in names[1:]},
        "times": {name: milliseconds(own) / milliseconds(took[name]) for name in names[1:]},
    }
