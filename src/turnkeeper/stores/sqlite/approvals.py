"""Approvals in a SQLite file."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from turnkeeper.errors import ApprovalDecided, ApprovalNotFound, LeaseLost
from turnkeeper.model.approval import Approval, ApprovalStatus, Decision
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import ApprovalId, SessionId, Subject, TenantId, UserId
from turnkeeper.model.lease import Lease
from turnkeeper.stores import rows
from turnkeeper.stores.approvals import AT_ONCE, approval_of, approval_params, decision_params
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.stores.sqlite.endings import append_feed


class SqliteApprovals:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def request(self, lease: Lease, approval: Approval) -> None:
        await self._database.write("request_approval", lambda tx: self._request(tx, lease, approval))

    def _request(self, tx: Tx, lease: Lease, approval: Approval) -> None:
        held = tx.execute(sql.hold_lease, rows.lease_params(lease)).fetchall()
        if not held:
            raise LeaseLost(lease.run_id)
        tx.execute(sql.insert_approval, approval_params(approval))
        no, at = held[0]["last_feed_no"], approval.requested_at
        type = FeedType.APPROVAL_REQUESTED
        said = rows.feed_params(lease.tenant, lease.subject, no, type, lease.run_id, at, approval.told)
        tx.execute(sql.append_feed, said)

    async def get(self, tenant: TenantId, approval_id: ApprovalId) -> Approval:
        found = self._database.read(sql.get_approval, {"tenant": tenant, "id": approval_id})
        if not found:
            raise ApprovalNotFound(approval_id)
        return approval_of(found[0])

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
        wanted = {
            "tenant": tenant,
            "owner": owner,
            "session_id": session_id,
            "status": status and status.value,
            "before": before or "~",
            "limit": limit,
        }
        query = sql.list_pending_approvals if status is ApprovalStatus.PENDING else sql.list_approvals
        return [approval_of(row) for row in self._database.read(query, wanted)]

    async def decide(self, tenant: TenantId, decision: Decision, audit: AuditFacts) -> Approval:
        return await self._database.write("decide_approval", lambda tx: self._decide(tx, tenant, decision, audit))

    def _decide(self, tx: Tx, tenant: TenantId, decision: Decision, audit: AuditFacts) -> Approval:
        approval = decide_in(tx, tenant, decision)
        self._audit.append(tx, audit)
        return approval

    async def escalate(self, approval: Approval, *, from_due: datetime) -> bool:
        return await self._database.write("escalate_approval", lambda tx: self._escalate(tx, approval, from_due))

    def _escalate(self, tx: Tx, approval: Approval, from_due: datetime) -> bool:
        place = approval_params(approval) | {"from_due": rows.micros(from_due)}
        if not tx.execute(sql.escalate_approval, place).fetchall():
            return False
        subject, at = Subject(approval.session_id), from_due
        append_feed(tx, approval.tenant, subject, FeedType.APPROVAL_REQUESTED, approval.run_id, at, approval.told)
        return True

    async def due(self, *, at: datetime) -> AsyncIterator[Approval]:
        place = {"now": rows.micros(at), "tenant": "", "id": "", "limit": AT_ONCE}
        while page := self._database.read(sql.due_approvals, place):
            for row in page:
                yield approval_of(row)
            place |= {"tenant": page[-1]["tenant"], "id": page[-1]["id"]}
            await asyncio.sleep(0)


def decide_in(tx: Tx, tenant: TenantId, decision: Decision) -> Approval:
    """Decide it and tell of it, in a transaction that may do more. Raises ApprovalNotFound or ApprovalDecided."""
    place = {"tenant": tenant, "id": decision.approval_id}
    found = tx.execute(sql.get_approval, place).fetchone()
    if found is None:
        raise ApprovalNotFound(decision.approval_id)
    approval = approval_of(found)
    if approval.status is not ApprovalStatus.PENDING:
        raise ApprovalDecided(approval.id, approval.status)
    tx.execute(sql.decide_approval, decision_params(tenant, decision))
    subject, type = Subject(approval.session_id), FeedType.APPROVAL_DECIDED
    append_feed(tx, tenant, subject, type, approval.run_id, decision.at, decision.told)
    return approval.decided(decision)
