"""What goes over the wire about all that goes on in a tenant."""

from datetime import datetime

from turnkeeper.model.limit import Allowance, LimitsLeft, RateLeft
from turnkeeper.model.node import HeldLease, NodeView
from turnkeeper.model.traffic import EnvelopeCount, Latency, LatencyBucket, ProcessCounts, ResumeCount, Traffic
from turnkeeper.model.traffic import WarningCount as Warned
from turnkeeper.model.usage import Span, Spent, SpentBy, Usage
from turnkeeper.server.wire import Outbound


class HeldLeaseOut(Outbound):
    """What a node runs right now; `queued` is how many messages wait behind it."""

    session_id: str
    run_id: str
    agent: str
    fence: int
    taken_at: datetime
    expires_at: datetime
    queued: int

    @classmethod
    def of(cls, lease: HeldLease) -> "HeldLeaseOut":
        return cls(
            session_id=lease.session_id,
            run_id=lease.run_id,
            agent=lease.agent,
            fence=lease.fence,
            taken_at=lease.taken_at,
            expires_at=lease.expires_at,
            queued=lease.queued,
        )


class NodeOut(Outbound):
    """A process on this database. `leases` are those of one's own tenant; `is_here` is the node that answers."""

    id: str
    started_at: datetime | None
    seen_at: datetime | None
    is_alive: bool
    is_here: bool
    agents: list[str]
    lease_count: int
    leases: list[HeldLeaseOut]

    @classmethod
    def of(cls, view: NodeView) -> "NodeOut":
        return cls(
            id=view.id,
            started_at=view.started_at,
            seen_at=view.seen_at,
            is_alive=view.is_alive,
            is_here=view.is_here,
            agents=list(view.agents),
            lease_count=len(view.leases),
            leases=[HeldLeaseOut.of(lease) for lease in view.leases],
        )


class NodesOut(Outbound):
    items: list[NodeOut]


class LatencyBucketOut(Outbound):
    """How many took at most so long and longer than the bucket before; the last one has no bound."""

    up_to_ms: float | None
    count: int

    @classmethod
    def of(cls, bucket: LatencyBucket) -> "LatencyBucketOut":
        return cls(up_to_ms=bucket.up_to_ms, count=bucket.count)


class LatencyOut(Outbound):
    """How long something took; `p50_ms` and `p99_ms` are read between the bounds of buckets."""

    count: int
    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    buckets: list[LatencyBucketOut]

    @classmethod
    def of(cls, latency: Latency) -> "LatencyOut":
        return cls(
            count=latency.count,
            mean_ms=latency.mean_ms,
            p50_ms=latency.p50_ms,
            p99_ms=latency.p99_ms,
            buckets=[LatencyBucketOut.of(bucket) for bucket in latency.buckets],
        )


class EnvelopeCountOut(Outbound):
    """Envelopes that came out alike; `reason` is the code of a refusal."""

    outcome: str
    reason: str
    channel: str
    mode: str
    count: int

    @classmethod
    def of(cls, counted: EnvelopeCount) -> "EnvelopeCountOut":
        return cls(
            outcome=counted.outcome,
            reason=counted.reason,
            channel=counted.channel,
            mode=counted.mode,
            count=counted.count,
        )


class ResumeCountOut(Outbound):
    """Sessions that were to be gone on with."""

    outcome: str
    reason: str
    count: int

    @classmethod
    def of(cls, counted: ResumeCount) -> "ResumeCountOut":
        return cls(outcome=counted.outcome, reason=counted.reason, count=counted.count)


class WarningCountOut(Outbound):
    """Warnings of Events."""

    channel: str
    code: str
    count: int

    @classmethod
    def of(cls, counted: Warned) -> "WarningCountOut":
        return cls(channel=counted.channel, code=counted.code, count=counted.count)


