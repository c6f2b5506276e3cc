"""Spans and metrics for OpenTelemetry, through whatever exporter the program has set up."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from opentelemetry import metrics, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from turnkeeper.model.ids import TenantId, TraceId
from turnkeeper.model.trace_context import TraceContext
from turnkeeper.ports.telemetry import Accepting
from turnkeeper.telemetry.counting import PREFIX, Counts


class OpenTelemetry(Counts):
    """Counts as ever, and tells OpenTelemetry too. Without a configured provider its calls do nothing."""

    def __init__(self) -> None:
        super().__init__()
        meter = metrics.get_meter(PREFIX)
        self._tracer = trace.get_tracer(PREFIX)
        self._acceptance_times = meter.create_histogram(f"{PREFIX}.acceptance_duration_ms", unit="ms")
        self._envelopes = meter.create_counter(f"{PREFIX}.envelopes_total")
        self._resumes = meter.create_counter(f"{PREFIX}.session_resume_total")
        self._checkpoints = meter.create_histogram(f"{PREFIX}.checkpoint_write_duration_ms", unit="ms")
        meter.create_observable_gauge(
            f"{PREFIX}.trace_context_propagation_rate",
            callbacks=[lambda _: [metrics.Observation(self.trace_context_propagation_rate())]],
        )

    def accepting(self, what: Accepting) -> None:
        super().accepting(what)
        labels = {"tenant_id": what.tenant, "mode": what.mode, "channel": what.channel, "outcome": what.outcome}
        self._acceptance_times.record(what.seconds * 1000, labels)
        self._envelopes.add(1, {**labels, "reason": what.reason})

    def session_resume(self, tenant: TenantId, outcome: str, reason: str) -> None:
        super().session_resume(tenant, outcome, reason)
        self._resumes.add(1, {"tenant_id": tenant, "outcome": outcome, "reason": reason})

    def checkpoint_written(self, seconds: float) -> None:
        super().checkpoint_written(seconds)
        self._checkpoints.record(seconds * 1000)

    def span(
        self, name: str, trace_id: TraceId, caller: TraceContext | None, facts: Mapping[str, str]
    ) -> AbstractContextManager[object]:
        return self._span(name, trace_id, caller, facts)

    @contextmanager
    def _span(
        self, name: str, trace_id: TraceId, caller: TraceContext | None, facts: Mapping[str, str]
    ) -> Iterator[object]:
        parent = trace.set_span_in_context(NonRecordingSpan(_context_of(trace_id, caller)))
        attributes = {f"{PREFIX}.{key}": value for key, value in facts.items()}
        kind = SpanKind.SERVER if name == "receive" else SpanKind.INTERNAL
        with self._tracer.start_as_current_span(
            f"{PREFIX}.{name}",
            context=parent,
            kind=kind,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                # Its kind only: the words of an exception may be a user's.
                span.set_status(Status(StatusCode.ERROR, getattr(error, "code", type(error).__name__)))
                raise


def _context_of(trace_id: TraceId, caller: TraceContext | None) -> SpanContext:
    """The caller's span; where it has none, the root of the trace that was begun for it."""
    state = TraceState.from_header([caller.tracestate]) if caller and caller.tracestate else TraceState()
    return SpanContext(
        trace_id=int(trace_id, 16),
        span_id=int(caller.span_id, 16) if caller else int.from_bytes(os.urandom(8)) | 1,
        is_remote=True,
        trace_flags=TraceFlags(int(caller.flags, 16) if caller else 1),
        trace_state=state,
    )
