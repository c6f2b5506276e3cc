"""How many wrong tokens may come from one address."""

import ipaddress
import time
from collections.abc import Callable

from turnkeeper.errors import TooManyAttempts

MINUTE = 60.0
MOST_ADDRESSES = 10_000
MOST_LET_IN = 10_000
LET_IN_SECONDS = 600.0


class Attempts:
    """Who guesses is sent away before a token is looked at.

    A token that was good a while ago still is let in from such an address: behind it may be many, one of whom guesses.
    """

    def __init__(self, most: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self._failures: dict[str, tuple[float, float]] = {}
        self._let_in: dict[bytes, float] = {}

    def check(self, address: str, token_hash: bytes) -> None:
        """Raises TooManyAttempts, which says when the next one is allowed."""
        # One more must fit: what was forgotten meanwhile is less than a whole one, most of the time.
        over = self._count(address) + 1 - self._most
        if over <= 0 or self._let_in.get(token_hash, -LET_IN_SECONDS) > self._now() - LET_IN_SECONDS:
            return
        raise TooManyAttempts(int(over * MINUTE / self._most * 1000) + 1)

    def failed(self, address: str) -> None:
        if len(self._failures) >= MOST_ADDRESSES:
            self._drop_the_oldest()
        self._failures[_network(address)] = (self._count(address) + 1, self._now())

    def succeeded(self, token_hash: bytes) -> None:
        if len(self._let_in) >= MOST_LET_IN:
            self._let_in.clear()
        self._let_in[token_hash] = self._now()

    def _count(self, address: str) -> float:
        """How many count now; a minute forgets as many as are allowed."""
        count, at = self._failures.get(_network(address), (0.0, self._now()))
        return max(0.0, count - (self._now() - at) * self._most / MINUTE)

    def _drop_the_oldest(self) -> None:
        by_age = sorted(self._failures, key=lambda network: self._failures[network][1])
        for network in by_age[: MOST_ADDRESSES // 10]:
            del self._failures[network]


def _network(address: str) -> str:
    """An address; of IPv6 the part that one subscriber is given."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
