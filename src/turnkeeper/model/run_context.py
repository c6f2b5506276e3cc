"""What is true at the start of a run; immutable but for its budget."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnkeeper.model.budget import Budget, BudgetLimits
from turnkeeper.model.definition import ModelTraits
from turnkeeper.model.dialogue import IntentView
from turnkeeper.model.ids import AgentId, RunId, SessionId, TenantId, TraceId, UserId
from turnkeeper.model.message import Message
from turnkeeper.model.mode import Mode
from turnkeeper.model.mount import Mount
from turnkeeper.model.pack import PackPin
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.scope import NOTHING_INHERITED, Context
from turnkeeper.model.session import Custody


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """`explicit` is what this request chose, `preferred` what the session would rather use.

    `ceilings` are how far its packs let one run go, by name. `grants` are what its caller holds here; None means every
    one. `safety_mode` comes from policy. `claims` are what the caller said of its user and its agent, none of it
    believed beyond what its token proves. `warnings` name what was odd about the request. `plan_by` is until when the
    caller gives the agent to make its plan. `mounts` are those that hold now, `inherited` what the layers above the
    session say, by the name of `context_sha256`, and `model_profile` what they say of the model.
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
    inherited: Context = NOTHING_INHERITED
    context_sha256: str | None = None
    model_profile: ModelTraits | None = None
    packs: tuple[PackPin, ...] = ()
    ceilings: Mapping[str, int] = field(default_factory=dict)
    intent: IntentView | None = None
    grants: tuple[str, ...] | None = None
    safety_mode: SafetyMode = SafetyMode.READ_ONLY
    mode: Mode = Mode.BATCH
    custody: Custody = Custody.ENGINE
    channel: str = "app_chat"
    locale: str | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    prompt_tokens: int = 8_000
    plan_by: datetime | None = None
    budget: Budget = field(default_factory=lambda: Budget(BudgetLimits()))

    def __post_init__(self) -> None:
        if self.turn < 1 or self.epoch < 1:
            raise ValueError("turn and epoch of a RunContext count from 1")

    def document(self) -> dict[str, Any]:
        """The published shape, as other services are told of this run."""
        user = {**self.claims.get("user", {}), "user_id": self.user}
        if "delegation" in user:
            user["delegation"] = {**user["delegation"], "scopes": list(self.grants or ())}
        agent = {**self.claims.get("agent", {}), "agent_id": self.agent}
        agent.setdefault(
            "principal_chain",
            [
                {"kind": "user", "id": self.user, "tenant_id": self.tenant},
                {"kind": "agent", "id": self.agent, "tenant_id": self.tenant},
            ],
        )
        told: dict[str, Any] = {
            "run_id": self.run_id,
            "trace_id": self.trace_id,
            "session_id": self.session_id,
            "tenant_id": self.tenant,
            "user": user,
            "agent": agent,
            "safety_mode": self.safety_mode.value,
            "run_budget": {"limits": dict(self.budget.most), "used": dict(self.budget.used)},
        }
        return told if self.intent is None else told | {"intent": self.intent.code}
