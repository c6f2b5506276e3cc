"""Copying what graphs remember from one database into another, with proof that it arrived."""

import hashlib
from collections.abc import Callable

import msgspec

from turnkeeper.agents.langgraph.memory import GraphMemory

PAGE = 100


async def copy_memory(source: GraphMemory, target: GraphMemory, told: Callable[[int], None]) -> tuple[int, str, str]:
    """How many checkpoints there are, and a digest of what they hold on each side, part by part and in order."""
    here, there, count, thread = hashlib.sha256(), hashlib.sha256(), 0, ""
    while page := await source.after(thread, limit=PAGE):
        for thread in page:
            count += await source.copy_thread(thread, target)
            for digest, memory in ((here, source), (there, target)):
                async for checkpoint in memory.told(thread):
                    digest.update(msgspec.json.encode(checkpoint, order="sorted"))
            told(count)
    return count, here.hexdigest(), there.hexdigest()
