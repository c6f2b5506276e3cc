"""What we ask of a database about all that goes on in a tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from turnkeeper.model.ids import AgentId, RunId, SessionId, TenantId, UserId
from turnkeeper.model.node import HeldLease
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.usage import Span, SpentBy

LIVE = frozenset(status for status in RunStatus if status.is_open)
"""The runs that have not come to their end."""

RUNS_WALKED = 10_000
"""How many runs are looked at for one page at most."""

MOST_LEASES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtRuns:
    """Which runs are looked for; None, or no status, is any. The span is that of their acceptance, without its end."""

    statuses: frozenset[RunStatus] = frozenset()
    agent: AgentId | None = None
    session_id: SessionId | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_live(self) -> bool:
        """Whether only such are looked for as have not ended."""
        return bool(self.statuses) and self.statuses <= LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRuns:
    """One page; `next` is where the page behind it begins, None on the last one.

    A page may hold fewer than were asked for, and still have a next one: then as many were looked at as may be.
    """

    runs: Sequence[Run]
    next: RunId | None


class OverviewStore(Protocol):
    async def runs(
        self, tenant: TenantId, *, user: UserId | None, sought: SoughtRuns, before: RunId | None, limit: int
    ) -> FoundRuns:
        """Newest first; with `user` only their own, and those in sessions that they own."""

    async def leases(self, tenant: TenantId) -> Sequence[HeldLease]:
        """The leases that are held now, the longest first, at most `MOST_LEASES`. Walks over those of the tenant."""

    async def usage(self, tenant: TenantId, *, by: Span, since: datetime, until: datetime) -> Sequence[SpentBy]:
        """What runs spent that were accepted then, by span and agent, in order. Walks over them, page by page.

        Both moments are begins of a span.
        """

    async def runs_of_month(self, tenant: TenantId, month: str) -> int:
        """How many runs were counted against the quota of the month."""
