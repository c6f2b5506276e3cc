"""Approvals to rows and back, the same for every backend."""

import msgspec

from turnkeeper.model.approval import Approval, ApprovalStatus, Decision
from turnkeeper.model.gate import GateRule
from turnkeeper.model.ids import ApprovalId, RunId, SessionId, TenantId, UserId
from turnkeeper.model.principal import Role
from turnkeeper.stores.rows import Params, Row, from_json, json_text, micros, moment

_decode_rule = msgspec.json.Decoder(GateRule).decode

AT_ONCE = 200


def approval_params(approval: Approval) -> Params:
    return {
        "tenant": approval.tenant,
        "id": approval.id,
        "run_id": approval.run_id,
        "session_id": approval.session_id,
        "action": approval.action,
        "gate": json_text(approval.rule),
        "required_role": approval.required_role.value,
        "data": json_text(approval.context),
        "status": approval.status.value,
        "requested_at": micros(approval.requested_at),
        "due_at": None if approval.due_at is None else micros(approval.due_at),
    }


def decision_params(tenant: TenantId, decision: Decision) -> Params:
    return {
        "tenant": tenant,
        "id": decision.approval_id,
        "status": decision.status.value,
        "by": decision.by,
        "reason": decision.reason,
        "now": micros(decision.at),
    }


def approval_of(row: Row) -> Approval:
    return Approval(
        tenant=TenantId(row["tenant"]),
        id=ApprovalId(row["id"]),
        run_id=RunId(row["run_id"]),
        session_id=SessionId(row["session_id"]),
        action=row["action"],
        rule=_decode_rule(row["gate"]),
        required_role=Role(row["required_role"]),
        context=from_json(row["data"]),
        status=ApprovalStatus(row["status"]),
        requested_at=moment(row["requested_at"]),
        due_at=None if row["due_at"] is None else moment(row["due_at"]),
        decided_at=None if row["decided_at"] is None else moment(row["decided_at"]),
        decided_by=None if row["decided_by"] is None else UserId(row["decided_by"]),
        reason=row["reason"],
    )
