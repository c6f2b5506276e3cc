"""Eight writers on one session: is every turn that was acknowledged there, whole and in one piece?"""

import asyncio
import time
from collections import Counter

from bench.scenarios import Numbers, Task
from bench.scenarios.turns import Crowd
from bench.work import saying, tag_of

WRITERS = 8


async def measure(task: Task) -> Numbers:
    contender = task.contender.make()
    await contender.open(task.place)
    session = await contender.create()
    crowd = Crowd(contender, WRITERS)
    acknowledged: list[str] = []
    refused: Counter[str] = Counter()

    async def write(writer: int) -> None:
        for number in range(task.given["turns"]):
            tag = f"w{writer}-{number}"
            try:
                await crowd.turn(session, saying(tag, number))
            except Exception as error:
                refused[type(error).__name__] += 1
            else:
                acknowledged.append(tag)

    began = time.perf_counter()
    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    elapsed = time.perf_counter() - began
    said = [(role, tag_of(text)) for role, text in await contender.messages(session)]
    counter = await contender.counter(session)
    crowd.close()
    await contender.close()

    kept = Counter(tag for _, tag in said)
    places = {message: place for place, message in enumerate(said)}
    whole = [tag for tag in kept if ("user", tag) in places and ("assistant", tag) in places]
    return {
        "asked": WRITERS * task.given["turns"],
        "acknowledged": len(acknowledged),
        "refused": dict(refused),
        "lost_messages": sum(2 - min(2, kept[tag]) for tag in acknowledged),
        "half_turns": len(kept) - len(whole),
        "split_turns": sum(places["assistant", tag] != places["user", tag] + 1 for tag in whole),
        "counter_off_by": None if counter is None else abs(len(acknowledged) - counter),
        "turns_per_s": len(acknowledged) / elapsed,
    }
