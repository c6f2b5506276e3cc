"""Approvals: who is asked for what, and deciding it."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from turnkeeper.errors import (
    ApprovalDecided,
    ApprovalNotFound,
    MayNotDecide,
    RunNotWaiting,
    SessionClosed,
    SessionExpired,
    SessionNotFound,
    TurnkeeperError,
)
from turnkeeper.model.approval import BY_POLICY, Approval, ApprovalStatus, Decision
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.envelope import Command, OnMissing
from turnkeeper.model.ids import ApprovalId, SessionId, Subject, is_id
from turnkeeper.model.layer import LayerStatus
from turnkeeper.model.principal import LOCAL, Principal, Role
from turnkeeper.model.session import Session
from turnkeeper.ports.approvals import ApprovalStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.feed import Wakes
from turnkeeper.scope.directory import Directory
from turnkeeper.steps.receive import Inbound

log = logging.getLogger(__name__)


class SessionOf(Protocol):
    async def __call__(self, session_id: str, *, principal: Principal) -> Session: ...


class AuditOf(Protocol):
    def __call__(
        self, command: Command, principal: Principal, trace_id: str | None, **ids: str | None
    ) -> AuditFacts: ...


class Approvals:
    def __init__(
        self,
        store: ApprovalStore,
        wakes: Wakes,
        clock: Clock,
        *,
        directory: Directory,
        session_of: SessionOf,
        accept: Callable[..., Awaitable[object]],
        audit: AuditOf,
    ) -> None:
        self._store, self._wakes, self._clock, self._directory = store, wakes, clock, directory
        self._session_of, self._accept, self._audit = session_of, accept, audit

    async def get(self, approval_id: str, *, principal: Principal = LOCAL) -> Approval:
        """Raises ApprovalNotFound, also when its session belongs to somebody else."""
        if not is_id(approval_id):
            raise ApprovalNotFound(ApprovalId(approval_id))
        approval = await self._store.get(principal.tenant, ApprovalId(approval_id))
        try:
            await self._session_of(approval.session_id, principal=principal)
        except SessionNotFound:
            raise ApprovalNotFound(approval.id) from None
        return approval

    async def list(
        self,
        *,
        principal: Principal = LOCAL,
        session_id: str | None = None,
        status: ApprovalStatus | str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Sequence[Approval]:
        """Newest first: those of one's own sessions, or of the whole tenant for its owner and admins."""
        return await self._store.list(
            principal.tenant,
            owner=None if principal.sees_whole_tenant else principal.user,
            session_id=None if session_id is None else SessionId(session_id),
            status=None if status is None else ApprovalStatus(status),
            before=None if before is None else ApprovalId(before),
            limit=limit,
        )

    async def decide(
        self,
        approval_id: str,
        *,
        approve: bool,
        reason: str | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> Approval:
        """Decide it, and wake the run that waits for it, in one write. Deciding the same twice does no harm.

        Raises ApprovalNotFound, MayNotDecide, or ApprovalDecided when it was decided otherwise.
        """
        approval = await self.get(approval_id, principal=principal)
        if not approval.is_decided_by(principal):
            raise MayNotDecide(approval.id, approval.required_role)
        status = ApprovalStatus.APPROVED if approve else ApprovalStatus.REJECTED
        decision = Decision(
            approval_id=approval.id, status=status, by=principal.user, at=self._clock.now(), reason=reason
        )
        try:
            await self._settle(approval, decision, principal, trace_id)
        except ApprovalDecided:
            decided = await self._store.get(approval.tenant, approval.id)
            if decided.status is not status:
                raise
        return await self._store.get(approval.tenant, approval.id)

    async def settle_what_is_due(self) -> int:
        """Do what each rule says about approvals that nobody decided in time; done every few seconds, on every node."""
        settled = 0
        async for approval in self._store.due(at=self._clock.now()):
            tenant = await self._directory.tenant(approval.tenant)
            if tenant is not None and tenant.status is not LayerStatus.ACTIVE:
                # It waits until its tenant may act again.
                continue
            try:
                settled += await self._settle_late(approval)
            except TurnkeeperError as error:
                # The next one is none the worse for it.
                log.warning("approval not settled", extra={"approval_id": approval.id, "code": error.code})
        return settled

    async def _settle_late(self, approval: Approval) -> bool:
        after = approval.after_its_time(self._clock.now())
        if isinstance(after, Approval):
            assert approval.due_at is not None, "what is due has a time"
            escalated = await self._store.escalate(after, from_due=approval.due_at)
            self._wakes.tell(approval.tenant, Subject(approval.session_id))
            return escalated
        by_policy = Principal(tenant=approval.tenant, user=BY_POLICY, role=Role.OWNER)
        try:
            await self._settle(approval, after, by_policy, None)
        except (ApprovalDecided, SessionClosed, SessionExpired):
            return False
        return True

    async def _settle(self, approval: Approval, decision: Decision, principal: Principal, trace_id: str | None) -> None:
        if approval.status is not ApprovalStatus.PENDING:
            raise ApprovalDecided(approval.id, approval.status)
        if not approval.holds_its_run:
            ids = {"session_id": approval.session_id, "approval_id": approval.id, "decision": decision.status.value}
            audit = self._audit(Command.DECIDE_APPROVAL, principal, trace_id, **ids)
            await self._store.decide(approval.tenant, decision, audit)
            self._wakes.tell(approval.tenant, Subject(approval.session_id))
            return
        inbound = Inbound(
            message=decision.answer,
            session_id=approval.session_id,
            answers=approval.run_id,
            decision=decision,
            on_missing=OnMissing.ERROR,
            trace_id=trace_id,
        )
        about = {"approval_id": approval.id, "decision": decision.status.value}
        try:
            await self._accept(inbound, principal, verb=Command.DECIDE_APPROVAL.value, about=about)
        except RunNotWaiting:
            # Somebody else was faster, or the run was ended.
            now = await self._store.get(approval.tenant, approval.id)
            raise ApprovalDecided(approval.id, now.status) from None
