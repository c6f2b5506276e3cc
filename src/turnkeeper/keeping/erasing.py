"""Erasing sessions and users everywhere, with a receipt; what is past its time goes the same way."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from turnkeeper.errors import (
    AgentMemoryUnavailable,
    NotAllowed,
    ReceiptNotFound,
    ScopeDenied,
    SessionNotFound,
    StoreUnavailable,
    UserNotFound,
)
from turnkeeper.keeping.exporting import check_is_known, names_in
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.blob import Blob
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import ReceiptId, SessionId, Subject, TenantId, UserId, is_id
from turnkeeper.model.policy import Policy
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.receipt import BY_THE_HOUSE, ErasureReason, Receipt
from turnkeeper.model.session import Session
from turnkeeper.model.thread import ThreadName
from turnkeeper.model.tool import Denial
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.erasure import Doomed, Named, OverSession, Place, Terms
from turnkeeper.ports.store import Store
from turnkeeper.ports.threads import Threads
from turnkeeper.scope.directory import Directory

log = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 0.02
LOOK_BACK = timedelta(days=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasing:
    """What runs is stopped first. Then all rows go in one transaction with the receipt; files and threads, which are
    outside of the database, go after it, and again whenever the house looks back, until nothing is left.
    """

    store: Store
    clock: Clock
    policy: Policy
    directory: Directory
    stop_seconds: float
    threads: Callable[[], Threads | None]
    session_of: Callable[..., Awaitable[Session]]
    stop_runs: Callable[[Session], Awaitable[None]]
    audit: Callable[..., AuditFacts]
    forget_device: Callable[[TenantId, UserId], None]

    async def session(self, session_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> Receipt:
        """For its owner, and for owner and admin of the tenant. Raises SessionNotFound or NotAllowed."""
        session = await self.session_of(session_id, principal=principal)
        _check_may_erase(principal)
        doomed = Doomed(tenant=session.tenant, owner=session.owner, places=[(session.id, Subject(session.id))])
        audit = self.audit(Command.ERASE, principal, trace_id, session_id=session.id)
        return await self._erase(doomed, ErasureReason.ASKED, principal.holder, audit)

    async def user(self, user: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> Receipt:
        """For the user itself, and for owner and admin of its tenant. Raises UserNotFound, NotAllowed or LastOwner."""
        if not is_id(user) or not (user == principal.user or principal.sees_whole_tenant):
            raise UserNotFound(user)
        _check_may_erase(principal)
        id = UserId(user)
        known = await self.store.users.find(principal.tenant, id)
        if known is not None and known.role.rank > principal.role.rank and id != principal.user:
            raise NotAllowed(f"Who is {principal.role} erases nobody above that. Ask an owner.")
        if id != principal.user:
            await check_is_known(self.store, principal.tenant, id)
        places, carried = await self.store.erasure.of_user(principal.tenant, id)
        doomed = Doomed(
            tenant=principal.tenant,
            owner=id,
            places=places,
            carried=carried,
            user=id,
            pseudonym=self.clock.new_id("erased"),
        )
        audit = self.audit(Command.ERASE, principal, trace_id, erased=user)
        receipt = await self._erase(doomed, ErasureReason.ASKED, principal.holder, audit)
        self.directory.forget(principal.tenant)
        self.forget_device(principal.tenant, id)
        return receipt

    async def retain(self) -> int:
        """Erase the sessions that are over for longer than the class of their data is kept; says how many."""
        now, erased = self.clock.now(), 0
        keep = {each: band.keep_seconds for each, band in self.policy.bands.items() if band.keep_seconds is not None}
        if not keep:
            return 0
        past = [
            session
            async for session in self.store.retention.over(before=now - timedelta(seconds=min(keep.values())))
            if session.classification in keep
            and session.closed_at + timedelta(seconds=keep[session.classification]) <= now
        ]
        for each in past:
            try:
                erased += await self._erase_past(each)
            except StoreUnavailable:
                raise
            except Exception as error:
                # One that cannot be erased does not keep the others.
                log.error("session not erased", extra={"session_id": each.id, "kind": type(error).__name__})
        return erased

    async def _erase_past(self, over: OverSession) -> bool:
        try:
            session = await self.store.sessions.get(over.tenant, over.id)
            doomed = Doomed(tenant=session.tenant, owner=session.owner, places=[(session.id, Subject(session.id))])
            facts = {"session_id": session.id, "reason": ErasureReason.RETENTION.value}
            audit = AuditFacts(tenant=over.tenant, at=self.clock.now(), verb="erase", outcome="erased", facts=facts)
            await self._erase(doomed, ErasureReason.RETENTION, BY_THE_HOUSE, audit)
        except SessionNotFound:
            return False  # Another node was first.
        return True

    async def finish(self) -> int:
        """Clear away what lies outside of the database and was left by a process that died; says how many threads."""
        threads, gone, found = self.threads(), 0, False
        async for receipt in self.store.erasure.since(self.clock.now() - LOOK_BACK):
            found = True
            if threads is not None:
                gone += await self._forget_threads(threads, receipt.tenant, receipt.erased.sessions)
        if found:
            await self._scrub(threads)
        return gone

    async def receipt(self, receipt_id: str, *, principal: Principal = LOCAL) -> Receipt:
        """For owner and admin. Raises ReceiptNotFound."""
        _check_sees_receipts(principal)
        if not is_id(receipt_id):
            raise ReceiptNotFound(ReceiptId(receipt_id))
        return await self.store.erasure.receipt(principal.tenant, ReceiptId(receipt_id))

    async def receipts(
        self, *, principal: Principal = LOCAL, before: str | None = None, limit: int = 50
    ) -> Sequence[Receipt]:
        """Newest first; for owner and admin."""
        _check_sees_receipts(principal)
        at = None if before is None else ReceiptId(before)
        return await self.store.erasure.receipts(principal.tenant, before=at, limit=limit)

    # --- inside

    async def _erase(self, doomed: Doomed, reason: ErasureReason, by: UserId, audit: AuditFacts) -> Receipt:
        for session_id in doomed.sessions:
            await self._stop(doomed.tenant, session_id)
        threads = self.threads()
        known = 0
        if threads is not None:
            known = len(await self._threads_of(threads, doomed.tenant, (*doomed.places, *doomed.carried), doomed.user))
        terms = Terms(
            receipt_id=ReceiptId(self.clock.new_id("rcpt")),
            reason=reason,
            threads=known,
            erased_by=by,
            at=self.clock.now(),
            audit=audit,
        )
        receipt, blobs = await self.store.erasure.erase(doomed, await self._named(doomed), terms)
        await self._clear_away(doomed, threads, blobs)
        log.info("erased", extra={"receipt": receipt.id, "kind": receipt.kind.value, "reason": reason.value})
        return receipt

    async def _stop(self, tenant: TenantId, session_id: SessionId) -> None:
        """Ask what runs to end, and give it a moment to do so: then whoever waits for it is told."""
        with suppress(SessionNotFound, TimeoutError):
            session = await self.store.sessions.get(tenant, session_id)
            await self.stop_runs(session)
            async with asyncio.timeout(self.stop_seconds):
                while await self._is_running(tenant, session_id):  # noqa: ASYNC110 (it may run on another node)
                    await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def _is_running(self, tenant: TenantId, session_id: SessionId) -> bool:
        newest = await self.store.runs.list(tenant, session_id, before=None, limit=1)
        return bool(newest) and newest[0].status.is_open

    async def _named(self, doomed: Doomed) -> Named:
        """What it names, and what of that is named by others; the latter is read as a collection reads it."""
        since = self.clock.now()
        names: set[str] = set()
        async for text in self.store.erasure.named_in(doomed):
            names |= names_in(text)
        elsewhere: set[str] = set()
        without = frozenset((*doomed.sessions, *(session_id for session_id, _ in doomed.carried)))
        async for text in self.store.collection.mentions(doomed.tenant, without=without):
            elsewhere |= names & names_in(text)
        ids = frozenset(name for name in names if name.startswith("art_"))
        return Named(ids=ids, hashes=frozenset(names - ids), elsewhere=frozenset(elsewhere), since=since)

    async def _clear_away(self, doomed: Doomed, threads: Threads | None, blobs: Sequence[Blob]) -> None:
        for place in (*doomed.places, *doomed.carried):
            self.store.wakes.tell(doomed.tenant, place[1])
        try:
            await self.store.blobs.drop(blobs)
            if threads is not None:
                for thread in await self._threads_of(
                    threads, doomed.tenant, (*doomed.places, *doomed.carried), doomed.user
                ):
                    await threads.forget_thread(thread)
            await self._scrub(threads)
        except (StoreUnavailable, AgentMemoryUnavailable):
            # The rows are gone; what is left outside is found by `finish`, and by whoever collects files.
            log.warning("erasure to be finished later", extra={"sessions": len(doomed.places)})

    async def _threads_of(
        self, threads: Threads, tenant: TenantId, places: Sequence[Place], user: UserId | None
    ) -> list[str]:
        """Those of these sessions; where a client keeps one, only those of this user."""
        found: list[str] = []
        for session_id, subject in places:
            for thread in await threads.threads_of(tenant, session_id):
                name = ThreadName.of(thread)
                if name is not None and name.user == (None if str(session_id) == subject else user):
                    found.append(thread)
        return found

    async def _forget_threads(self, threads: Threads, tenant: TenantId, sessions: Sequence[SessionId]) -> int:
        gone = 0
        for session_id in sessions:
            for thread in await self._threads_of(threads, tenant, [(session_id, Subject(session_id))], None):
                await threads.forget_thread(thread)
                gone += 1
        return gone

    async def _scrub(self, threads: Threads | None) -> None:
        await self.store.erasure.scrub()
        if threads is not None:
            await threads.scrub()


def _check_may_erase(principal: Principal) -> None:
    if principal.session_id is not None:
        raise ScopeDenied(Denial.POLICY_DENIED)
    if not principal.may_write:
        raise NotAllowed("A viewer erases nothing. Ask an owner or admin of the tenant.")


def _check_sees_receipts(principal: Principal) -> None:
    if not principal.sees_whole_tenant:
        raise NotAllowed("Only owner and admin of a tenant look at its receipts. Ask one of them.")
