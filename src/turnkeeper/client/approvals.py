"""What people are asked to allow, at a distance."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part
from turnkeeper.client.shapes import read
from turnkeeper.model.approval import ApprovalStatus
from turnkeeper.model.gate import GateRule
from turnkeeper.model.ids import ApprovalId, RunId, SessionId, UserId
from turnkeeper.model.principal import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    id: ApprovalId
    run_id: RunId
    session_id: SessionId
    action: str
    rule: GateRule
    required_role: Role
    context: Mapping[str, Any]
    status: ApprovalStatus
    requested_at: datetime
    due_at: datetime | None
    decided_at: datetime | None
    decided_by: UserId | None
    reason: str | None


class Approvals(Part):
    async def list(
        self,
        *,
        session_id: str | None = None,
        status: ApprovalStatus | str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Page[Approval]:
        """Newest first: those of one's own sessions, or of the whole tenant for its owner and admins."""
        return await self._page(
            _approval_of, "approvals", cursor=before, limit=limit, session_id=session_id, status=status
        )

    async def get(self, approval_id: str) -> Approval:
        """Raises ApprovalNotFound, also when its session belongs to somebody else."""
        return _approval_of(await self._ask("GET", "approvals", approval_id))

    async def decide(self, approval_id: str, *, approve: bool, reason: str | None = None) -> Approval:
        """Decide it, and wake the run that waits for it. Deciding the same twice does no harm."""
        body = {"decision": "approve" if approve else "reject", "reason": reason}
        return _approval_of(await self._ask("POST", "approvals", approval_id, "decide", body=body))


def _approval_of(told: Mapping[str, Any]) -> Approval:
    rule = told["rule"]
    named = {"kind": rule["gate"], "timeout_action": rule["on_timeout"], "timeout_hours": rule["hours"]}
    return read({**told, "rule": {**rule, **named}}, Approval)
