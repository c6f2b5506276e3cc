"""The rounds: new servers in each, and blocks of all contenders that take turns with each other."""

import asyncio
import json
import math
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from bench.acceptance.clients import Block, all_at_once, asked_once, connected, streaming
from bench.acceptance.envelopes import chatting, get, invoking
from bench.acceptance.serving import Address, serving
from bench.machine import folder_on_disk

CONTENDERS = ("ours", "plain", "group")
COMPANY = ("alone", "reader", "stalled")
SETTLE_SECONDS = 1.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    rounds: int = 5
    blocks: int = 4
    clients: int = 64
    requests: int = 15
    warm_up: int = 10
    talkers: int = 16
    messages: int = 40


QUICK = Sizes(rounds=1, blocks=1, requests=5, warm_up=2, messages=5)


@dataclass(slots=True)
class Series:
    """All that was measured of one contender, round by round."""

    rounds: list[list[float]] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def add(self, number: int, block: Block) -> None:
        while len(self.rounds) <= number:
            self.rounds.append([])
        self.rounds[number] += block.times_ms
        self.seconds += block.seconds
        self.cpu_seconds += block.cpu_seconds

    @property
    def times(self) -> list[float]:
        return sorted(time for each in self.rounds for time in each)

    @property
    def per_second(self) -> float:
        return sum(map(len, self.rounds)) / self.seconds

    @property
    def cpu_ms(self) -> float:
        """What the server used for one request."""
        return self.cpu_seconds * 1000 / sum(map(len, self.rounds))

    def at(self, part: float) -> float:
        """The latency that this part of all requests stays under, in milliseconds."""
        return percentile(self.times, part)

    def ratios(self, other: "Series", part: float) -> list[float]:
        """Against another, round by round."""
        return [
            percentile(sorted(own), part) / percentile(sorted(its), part)
            for own, its in zip(self.rounds, other.rounds, strict=True)
        ]

    def ratio(self, other: "Series", part: float) -> float:
        """Against another, over the whole run."""
        return self.at(part) / other.at(part)


def percentile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """`acceptance_ms` is the mean of what our server itself counted, from the envelope read to its durable intake."""

    accepting: Mapping[str, Series]
    chatting: Mapping[str, Series]
    acceptance_ms: float


async def measure(sizes: Sizes, say: Say) -> Measured:
    accepting = {name: Series() for name in CONTENDERS}
    talking = {name: Series() for name in COMPANY}
    counted = []
    for number in range(sizes.rounds):
        say(f"round {number + 1} of {sizes.rounds}")
        with tempfile.TemporaryDirectory(prefix="acceptance-", dir=folder_on_disk()) as folder:
            counted.append(await _accepting(sizes, number, Path(folder), accepting))
        with tempfile.TemporaryDirectory(prefix="acceptance-", dir=folder_on_disk()) as folder:
            await _chatting(sizes, number, Path(folder), talking)
    return Measured(accepting=accepting, chatting=talking, acceptance_ms=statistics.median(counted))


async def _accepting(sizes: Sizes, number: int, folder: Path, into: Mapping[str, Series]) -> float:
    """Gives the mean that our server counted itself, in milliseconds."""
    with ExitStack() as at_the_end:
        addresses = {name: at_the_end.enter_context(serving(name, folder)) for name in CONTENDERS}
        for address in addresses.values():
            await _sent(sizes, address, first=0, each=sizes.warm_up)
        before = await _counted(addresses["ours"])
        for block in range(sizes.blocks):
            first = sizes.clients * (sizes.warm_up + block * sizes.requests)
            for name in rotated(CONTENDERS, number + block):
                into[name].add(number, await _sent(sizes, addresses[name], first=first, each=sizes.requests))
        after = await _counted(addresses["ours"])
    return (after[0] - before[0]) / (after[1] - before[1])


async def _sent(sizes: Sizes, address: Address, *, first: int, each: int) -> Block:
    ready = [invoking(first + client * each, each) for client in range(sizes.clients)]
    return await all_at_once(address, ready, b"202")


async def _counted(address: Address) -> tuple[float, float]:
    """The sum and the number of all acceptances, as /metrics has them."""
    text = (await asked_once(address, get("/metrics"))).decode()
    found = {"sum": 0.0, "count": 0.0}
    for line in text.splitlines():
        for end in found:
            if line.startswith(f"turnkeeper_acceptance_duration_ms_{end}{{"):
                found[end] += float(line.rpartition(" ")[2])
    return found["sum"], found["count"]


async def _chatting(sizes: Sizes, number: int, folder: Path, into: Mapping[str, Series]) -> None:
    with serving("ours", folder) as address:
        async with connected(address, sizes.talkers) as clients:
            opened = [json.loads(await client.ask(chatting(None, 1)[0], b"200")) for client in clients]
        ready = [chatting(each["session_id"], sizes.messages) for each in opened]
        await all_at_once(address, [own[: sizes.warm_up] for own in ready], b"200")
        for block in range(sizes.blocks):
            for name in rotated(COMPANY, number + block):
                company = nullcontext() if name == "alone" else streaming(address, reads=name == "reader")
                async with company:
                    await asyncio.sleep(SETTLE_SECONDS)
                    into[name].add(number, await all_at_once(address, ready, b"200"))
                await asyncio.sleep(SETTLE_SECONDS / 2)


def rotated(names: Sequence[str], by: int) -> list[str]:
    """Nobody is always the first."""
    place = by % len(names)
    return [*names[place:], *names[:place]]
