"""What is measured, in rounds that rotate, so that all relays see the same moods of the machine."""

import asyncio
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.bus.clients import many_rounds, many_sessions, one_way, round_trips
from bench.bus.serving import BARE, ORCHESTRATED, OURS, PATCHED, SHIPPED, UNGUARDED, Served, serving

Say = Callable[[str], None]

WARM_UP = 5_000
"""After so many sessions a process has loaded what it ever loads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The stock bus as shipped waits 44 ms in each round trip, so it makes fewer."""

    rounds: int = 5
    trips: int = 2_000
    slow_trips: int = 40
    messages: int = 20_000
    listeners: int = 2
    crowd: int = 10
    sessions: int = 10_000


QUICK = Sizes(rounds=1, trips=100, slow_trips=5, messages=2_000, sessions=500)


@dataclass(slots=True)
class Series:
    """One relay over all rounds."""

    trips_ms: list[list[float]] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)
    in_crowd: list[float] = field(default_factory=list)

    def trip(self, part: float) -> float:
        """Median over the rounds of what this part of the round trips did not exceed."""
        return statistics.median(sorted(each)[int(len(each) * part)] for each in self.trips_ms)

    def ratio(self, other: "Series", part: float = 0.5) -> float:
        """Median of the ratios round by round."""
        pairs = zip(self.trips_ms, other.trips_ms, strict=True)
        return statistics.median(sorted(a)[int(len(a) * part)] / sorted(b)[int(len(b) * part)] for a, b in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    relays: Mapping[str, Series]
    memory: Mapping[str, tuple[int, int]]
    """Bytes of the process before and after so many sessions that were new to it."""


def measure(sizes: Sizes, say: Say, *, with_stock: bool) -> Measured:
    names = [OURS, UNGUARDED, BARE, *((PATCHED, SHIPPED) if with_stock else ())]
    relays = {name: Series() for name in names}
    for round in range(sizes.rounds):
        for name in names[round % len(names) :] + names[: round % len(names)]:
            say(f"round {round + 1}, {name}")
            with serving(name) as served:
                asyncio.run(_measure(served, relays[name], sizes, is_slow=name == SHIPPED))
    say("sessions")
    return Measured(relays=relays, memory={name: _memory(name, sizes.sessions) for name in (OURS, ORCHESTRATED, BARE)})


async def _measure(served: Served, series: Series, sizes: Sizes, *, is_slow: bool) -> None:
    await round_trips(served.port, sizes.slow_trips)
    series.trips_ms.append(await round_trips(served.port, sizes.slow_trips if is_slow else sizes.trips))
    series.per_second.append(await one_way(served.port, sizes.messages, sizes.listeners))
    series.in_crowd.append(await one_way(served.port, sizes.messages // 4, sizes.crowd))


def _memory(name: str, sessions: int) -> tuple[int, int]:
    """How large a process is after some sessions, and after many more: a message in each, or a whole round."""
    visit = many_rounds if name == ORCHESTRATED else many_sessions
    with serving(name) as served:
        asyncio.run(visit(served.port, 0, max(WARM_UP, sessions // 5)))
        before = served.memory_bytes()
        asyncio.run(visit(served.port, sessions, sessions))
        return before, served.memory_bytes()