class ProcessCountsOut(Outbound):
    """What is counted for all tenants of this process together; `bus` is null where none runs beside it."""

    warnings: list[WarningCountOut]
    dropped_frames: int
    checkpoints: LatencyOut
    bus: dict[str, int] | None

    @classmethod
    def of(cls, counts: ProcessCounts) -> "ProcessCountsOut":
        return cls(
            warnings=[WarningCountOut.of(each) for each in counts.warnings],
            dropped_frames=counts.dropped_frames,
            checkpoints=LatencyOut.of(counts.checkpoints),
            bus=None if counts.bus is None else dict(counts.bus),
        )


class TrafficOut(Outbound):
    """What `node` has counted for one's tenant since then; `acceptance` is of envelopes that were accepted."""

    node: str
    since: datetime
    acceptance: LatencyOut
    envelopes: list[EnvelopeCountOut]
    resumes: list[ResumeCountOut]
    process: ProcessCountsOut

    @classmethod
    def of(cls, traffic: Traffic) -> "TrafficOut":
        return cls(
            node=traffic.node,
            since=traffic.since,
            acceptance=LatencyOut.of(traffic.acceptance),
            envelopes=[EnvelopeCountOut.of(each) for each in traffic.envelopes],
            resumes=[ResumeCountOut.of(each) for each in traffic.resumes],
            process=ProcessCountsOut.of(traffic.process),
        )


class SpentOut(Outbound):
    """`failed` are those that failed, ran out of time or were abandoned."""

    runs: int
    completed: int
    failed: int
    tokens: float
    cost_cents: float
    model_calls: int
    tool_calls: int

    @classmethod
    def of(cls, spent: Spent) -> "SpentOut":
        return cls(
            runs=spent.runs,
            completed=spent.completed,
            failed=spent.failed,
            tokens=spent.tokens,
            cost_cents=spent.cost_cents,
            model_calls=spent.model_calls,
            tool_calls=spent.tool_calls,
        )


class SpentByOut(Outbound):
    """What the runs of one agent spent that were accepted in the span that begins at `at`."""

    at: datetime
    agent: str
    spent: SpentOut

    @classmethod
    def of(cls, by: SpentBy) -> "SpentByOut":
        return cls(at=by.at, agent=by.agent, spent=SpentOut.of(by.spent))


class UsageOut(Outbound):
    """Spans without a run are left out. `since` is the begin of the first span, `until` the end of the last."""

    by: Span
    since: datetime
    until: datetime
    items: list[SpentByOut]
    total: SpentOut

    @classmethod
    def of(cls, usage: Usage) -> "UsageOut":
        return cls(
            by=usage.by,
            since=usage.since,
            until=usage.until,
            items=[SpentByOut.of(each) for each in usage.items],
            total=SpentOut.of(usage.total),
        )


class RateLeftOut(Outbound):
    """`left` can be asked for now, and the whole burst at `full_at`."""

    name: str
    per_second: float
    burst: int
    left: float
    full_at: datetime

    @classmethod
    def of(cls, rate: RateLeft) -> "RateLeftOut":
        return cls(name=rate.name, per_second=rate.per_second, burst=rate.burst, left=rate.left, full_at=rate.full_at)


class AllowanceOut(Outbound):
    """What there may be of something at most. Streams are those of this node, quotas those of the tenant."""

    name: str
    limit: int
    used: int
    left: int

    @classmethod
    def of(cls, allowance: Allowance) -> "AllowanceOut":
        return cls(name=allowance.name, limit=allowance.limit, used=allowance.used, left=allowance.left)


class LimitsOut(Outbound):
    """What holds for the caller now; `sizes` are those of one request or session, by the name of their setting."""

    rates: list[RateLeftOut]
    allowances: list[AllowanceOut]
    sizes: dict[str, float]

    @classmethod
    def of(cls, left: LimitsLeft) -> "LimitsOut":
        return cls(
            rates=[RateLeftOut.of(rate) for rate in left.rates],
            allowances=[AllowanceOut.of(each) for each in left.allowances],
            sizes=dict(left.sizes),
        )
