"""A session of 5,000 turns beside one of 1,000, turn by turn in the same process."""

from bench.scenarios import Numbers, Task
from bench.scenarios.one_turn import BLOCK
from bench.scenarios.turns import milliseconds, walk


async def measure(task: Task) -> Numbers:
    contender = task.contender.make()
    await contender.open(task.place)
    long, short = await contender.create(), await contender.create()
    long_turns, short_turns = task.given["long"], task.given["short"]
    await walk(contender, long, range(long_turns))
    await walk(contender, short, range(short_turns))
    took: dict[str, list[float]] = {long: [], short: []}
    for block in range(task.given["turns"] // BLOCK):
        for session in (long, short) if block % 2 else (short, long):
            took[session] += await walk(contender, session, range(block * BLOCK, (block + 1) * BLOCK))
    await contender.close()
    return {
        "long": long_turns,
        "short": short_turns,
        "p50_ms": milliseconds(took[long]),
        "p50_ms_short": milliseconds(took[short]),
        "times": milliseconds(took[long]) / milliseconds(took[short]),
    }
