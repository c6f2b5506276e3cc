"""New sessions per second, one after the other, each durable."""

import time

from bench.scenarios import Numbers, Task


async def measure(task: Task) -> Numbers:
    contender = task.contender.make()
    await contender.open(task.place)
    for _ in range(5):
        await contender.create()
    created, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < task.given["seconds"]:
        await contender.create()
        created += 1
    await contender.close()
    return {"sessions_per_s": created / elapsed}
