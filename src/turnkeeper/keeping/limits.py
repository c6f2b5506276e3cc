"""Letting no tenant ask for more at once than it may, on all nodes together."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from turnkeeper.errors import DatabaseMoving, RateLimited, TooManyStreams
from turnkeeper.model.ids import TenantId
from turnkeeper.model.limit import Allowance, RateLeft
from turnkeeper.model.policy import Policy, Rate
from turnkeeper.ports.buckets import MESSAGES, BucketStore
from turnkeeper.ports.clock import Clock

SHARE = 16
"""A node takes this part of a bucket in advance, so that most messages need no write of their own."""

KEPT_FOR = timedelta(seconds=1)


@dataclass(slots=True)
class _Purse:
    """Tokens that this node has taken out of the shared bucket. They are for now: what is left over is lost."""

    tokens: int = 0
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    buckets: BucketStore
    policy: Policy
    clock: Clock
    most_streams: int
    _purses: dict[tuple[TenantId, str], _Purse] = field(default_factory=dict)
    _streams: dict[TenantId, int] = field(default_factory=dict)

    async def admit(self, tenant: TenantId, name: str = MESSAGES, *, rate: Rate | None = None) -> None:
        """One message of this tenant, out of the bucket of this name. Raises RateLimited, which says until when.

        The rate is that of the tenant, unless the bucket has one of its own.
        """
        now = self.clock.now()
        purse = self._purses.setdefault((tenant, name), _Purse())
        if purse.until is None or now >= purse.until:
            purse.tokens = 0
        if purse.tokens > 0:
            purse.tokens -= 1
            return
        rate = rate or self.policy.rate_of(tenant)
        try:
            taken = await self.buckets.take(tenant, rate, wanted=_in_advance(rate), name=name)
        except DatabaseMoving:
            return  # Nobody can count now. Who reads may go on, and who writes is refused further in.
        if taken < 1:
            raise RateLimited(retry_after_ms=max(1, int(-taken / rate.per_second * 1000)))
        # Others may have filled it while this one waited.
        purse.tokens += int(taken) - 1
        purse.until = now + KEPT_FOR

    async def left(self, tenant: TenantId, name: str = MESSAGES, *, rate: Rate | None = None) -> RateLeft:
        """How much of a bucket can be asked for now: what is in it, and what this node took out in advance."""
        rate, now = rate or self.policy.rate_of(tenant), self.clock.now()
        purse = self._purses.get((tenant, name))
        ahead = purse.tokens if purse and purse.until and now < purse.until else 0
        left = min(float(rate.burst), await self.buckets.left(tenant, rate, name=name) + ahead)
        full_at = now + timedelta(seconds=(rate.burst - left) / rate.per_second)
        return RateLeft(name=name, per_second=rate.per_second, burst=rate.burst, left=left, full_at=full_at)

    def streams_of(self, tenant: TenantId) -> Allowance:
        """How many streams of a tenant are open on this node."""
        return Allowance(name="streams", limit=self.most_streams, used=self._streams.get(tenant, 0))

    @contextmanager
    def stream(self, tenant: TenantId) -> Iterator[None]:
        """One stream of this tenant is open on this node. Raises TooManyStreams when it may open no further one."""
        if self._streams.get(tenant, 0) >= self.most_streams:
            raise TooManyStreams(self.most_streams)
        self._streams[tenant] = self._streams.get(tenant, 0) + 1
        try:
            yield
        finally:
            self._streams[tenant] -= 1
            if not self._streams[tenant]:
                del self._streams[tenant]


def _in_advance(rate: Rate) -> int:
    """A sixteenth of the bucket, and no more than comes in in a sixteenth of a second: what is left over is lost."""
    return max(1, int(min(rate.burst // SHARE, rate.per_second / SHARE)))
