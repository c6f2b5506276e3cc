"""Counters of this process, for `GET /metrics` and for the rates that are made of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from turnkeeper.errors import ExtraMissing
from turnkeeper.model.ids import NodeId, TenantId, TraceId
from turnkeeper.model.trace_context import TraceContext
from turnkeeper.model.traffic import (
    EnvelopeCount,
    Latency,
    ProcessCounts,
    ResumeCount,
    Traffic,
    WarningCount,
    latency,
)
from turnkeeper.ports.telemetry import ACCEPTED, RESUMED, Accepting

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

PREFIX = "turnkeeper"
BOUNDS_MS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 5_000.0)
_NOTHING = nullcontext()


class Times:
    """How many took at most how long, and how long all of them took together."""

    __slots__ = ("buckets", "total")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS_MS) + 1)
        self.total = 0.0

    def add(self, ms: float) -> None:
        place = next((place for place, bound in enumerate(BOUNDS_MS) if ms <= bound), len(BOUNDS_MS))
        self.buckets[place] += 1
        self.total += ms

    def add_all(self, others: "Times") -> None:
        self.buckets = [own + other for own, other in zip(self.buckets, others.buckets, strict=True)]
        self.total += others.total

    @property
    def latency(self) -> Latency:
        return latency(BOUNDS_MS, self.buckets, self.total)

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def cumulative(self) -> list[tuple[str, float]]:
        seen, told = 0, []
        for bound, count in zip((*map(str, BOUNDS_MS), "+Inf"), self.buckets, strict=True):
            seen += count
            told.append((bound, float(seen)))
        return told


class Counts:
    """Everything that was counted since this process began. Ids of runs and traces are on spans, never here."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.envelopes: Counter[tuple[str, str, str, str, str]] = Counter()
        self.acceptance: dict[tuple[str, str, str, str], Times] = {}
        self.resumes: Counter[tuple[str, str, str]] = Counter()
        self.traces: Counter[tuple[str, bool]] = Counter()
        self.warnings: Counter[tuple[str, str]] = Counter()
        self.dropped = 0
        self.checkpoints = Times()
        self._bus: Callable[[], Mapping[str, int]] | None = None

    def accepting(self, what: Accepting) -> None:
        with self._lock:
            self.envelopes[what.tenant, what.outcome, what.reason, what.channel, what.mode] += 1
            key = (what.tenant, what.mode, what.channel, what.outcome)
            self.acceptance.setdefault(key, Times()).add(what.seconds * 1000)

    def session_resume(self, tenant: TenantId, outcome: str, reason: str) -> None:
        with self._lock:
            self.resumes[tenant, outcome, reason] += 1

    def propagated(self, tenant: TenantId, *, whole: bool) -> None:
        with self._lock:
            self.traces[tenant, whole] += 1

    def event_warning(self, channel: str, code: str) -> None:
        with self._lock:
            self.warnings[channel, code] += 1

    def frames_dropped(self, count: int) -> None:
        with self._lock:
            self.dropped += count

    def checkpoint_written(self, seconds: float) -> None:
        with self._lock:
            self.checkpoints.add(seconds * 1000)

    def bus(self, counts: Callable[[], Mapping[str, int]]) -> None:
        self._bus = counts

    def span(
        self, name: str, trace_id: TraceId, caller: TraceContext | None, facts: Mapping[str, str]
    ) -> AbstractContextManager[object]:
        return _NOTHING

    def traffic(self, tenant: TenantId, *, node: NodeId, since: datetime) -> Traffic:
        """What was counted for one tenant; what no tenant is told of stands under `process`."""
        with self._lock:
            accepted = Times()
            for (whose, _, _, outcome), times in self.acceptance.items():
                if whose == tenant and outcome == ACCEPTED:
                    accepted.add_all(times)
            return Traffic(
                node=node,
                since=since,
                acceptance=accepted.latency,
                envelopes=tuple(
                    EnvelopeCount(outcome=outcome, reason=reason, channel=channel, mode=mode, count=count)
                    for (whose, outcome, reason, channel, mode), count in sorted(self.envelopes.items())
                    if whose == tenant
                ),
                resumes=tuple(
                    ResumeCount(outcome=outcome, reason=reason, count=count)
                    for (whose, outcome, reason), count in sorted(self.resumes.items())
                    if whose == tenant
                ),
                process=ProcessCounts(
                    warnings=tuple(
                        WarningCount(channel=channel, code=code, count=count)
                        for (channel, code), count in sorted(self.warnings.items())
                    ),
                    dropped_frames=self.dropped,
                    checkpoints=self.checkpoints.latency,
                    bus=None if self._bus is None else dict(self._bus()),
                ),
            )

    # --- the rates that the page asks for

    def rejected_envelope_rate(self, tenant: str, reason: str) -> float:
        """Which part of all envelopes of a tenant was refused for this reason."""
        all_of_them = sum(count for key, count in self.envelopes.items() if key[0] == tenant)
        refused = sum(
            count
            for key, count in self.envelopes.items()
            if key[0] == tenant and key[1] != ACCEPTED and key[2] == reason
        )
        return refused / all_of_them if all_of_them else 0.0

    def session_resume_success_rate(self, tenant: str) -> float:
        tried = sum(count for key, count in self.resumes.items() if key[0] == tenant)
        went_on = sum(count for key, count in self.resumes.items() if key[:2] == (tenant, RESUMED))
        return went_on / tried if tried else 1.0

    def trace_context_propagation_rate(self) -> float:
        """Of the runs that came to their end, those through which one trace went all the way. Meant to be 1."""
        whole = sum(count for key, count in self.traces.items() if key[1])
        return whole / sum(self.traces.values()) if self.traces else 1.0

    # --- as Prometheus reads it

    def exposition(self) -> bytes:
        """Raises ExtraMissing without the extra `server`."""
        try:
            from prometheus_client import CollectorRegistry, generate_latest
        except ModuleNotFoundError as missing:
            raise ExtraMissing("server", str(missing.name)) from None
        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> "Iterator[Metric]":
        """The metrics as they stand now; a registry of prometheus_client calls it."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        with self._lock:
            yield self._acceptance(HistogramMetricFamily)
            yield _counter(
                CounterMetricFamily,
                "envelopes",
                "Envelopes at the door.",
                ["tenant_id", "outcome", "reason", "channel", "mode"],
                self.envelopes,
            )
            rejected = GaugeMetricFamily(
                f"{PREFIX}_rejected_envelope_rate", "Part of the envelopes refused.", labels=["tenant_id", "reason"]
            )
            for tenant, reason in sorted({(key[0], key[2]) for key in self.envelopes if key[1] != ACCEPTED}):
                rejected.add_metric([tenant, reason], self.rejected_envelope_rate(tenant, reason))
            yield rejected
            labels = ["tenant_id", "outcome", "reason"]
            yield _counter(CounterMetricFamily, "session_resume", "Sessions gone on with.", labels, self.resumes)
            resumed = GaugeMetricFamily(
                f"{PREFIX}_session_resume_success_rate", "Part of them that went on.", labels=["tenant_id"]
            )
            for tenant in sorted({key[0] for key in self.resumes}):
                resumed.add_metric([tenant], self.session_resume_success_rate(tenant))
            yield resumed
            yield GaugeMetricFamily(
                f"{PREFIX}_trace_context_propagation_rate",
                "Part of the runs that one trace went through; meant to be 1.",
                value=self.trace_context_propagation_rate(),
            )
            labels = ["channel", "code"]
            yield _counter(CounterMetricFamily, "event_warnings", "Warnings of Events.", labels, self.warnings)
            yield CounterMetricFamily(
                f"{PREFIX}_stream_frames_dropped", "Frames that slow readers missed.", value=self.dropped
            )
            written = HistogramMetricFamily(f"{PREFIX}_checkpoint_write_duration_ms", "Writing a checkpoint.")
            written.add_metric([], buckets=self.checkpoints.cumulative(), sum_value=self.checkpoints.total)
            yield written
        if self._bus is not None:
            counted = dict(self._bus())
            yield GaugeMetricFamily(f"{PREFIX}_bus_open", "Connections to the bus now.", value=counted.pop("open"))
            happened = {(what,): count for what, count in counted.items()}
            yield _counter(CounterMetricFamily, "bus", "What happened on the bus.", ["what"], happened)

    def _acceptance(self, family: "type[Metric]") -> "Metric":
        told = family(  # type: ignore[call-arg]
            f"{PREFIX}_acceptance_duration_ms",
            "From the first byte of an envelope to its durable intake, without compiling and running.",
            labels=["tenant_id", "mode", "channel", "outcome"],
        )
        for key, times in sorted(self.acceptance.items()):
            told.add_metric(list(key), buckets=times.cumulative(), sum_value=times.total)  # type: ignore[attr-defined]
        return told


def _counter(family: "type[Metric]", name: str, says: str, labels: list[str], counts: Mapping[Any, int]) -> "Metric":
    told = family(f"{PREFIX}_{name}", says, labels=labels)  # type: ignore[call-arg]
    for key, count in sorted(counts.items()):
        told.add_metric(list(key), count)  # type: ignore[attr-defined]
    return told
