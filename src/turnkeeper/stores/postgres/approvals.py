"""Approvals in a PostgreSQL database."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from turnkeeper.errors import ApprovalDecided, ApprovalNotFound, LeaseLost
from turnkeeper.model.approval import Approval, ApprovalStatus, Decision
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import ApprovalId, SessionId, Subject, TenantId, UserId
from turnkeeper.model.lease import Lease
from turnkeeper.stores import rows
from turnkeeper.stores.approvals import AT_ONCE, approval_of, approval_params, decision_params
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Tx, sql
from turnkeeper.stores.postgres.endings import append_feed


class PostgresApprovals:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def request(self, lease: Lease, approval: Approval) -> None:
        await self._database.finish(self._request(lease, approval))

    async def _request(self, lease: Lease, approval: Approval) -> None:
        async with self._database.transaction("request_approval") as tx:
            held = await tx.one(sql.hold_lease, rows.lease_params(lease))
            if held is None:
                raise LeaseLost(lease.run_id)
            await tx.run(sql.insert_approval, approval_params(approval))
            no, at = held["last_feed_no"], approval.requested_at
            type = FeedType.APPROVAL_REQUESTED
            said = rows.feed_params(lease.tenant, lease.subject, no, type, lease.run_id, at, approval.told)
            await tx.run(sql.append_feed, said)

    async def get(self, tenant: TenantId, approval_id: ApprovalId) -> Approval:
        found = await self._database.read(sql.get_approval, {"tenant": tenant, "id": approval_id})
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
        return [approval_of(row) for row in await self._database.read(query, wanted)]

    async def decide(self, tenant: TenantId, decision: Decision, audit: AuditFacts) -> Approval:
        decided = await self._database.finish(
            self._audit.append(audit, lambda entry: self._decide(tenant, decision, entry))
        )
        assert decided is not None
        return decided

    async def _decide(self, tenant: TenantId, decision: Decision, entry: AuditEntry) -> Approval:
        async with self._database.transaction("decide_approval") as tx:
            approval = await decide_in(tx, tenant, decision)
            await tx.run(sql.append_audit, entry_params(entry))
            return approval

    async def escalate(self, approval: Approval, *, from_due: datetime) -> bool:
        return await self._database.finish(self._escalate(approval, from_due))

    async def _escalate(self, approval: Approval, from_due: datetime) -> bool:
        place = approval_params(approval) | {"from_due": rows.micros(from_due)}
        async with self._database.transaction("escalate_approval") as tx:
            subject, at = Subject(approval.session_id), from_due
            await tx.run(sql.lock_lease, {"tenant": approval.tenant, "subject": subject})
            if not await tx.run(sql.escalate_approval, place):
                return False
            type = FeedType.APPROVAL_REQUESTED
            await append_feed(tx, approval.tenant, subject, type, approval.run_id, at, approval.told)
            return True

    async def due(self, *, at: datetime) -> AsyncIterator[Approval]:
        place = {"now": rows.micros(at), "tenant": "", "id": "", "limit": AT_ONCE}
        while page := await self._database.read(sql.due_approvals, place):
            for row in page:
                yield approval_of(row)
            place |= {"tenant": page[-1]["tenant"], "id": page[-1]["id"]}


async def decide_in(tx: Tx, tenant: TenantId, decision: Decision) -> Approval:
    """Decide it and tell of it, in a transaction that may do more. Raises ApprovalNotFound or ApprovalDecided."""
    place = {"tenant": tenant, "id": decision.approval_id}
    found = await tx.one(sql.get_approval, place)
    if found is None:
        raise ApprovalNotFound(decision.approval_id)
    subject, type = Subject(found["session_id"]), FeedType.APPROVAL_DECIDED
    # Whoever decides first has the lock of the session; who comes second sees it decided.
    await tx.run(sql.lock_lease, {"tenant": tenant, "subject": subject})
    approval = approval_of((await tx.run(sql.get_approval, place))[0])
    if approval.status is not ApprovalStatus.PENDING:
        raise ApprovalDecided(approval.id, approval.status)
    await tx.run(sql.decide_approval, decision_params(tenant, decision))
    await append_feed(tx, tenant, subject, type, approval.run_id, decision.at, decision.told)
    return approval.decided(decision)
