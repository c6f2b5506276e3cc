"""Approvals and tools as they travel over HTTP."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from turnkeeper.model.approval import Approval
from turnkeeper.model.tool import ToolSpec
from turnkeeper.server.wire import Inbound, Outbound, PlainText


class DecisionIn(Inbound):
    decision: Literal["approve", "reject"]
    reason: Annotated[PlainText, Field(min_length=1, max_length=2000)] | None = None


class GateOut(Outbound):
    """The rule that asks for it."""

    action: str
    gate: str
    required_role: str
    on_timeout: str
    hours: float


class ApprovalOut(Outbound):
    """`context` is what one needs to decide: the tool, its arguments, the resources, the risk."""

    id: str
    session_id: str
    run_id: str
    action: str
    status: str
    required_role: str
    rule: GateOut
    context: dict[str, Any]
    requested_at: datetime
    due_at: datetime | None
    decided_at: datetime | None
    decided_by: str | None
    reason: str | None

    @classmethod
    def of(cls, approval: Approval) -> "ApprovalOut":
        rule = approval.rule
        return cls(
            id=approval.id,
            session_id=approval.session_id,
            run_id=approval.run_id,
            action=approval.action,
            status=approval.status.value,
            required_role=approval.required_role.value,
            rule=GateOut(
                action=rule.action,
                gate=rule.kind.value,
                required_role=rule.required_role.value,
                on_timeout=rule.timeout_action.value,
                hours=rule.timeout_hours,
            ),
            context=dict(approval.context),
            requested_at=approval.requested_at,
            due_at=approval.due_at,
            decided_at=approval.decided_at,
            decided_by=approval.decided_by,
            reason=approval.reason,
        )


class ToolOut(Outbound):
    """A tool that the session permits; `gate` says whether a person is asked before it is called."""

    name: str
    description: str
    parameters: dict[str, Any]
    action: str
    safety_mode: str
    gate: str

    @classmethod
    def of(cls, spec: ToolSpec) -> "ToolOut":
        return cls(
            name=spec.name,
            description=spec.description,
            parameters=dict(spec.parameters),
            action=spec.action,
            safety_mode=spec.safety_mode.value,
            gate=spec.gate.value,
        )
