"""What a person is asked to allow before a run goes on, or to look at after it did."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.gate import GateKind, GateRule, TimeoutAction, higher, may_decide
from turnkeeper.model.ids import ApprovalId, RunId, SessionId, TenantId, UserId
from turnkeeper.model.principal import Principal, Role

BY_POLICY = UserId("-")
"""Who decided when time did."""


class ApprovalStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalWish:
    """An approval that a run asks for. `key` names the action in its run, the same in every walk through the agent."""

    id: ApprovalId
    key: str
    action: str
    rule: GateRule
    context: Mapping[str, Any]
    requested_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided about an approval, by whom and when."""

    approval_id: ApprovalId
    status: ApprovalStatus
    by: UserId
    at: datetime
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.status in (ApprovalStatus.PENDING, ApprovalStatus.CANCELLED):
            raise ValueError("a Decision approves, rejects or lets expire")

    @property
    def answer(self) -> str:
        """What the waiting run is told."""
        return self.status.value

    @property
    def told(self) -> dict[str, Any]:
        """As it stands in the feed."""
        return {"approval_id": self.approval_id, "status": self.status.value, "by": self.by}


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """`context` is what the person needs to decide: a summary, the arguments, the resources, the risk."""

    tenant: TenantId
    id: ApprovalId
    run_id: RunId
    session_id: SessionId
    action: str
    rule: GateRule
    required_role: Role
    context: Mapping[str, Any] = field(default_factory=dict)
    status: ApprovalStatus = ApprovalStatus.PENDING
    requested_at: datetime
    due_at: datetime | None = None
    decided_at: datetime | None = None
    decided_by: UserId | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if (self.status is ApprovalStatus.PENDING) != (self.decided_at is None):
            raise ValueError("an Approval is decided exactly when it is no longer pending")

    @classmethod
    def wished(cls, wish: ApprovalWish, tenant: TenantId, run_id: RunId, session_id: SessionId) -> "Approval":
        return cls(
            tenant=tenant,
            id=wish.id,
            run_id=run_id,
            session_id=session_id,
            action=wish.action,
            rule=wish.rule,
            required_role=wish.rule.required_role,
            context=wish.context,
            requested_at=wish.requested_at,
            due_at=wish.requested_at + wish.rule.timeout,
        )

    @property
    def holds_its_run(self) -> bool:
        """Whether the run waits for it; a review is looked at while the run goes on."""
        return self.rule.kind is GateKind.APPROVE

    @property
    def told(self) -> dict[str, Any]:
        """As it stands in the feed: never what the arguments say."""
        return {
            "approval_id": self.id,
            "action": self.action,
            "gate": self.rule.kind.value,
            "required_role": self.required_role.value,
            "due_at": None if self.due_at is None else self.due_at.isoformat(),
        }

    def is_decided_by(self, principal: Principal) -> bool:
        return self.tenant == principal.tenant and may_decide(principal.role, self.required_role)

    def after_its_time(self, at: datetime) -> "Approval | Decision":
        """What becomes of it when nobody has decided: a decision, or the same asked of a higher role."""
        above = higher(self.required_role)
        if self.rule.timeout_action is TimeoutAction.ESCALATE and above is not None:
            return replace(self, required_role=above, due_at=at + self.rule.timeout)
        passes = self.rule.timeout_action is TimeoutAction.AUTO_APPROVE
        status = ApprovalStatus.APPROVED if passes else ApprovalStatus.EXPIRED
        return Decision(approval_id=self.id, status=status, by=BY_POLICY, at=at, reason="nobody decided in time")

    def decided(self, decision: Decision) -> "Approval":
        return replace(
            self, status=decision.status, decided_at=decision.at, decided_by=decision.by, reason=decision.reason
        )
