"""What one process has counted for one tenant since it began."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from turnkeeper.model.ids import NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyBucket:
    """How many took at most so long, and longer than the bucket before allows; the last one has no bound."""

    up_to_ms: float | None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long something took. The quantiles are read between the bounds of buckets; None where nothing was counted."""

    count: int
    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    buckets: tuple[LatencyBucket, ...]


def latency(bounds_ms: tuple[float, ...], counts: list[int], total_ms: float) -> Latency:
    """`counts` has one more than there are bounds: those that took longer than the last."""
    count = sum(counts)
    return Latency(
        count=count,
        mean_ms=total_ms / count if count else None,
        p50_ms=_quantile(bounds_ms, counts, 0.5),
        p99_ms=_quantile(bounds_ms, counts, 0.99),
        buckets=tuple(
            LatencyBucket(up_to_ms=bound, count=each) for bound, each in zip((*bounds_ms, None), counts, strict=True)
        ),
    )


def _quantile(bounds_ms: tuple[float, ...], counts: list[int], part: float) -> float | None:
    """As if a bucket were filled evenly. What took longer than the last bound is told as that bound."""
    rank, seen, lower = part * sum(counts), 0, 0.0
    for bound, count in zip(bounds_ms, counts, strict=False):
        if count and seen + count >= rank:
            return lower + (bound - lower) * (rank - seen) / count
        seen, lower = seen + count, bound
    return bounds_ms[-1] if counts[-1] else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeCount:
    """Envelopes at the door that came out alike. `reason` is the code of a refusal."""

    outcome: str
    reason: str
    channel: str
    mode: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCount:
    """Sessions that were to be gone on with."""

    outcome: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningCount:
    channel: str
    code: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCounts:
    """What is counted for all tenants together. `bus` is None where no bus runs beside."""

    warnings: tuple[WarningCount, ...]
    dropped_frames: int
    checkpoints: Latency
    bus: Mapping[str, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """`acceptance` is of the envelopes that were accepted: from the first byte to the durable intake."""

    node: NodeId
    since: datetime
    acceptance: Latency
    envelopes: tuple[EnvelopeCount, ...]
    resumes: tuple[ResumeCount, ...]
    process: ProcessCounts
