"""When something that failed is tried again, after how long, and when it is given up."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """At most so many `tries` in all, none of them begun later than `seconds` after the first that failed.

    How long a try takes before it fails is not counted: an answer may take its time, a stream may be quiet.

    Between two of them lies a random part of a span that begins with `first_seconds` and doubles up to `most_seconds`,
    or as long as the server asks for.
    """

    tries: int = 6
    seconds: float = 30.0
    first_seconds: float = 0.2
    most_seconds: float = 5.0
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if self.tries < 1 or min(self.seconds, self.first_seconds, self.most_seconds) < 0:
            raise ValueError("there is at least one try, and no time is below zero")

    def begin(self) -> "Trying":
        return Trying(retries=self)


NEVER = Retries(tries=1)


@dataclass(slots=True, kw_only=True)
class Trying:
    """One thing that is tried, from its first try on."""

    retries: Retries
    failed: int = 0
    until: float = 0.0

    async def again(self, after_seconds: float | None = None) -> bool:
        """Wait until the next try is due; False when it is to be given up. The server may ask for more time."""
        rules = self.retries
        if self.failed == 0:
            self.until = rules.now() + rules.seconds
        self.failed += 1
        span = min(rules.most_seconds, rules.first_seconds * 2 ** (self.failed - 1))
        wait = rules.chance() * span + (after_seconds or 0.0)
        if self.failed >= rules.tries or rules.now() + wait > self.until:
            return False
        await rules.pause(wait)
        return True
