"""What the caller of a run is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.model.explanation import Explanation
from turnkeeper.model.ids import RunId, SessionId
from turnkeeper.model.run import Finish, RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    session_id: SessionId
    run_id: RunId
    status: RunStatus
    text: str
    explanation: Explanation
    turn: int | None = None
    finish: Finish | None = None
    created: bool = False
    replaced_session_id: SessionId | None = None
    replaced_reason: str | None = None
    merged: bool | None = None
    carried: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = field(default=())
    units: Mapping[str, Any] = field(default_factory=dict)
    intent: Mapping[str, Any] | None = None
