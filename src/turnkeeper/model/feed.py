"""The numbered record of what happened in a session."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import RunId


class FeedType(StrEnum):
    RUN_ACCEPTED = "run.accepted"
    OUTPUT_DELTA = "output.delta"
    OUTPUT_SNAPSHOT = "output.snapshot"
    RUN_WAITING = "run.waiting"
    RUN_ANSWERED = "run.answered"
    RUN_RESUMED = "run.resumed"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"
    RUN_TIMED_OUT = "run.timed_out"
    RUN_SUPERSEDED = "run.superseded"
    RUN_ABANDONED = "run.abandoned"
    CRITIC_VERDICT = "critic.verdict"
    CHECKPOINT_SAVED = "checkpoint.saved"
    TOOL_STARTED = "tool.started"
    TOOL_FINISHED = "tool.finished"
    EVENT_WARNING = "event.warning"
    BUDGET_UPDATE = "budget.update"
    SESSION_RESET = "session.reset"
    SESSION_CHANGED = "session.changed"
    ARTIFACT_EMITTED = "artifact.emitted"
    MANIFEST_CREATED = "manifest.created"
    POINTER_MOVED = "pointer.moved"
    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_DECIDED = "approval.decided"
    SCOPE_DENIED = "scope.denied"

    @property
    def ends_a_run(self) -> bool:
        return self in _ENDS


_ENDS = {
    FeedType.RUN_COMPLETED,
    FeedType.RUN_FAILED,
    FeedType.RUN_CANCELLED,
    FeedType.RUN_TIMED_OUT,
    FeedType.RUN_SUPERSEDED,
    FeedType.RUN_ABANDONED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """Entry `no` of its feed. Deltas are provisional; `run.completed` alone is true."""

    no: int
    type: FeedType
    run_id: RunId | None
    at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)
