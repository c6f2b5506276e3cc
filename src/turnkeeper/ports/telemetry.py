"""What is counted and timed for those who watch from outside. Names and numbers only, never what was said."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from turnkeeper.model.ids import NodeId, TenantId, TraceId
from turnkeeper.model.trace_context import TraceContext
from turnkeeper.model.traffic import Traffic

ACCEPTED, REJECTED = "accepted", "rejected"
RESUMED, REFUSED = "resumed", "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepting:
    """One envelope at the door: what became of it, and how long it took from its first byte to its durable intake."""

    tenant: TenantId
    channel: str
    mode: str
    outcome: str
    reason: str
    seconds: float


class Telemetry(Protocol):
    def accepting(self, what: Accepting) -> None: ...

    def session_resume(self, tenant: TenantId, outcome: str, reason: str) -> None:
        """An envelope named a session, or a long run was taken up on another node: did it go on?"""

    def propagated(self, tenant: TenantId, *, whole: bool) -> None:
        """A run has come to its end; whether one trace went all the way through it."""

    def event_warning(self, channel: str, code: str) -> None: ...

    def frames_dropped(self, count: int) -> None: ...

    def checkpoint_written(self, seconds: float) -> None: ...

    def bus(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """What the bus of this process has counted; asked whenever somebody looks."""

    def traffic(self, tenant: TenantId, *, node: NodeId, since: datetime) -> Traffic:
        """What was counted for a tenant since this process began, which was then."""

    def rejected_envelope_rate(self, tenant: str, reason: str) -> float: ...

    def session_resume_success_rate(self, tenant: str) -> float: ...

    def trace_context_propagation_rate(self) -> float: ...

    def exposition(self) -> bytes:
        """Everything that was counted since this process began, as Prometheus reads it."""

    def span(
        self, name: str, trace_id: TraceId, caller: TraceContext | None, facts: Mapping[str, str]
    ) -> AbstractContextManager[object]:
        """A part of the way of a run, under the caller's span; an exception that leaves it marks it as failed."""
