"""What we ask of a database about approvals.

The one that a run waits for is kept with its checkpoint and decided with the answer that wakes the run: see
`RunStore.suspend` and `Intake.decision`.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Protocol

from turnkeeper.model.approval import Approval, ApprovalStatus, Decision
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import ApprovalId, SessionId, TenantId, UserId
from turnkeeper.model.lease import Lease


class ApprovalStore(Protocol):
    async def request(self, lease: Lease, approval: Approval) -> None:
        """Keep an approval that its run does not wait for, and tell of it in the feed. Raises LeaseLost."""

    async def get(self, tenant: TenantId, approval_id: ApprovalId) -> Approval:
        """Raises ApprovalNotFound, also for one of another tenant."""

    async def list(
        self,
        tenant: TenantId,
        *,
        owner: UserId | None,
        session_id: SessionId | None,
        status: ApprovalStatus | None,
        before: ApprovalId | None,
        limit: int,
    ) -> Sequence[Approval]:
        """Newest first, of the sessions of one owner or of the whole tenant."""

    async def decide(self, tenant: TenantId, decision: Decision, audit: AuditFacts) -> Approval:
        """Decide one that no run waits for. Raises ApprovalNotFound or ApprovalDecided."""

    async def escalate(self, approval: Approval, *, from_due: datetime) -> bool:
        """Ask the same of a higher role and until later; False when it has been decided or escalated meanwhile."""

    def due(self, *, at: datetime) -> AsyncIterator[Approval]:
        """Pending ones whose time is over, of every tenant."""
