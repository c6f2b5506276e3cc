"""Looking at a running house: the runs, nodes, traffic, usage and limits of a tenant."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from turnkeeper.errors import EnvelopeInvalid, NotAllowed
from turnkeeper.keeping.limits import Limits
from turnkeeper.model.ids import NodeId, RunId, TenantId
from turnkeeper.model.layer import Quota
from turnkeeper.model.limit import Allowance, LimitsLeft, RateLeft
from turnkeeper.model.node import HeldLease, NodeView
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.traffic import Traffic
from turnkeeper.model.usage import Span, Spent, Usage
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.overview import FoundRuns, SoughtRuns
from turnkeeper.ports.store import Store
from turnkeeper.ports.telemetry import Telemetry
from turnkeeper.scope.directory import Directory
from turnkeeper.settings import Settings

SIZES = (
    "queue_limit",
    "queue_seconds",
    "run_seconds",
    "long_runs",
    "message_chars",
    "output_chars",
    "body_bytes",
    "body_depth",
    "metadata_bytes",
    "carried_bytes",
    "import_bytes",
    "artifact_bytes",
    "session_units",
    "mounts",
    "keys",
)
"""The settings that a caller may run into."""


class Overview:
    """What an operator of a tenant looks at. All but one's own runs and limits is for its owner and admins."""

    def __init__(
        self,
        store: Store,
        telemetry: Telemetry,
        directory: Directory,
        limits: Limits,
        clock: Clock,
        settings: Settings,
        *,
        node: NodeId,
        started_at: datetime,
    ) -> None:
        self._store, self._telemetry, self._directory = store, telemetry, directory
        self._limits, self._clock, self._settings = limits, clock, settings
        self._node, self._started_at = node, started_at

    async def runs(
        self,
        sought: SoughtRuns = SoughtRuns(),  # noqa: B008
        *,
        principal: Principal = LOCAL,
        before: str | None = None,
        limit: int = 50,
    ) -> FoundRuns:
        """Runs of the whole tenant, newest first, for its owner and admins; for others their own.

        Those that have not ended are found by their line and their leases; for others at most `RUNS_WALKED` are looked
        at for one page.
        """
        if principal.session_id is not None:
            if sought.session_id not in (None, principal.session_id):
                return FoundRuns(runs=(), next=None)
            sought = replace(sought, session_id=principal.session_id)
        sees_all = principal.sees_whole_tenant or principal.session_id is not None
        return await self._store.overview.runs(
            principal.tenant,
            user=None if sees_all else principal.user,
            sought=sought,
            before=None if before is None else RunId(before),
            limit=limit,
        )

    async def nodes(self, *, principal: Principal = LOCAL) -> Sequence[NodeView]:
        """The nodes on this database, the newest first, each with the leases of this tenant that it holds."""
        _check_may_look(principal, "nodes")
        seconds = self._settings.lease_seconds
        living = await self._store.nodes.living(seen_within_seconds=seconds)
        gone = await self._store.nodes.gone(unseen_for_seconds=seconds)
        held: dict[NodeId, list[HeldLease]] = {}
        for lease in await self._store.overview.leases(principal.tenant):
            held.setdefault(lease.node, []).append(lease)
        views = [
            NodeView(
                id=node.id,
                started_at=node.started_at,
                seen_at=node.seen_at,
                is_alive=is_alive,
                is_here=node.id == self._node,
                agents=tuple(sorted(node.agents)),
                leases=tuple(held.pop(node.id, ())),
            )
            for is_alive, nodes in ((True, living), (False, gone))
            for node in nodes
        ]
        views += [
            NodeView(
                id=id, started_at=None, seen_at=None, is_alive=False, is_here=False, agents=(), leases=tuple(leases)
            )
            for id, leases in held.items()
        ]
        return sorted(views, key=lambda view: view.id, reverse=True)

    async def traffic(self, *, principal: Principal = LOCAL) -> Traffic:
        """What this process has counted for the tenant since it began."""
        _check_may_look(principal, "traffic")
        return self._telemetry.traffic(principal.tenant, node=self._node, since=self._started_at)

    async def usage(
        self,
        *,
        by: Span = Span.HOUR,
        since: datetime | None = None,
        until: datetime | None = None,
        principal: Principal = LOCAL,
    ) -> Usage:
        """What the runs of the tenant spent, by whole hours or days and by agent; the last day or 30 days unless said.

        Raises EnvelopeInvalid for more than 31 days by hour, or 366 by day.
        """
        _check_may_look(principal, "usage")
        try:
            end = by.end_of(until or self._clock.now())
            begin = end - by.usual if since is None else by.begin_of(since)
        except OverflowError:
            raise EnvelopeInvalid.at("until", "lies at an end of the calendar") from None
        if begin >= end:
            raise EnvelopeInvalid.at("since", "lies before `until`")
        if end - begin > by.longest:
            most = f"at most {by.longest.days} days are told by {by}"
            raise EnvelopeInvalid.at("since", f"{most}; ask for less, or by day" if by is Span.HOUR else most)
        items = await self._store.overview.usage(principal.tenant, by=by, since=begin, until=end)
        total = Spent()
        for each in items:
            total = total.plus(each.spent)
        return Usage(by=by, since=begin, until=end, items=tuple(items), total=total)

    async def limits(self, *, principal: Principal = LOCAL) -> LimitsLeft:
        """What holds for the caller now, and what is left of it; streams are those of this node."""
        return LimitsLeft(
            rates=tuple(await self._rates(principal)),
            allowances=(self._limits.streams_of(principal.tenant), *await self._quotas(principal.tenant)),
            sizes={name: getattr(self._settings, name) for name in SIZES},
        )

    async def _rates(self, principal: Principal) -> list[RateLeft]:
        rates = [await self._limits.left(principal.tenant)]
        key = None if principal.key_id is None else await self._store.keys.find(principal.tenant, principal.key_id)
        if key is not None and key.rate is not None:
            rates.append(await self._limits.left(principal.tenant, f"key:{key.id}", rate=key.rate))
        return rates

    async def _quotas(self, tenant: TenantId) -> list[Allowance]:
        """Those that somebody has set; counting what nobody limits would be work for nothing."""
        layer, now = await self._directory.tenant(tenant), self._clock.now()
        told = []
        for name, limit in (layer.terms.quotas if layer else {}).items():
            if name == Quota.SESSIONS:
                used = await self._store.sessions.living(tenant, at=now)
            elif name == Quota.RUNS_MONTHLY:
                used = await self._store.overview.runs_of_month(tenant, f"{now:%Y-%m}")
            else:
                used = (await self._store.outputs.totals(tenant))["blob_bytes"]
            told.append(Allowance(name=name, limit=limit, used=used))
        return told


def _check_may_look(principal: Principal, what: str) -> None:
    if not principal.sees_whole_tenant:
        raise NotAllowed(f"Only owner and admin of a tenant may look at its {what}. Ask one of them.")
