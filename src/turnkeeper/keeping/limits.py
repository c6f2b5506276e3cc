"""Letting no tenant ask for more at once than it may, on all nodes together."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from turnkeeper.errors import RateLimited, TooManyStreams
from turnkeeper.model.ids import TenantId
from turnkeeper.model.policy import Policy
from turnkeeper.ports.buckets import BucketStore
from turnkeeper.ports.clock import Clock

SHARE = 16
"""A node takes this part of a full bucket in advance, so that most messages need no write of their own."""

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
    _purses: dict[TenantId, _Purse] = field(default_factory=dict)
    _streams: dict[TenantId, int] = field(default_factory=dict)

    async def admit(self, tenant: TenantId) -> None:
        """One message of this tenant. Raises RateLimited, which says when there is room again."""
        now = self.clock.now()
        purse = self._purses.setdefault(tenant, _Purse())
        if purse.until is None or now >= purse.until:
            purse.tokens = 0
        if purse.tokens > 0:
            purse.tokens -= 1
            return
        rate = self.policy.rate_of(tenant)
        taken = await self.buckets.take(tenant, rate, wanted=max(1, rate.burst // SHARE), at=now)
        if taken < 1:
            raise RateLimited(retry_after_ms=max(1, int(-taken / rate.per_second * 1000)))
        # Others may have filled it while this one waited.
        purse.tokens += int(taken) - 1
        purse.until = now + KEPT_FOR

    def check_streams(self, tenant: TenantId) -> None:
        """Raises TooManyStreams when this tenant may open no further one on this node."""
        if self._streams.get(tenant, 0) >= self.most_streams:
            raise TooManyStreams(self.most_streams)

    @contextmanager
    def stream(self, tenant: TenantId) -> Iterator[None]:
        """One stream of this tenant is open on this node."""
        self._streams[tenant] = self._streams.get(tenant, 0) + 1
        try:
            yield
        finally:
            self._streams[tenant] -= 1
            if not self._streams[tenant]:
                del self._streams[tenant]
