"""The trace that a request belongs to, as W3C Trace Context names its parts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceContext:
    """The span of the caller, under which our own spans stand; the trace id itself is on the Envelope and the Run."""

    span_id: str
    flags: str = "01"
    tracestate: str | None = None
    baggage: str | None = None
