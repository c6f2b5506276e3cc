"""What is true at the start of a run; immutable but for its budget."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnkeeper.model.budget import Budget, BudgetLimits
from turnkeeper.model.dialogue import IntentView
from turnkeeper.model.ids import AgentId, RunId, SessionId, TenantId, TraceId, UserId
from turnkeeper.model.message import Message
from turnkeeper.model.mount import Mount
from turnkeeper.model.pack import PackPin
from turnkeeper.model.preferences import Preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """`explicit` is what this request chose, `preferred` what the session would rather use.

    `ceilings` are how far its pack lets one run go, by name.
    """

    run_id: RunId
    trace_id: TraceId
    session_id: SessionId
    tenant: TenantId
    user: UserId
    agent: AgentId
    turn: int
    epoch: int
    deadline: datetime
    history: tuple[Message, ...]
    params: Mapping[str, Any]
    metadata: Mapping[str, Any]
    explicit: Preferences = field(default_factory=Preferences)
    preferred: Preferences = field(default_factory=Preferences)
    mounts: tuple[Mount, ...] = ()
    packs: tuple[PackPin, ...] = ()
    ceilings: Mapping[str, int] = field(default_factory=dict)
    intent: IntentView | None = None
    budget: Budget = field(default_factory=lambda: Budget(BudgetLimits()))

    def __post_init__(self) -> None:
        if self.turn < 1 or self.epoch < 1:
            raise ValueError("turn and epoch of a RunContext count from 1")
