"""Sessions in a PostgreSQL database."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from datetime import datetime

import asyncpg

from turnkeeper.errors import DuplicateRequest, InvalidTransition, QuotaExceeded, SessionNotFound, VersionMoved
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.feed import FeedEntry, FeedType
from turnkeeper.model.ids import SessionId, Subject, TenantId, UserId
from turnkeeper.model.layer import Quota
from turnkeeper.model.message import Message
from turnkeeper.model.session import EXPIRY, Conversation, Past, Session, SettingsChange
from turnkeeper.model.turn import Turn
from turnkeeper.ports.runs import RequestKey
from turnkeeper.ports.sessions import OPENING_CHARS, Found, SessionOrder, Sought
from turnkeeper.stores import rows
from turnkeeper.stores.intake import refuse_unless_idle
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Row, Tx, sql
from turnkeeper.stores.postgres.endings import append_feed, cancel_approvals_of_session, cancel_waiting_runs
from turnkeeper.stores.postgres.histories import messages_after, newest_messages
from turnkeeper.stores.postgres.manifests import hold_mounted
from turnkeeper.stores.postgres.units import change_units
from turnkeeper.stores.sessions import (
    Seeking,
    created_request_params,
    current_params,
    living_params,
    pinned_anew,
    sought_params,
)
from turnkeeper.stores.substrate import contents_mounted


class PostgresSessions:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(
        self,
        session: Session,
        audit: AuditFacts,
        *,
        continued: Turn | None = None,
        request: RequestKey | None = None,
        is_current: bool = False,
        most: int | None = None,
    ) -> Session:
        if request is None and not is_current and most is None and not pinned_anew(session):
            plain = self._audit.append(audit, lambda entry: self._create(session, entry, continued))
            await self._database.finish(plain)
            return session
        kept = None
        while kept is None:
            # None when the same request came in at the same time: then look again.
            careful = self._audit.append(
                audit, lambda entry: self._create_with_care(session, entry, continued, request, is_current, most)
            )
            kept = await self._database.finish(careful)
        return kept

    async def load(
        self, tenant: TenantId, session_id: SessionId, *, window: int, known: Past | None = None
    ) -> Conversation:
        known_revision = -1 if known is None else known.revision
        place = {"tenant": tenant, "session_id": session_id, "window": window, "known_revision": known_revision}
        found = await self._database.read(sql.load_conversation, place)
        if not found:
            raise SessionNotFound(session_id)
        session = rows.session_of(found[0])
        if known is not None and known.revision == session.revision:
            return Conversation(session=session, history=known.history[-window:], state=known.state)
        state, history = found[0]["state"], tuple(_newest_messages(found[0]))[::-1]
        if session.fork is not None and len(history) < window:
            first_seq, upto = session.epoch.first_seq, session.last_seq
            history = await newest_messages(self._database, session, first_seq=first_seq, upto=upto, window=window)
        return Conversation(
            session=session,
            history=history,
            state=rows.from_json(state) if state else {},
        )

    async def get(self, tenant: TenantId, session_id: SessionId) -> Session:
        found = await self._database.read(sql.get_session, {"tenant": tenant, "session_id": session_id})
        if not found:
            raise SessionNotFound(session_id)
        return rows.session_of(found[0])

    async def list(
        self,
        tenant: TenantId,
        *,
        owner: UserId | None,
        before: SessionId | None,
        limit: int,
        sought: Sought = Sought(),  # noqa: B008
    ) -> Sequence[Session]:
        query = sql.list_sessions if owner is None else sql.list_sessions_of_owner
        params = sought_params(tenant, owner, sought) | {"before": before or "~", "limit": limit}
        return [rows.session_of(row) for row in await self._database.read(query, params)]

    async def count(self, tenant: TenantId, *, owner: UserId | None, sought: Sought) -> int:
        found = await self._database.read(sql.count_sessions, sought_params(tenant, owner, sought))
        return int(found[0]["found"])

    async def seek(
        self,
        tenant: TenantId,
        *,
        owner: UserId | None,
        sought: Sought,
        order: SessionOrder,
        before: str | None,
        limit: int,
    ) -> Found:
        query = sql.walk_sessions if owner is None else sql.walk_sessions_of_owner
        place = sought_params(tenant, owner, sought) | {"before": "~", "limit": rows.SESSIONS_AT_ONCE}
        seeking = Seeking(sought, order, before)
        while page := await self._database.read(query, place):
            unsure = seeking.take(page)
            seeking.settle(unsure, await self.openings(tenant, [SessionId(row["id"]) for row in unsure]))
            place |= {"before": page[-1]["id"]}
        ids = seeking.ids[:limit]
        named = await self._database.read(sql.sessions_named, {"tenant": tenant, "ids": list(ids)})
        kept = {row["id"]: rows.session_of(row) for row in named}
        return Found(sessions=[kept[each] for each in ids if each in kept], total=seeking.total)

    async def openings(self, tenant: TenantId, ids: Collection[SessionId]) -> Mapping[SessionId, str]:
        if not ids:
            return {}
        asked = {"tenant": tenant, "ids": list(ids), "most": OPENING_CHARS}
        begun = {row["session_id"]: row["opening"] for row in await self._database.read(sql.openings, asked)}
        silent = {"tenant": tenant, "ids": [each for each in ids if each not in begun]}
        return begun | rows.unanswered_of(await self._database.read(sql.unanswered, silent))

    async def count_runs(self, tenant: TenantId, session_id: SessionId) -> int:
        found = await self._database.read(sql.count_runs_of_session, {"tenant": tenant, "session_id": session_id})
        return int(found[0]["found"])

    async def living(self, tenant: TenantId, *, at: datetime) -> int:
        found = await self._database.read(sql.living_sessions, {"tenant": tenant, "now": rows.micros(at)})
        return int(found[0]["found"])

    async def events(self, tenant: TenantId, session_id: SessionId, *, after: int, limit: int) -> Sequence[FeedEntry]:
        place = {"tenant": tenant, "subject": session_id, "after": after, "limit": limit}
        found = [rows.feed_entry_of(row) for row in await self._database.read(sql.session_events, place)]
        told = []
        for entry in found:
            told.append(entry)
            if entry.data.get("status") == "paused":
                next_run = await self._database.read(sql.first_run_after, place | {"after": entry.no})
                told += map(rows.feed_entry_of, next_run)
        return told

    async def messages(self, tenant: TenantId, session_id: SessionId, *, after: int, limit: int) -> Sequence[Message]:
        found = await self._database.read(sql.get_session, {"tenant": tenant, "session_id": session_id})
        if found and found[0]["fork_of"] is not None:
            return await messages_after(self._database, rows.session_of(found[0]), after=after, limit=limit)
        params = {"tenant": tenant, "session_id": session_id, "after": after, "limit": limit}
        return [rows.message_of(row) for row in await self._database.read(sql.messages_after, params)]

    async def messages_before(
        self, tenant: TenantId, session_id: SessionId, *, before: int, limit: int
    ) -> Sequence[Message]:
        found = await self._database.read(sql.get_session, {"tenant": tenant, "session_id": session_id})
        if found and found[0]["fork_of"] is not None:
            session = rows.session_of(found[0])
            return await newest_messages(self._database, session, first_seq=1, upto=before - 1, window=limit)
        params = {"tenant": tenant, "session_id": session_id, "first_seq": 1, "upto": before - 1, "limit": limit}
        newest = await self._database.read(sql.newest_messages_until, params)
        return [rows.message_of(row) for row in reversed(newest)]

    async def change(
        self,
        tenant: TenantId,
        session_id: SessionId,
        change: SettingsChange,
        *,
        at: datetime,
        expected_version: int | None,
        audit: AuditFacts,
    ) -> Session:
        changed = await self._database.finish(
            self._audit.append(
                audit,
                lambda entry: self._change(
                    tenant, session_id, change, at, expected_version, audit.facts.get("user"), entry
                ),
            )
        )
        assert changed is not None
        return changed

    async def _create(self, session: Session, entry: AuditEntry, continued: Turn | None) -> Sequence[Row]:
        params = rows.session_params(session) | entry_params(entry)
        if continued is None:
            return await self._database.write("create_session", sql.create_session, params)
        async with self._database.transaction("create_session") as tx:
            created = await tx.run(sql.create_session, params)
            await self._take_over(tx, session, continued)
            return created

    async def _take_over(self, tx: Tx, session: Session, continued: Turn) -> None:
        for message in rows.message_params(session.tenant, session.id, continued):
            await tx.run(sql.append_message, message)
        turn = rows.turn_params(session.tenant, session.id, continued, session.revision - 1)
        await tx.run(sql.append_turn, turn)
        at = continued.committed_at
        changes, epoch, number = continued.units, continued.epoch, continued.number
        await change_units(tx, session.tenant, session.id, changes, epoch=epoch, at=at, turn=number)

    async def _create_with_care(
        self,
        session: Session,
        entry: AuditEntry,
        continued: Turn | None,
        request: RequestKey | None,
        is_current: bool,
        most: int | None,
    ) -> Session | None:
        try:
            async with self._database.transaction("create_session") as tx:
                found = await self._found(tx, session, request, is_current)
                if found is not None:
                    await tx.run(sql.append_audit, entry_params(entry))
                    return found
                await refuse_more_sessions(tx, session, most)
                await hold_mounted(tx, session.tenant, contents_mounted(pinned_anew(session)))
                await tx.run(sql.create_session, rows.session_params(session) | entry_params(entry))
                if continued is not None:
                    await self._take_over(tx, session, continued)
                if request is not None:
                    await tx.run(sql.insert_request, created_request_params(request, session))
                if is_current:
                    await tx.run(sql.put_current, current_params(session))
                return session
        except asyncpg.UniqueViolationError as error:
            if error.constraint_name != "requests_pkey":
                raise
            return None

    async def _found(self, tx: Tx, session: Session, request: RequestKey | None, is_current: bool) -> Session | None:
        """What the same request made before, or where the owner already is."""
        if request is not None:
            known = await tx.one(sql.find_request, created_request_params(request, session))
            if known is not None:
                if known["body_hash"] != request.body_hash:
                    raise DuplicateRequest(request.key)
                return await self._session(tx, session.tenant, SessionId(known["run_id"]))
        if is_current:
            place = current_params(session)
            await tx.run(sql.claim_current, place)
            there = await tx.one(sql.find_current, place)
            if there is not None:
                await tx.run(sql.put_current, place | {"session_id": there["id"]})
                return rows.session_of(there)
        return None

    async def expire(self, tenant: TenantId, session_id: SessionId, *, at: datetime, audit: AuditFacts) -> Session:
        write = self._audit.append(audit, lambda entry: self._expire(tenant, session_id, at, entry))
        # Nothing was written, and nothing audited, when it stays as it is.
        return await self._database.finish(write) or await self.get(tenant, session_id)

    async def _expire(self, tenant: TenantId, session_id: SessionId, at: datetime, entry: AuditEntry) -> Session | None:
        async with self._database.transaction("expire") as tx:
            lease = await tx.one(sql.lock_lease, {"tenant": tenant, "subject": session_id})
            session = await self._session(tx, tenant, session_id)
            is_awaited = await tx.one(sql.awaited_session, {"tenant": tenant, "session_id": session_id})
            is_busy = lease is None or lease["holder"] is not None or lease["queued"] > 0 or is_awaited is not None
            if is_busy or not session.is_idle_too_long(at):
                return None
            expired = await self._change_in(tx, tenant, session_id, EXPIRY, at, None, None)
            await tx.run(sql.append_audit, entry_params(entry))
            return expired

    async def idle(self, *, at: datetime) -> AsyncIterator[tuple[TenantId, SessionId]]:
        place = {"tenant": "", "session_id": "", "now": rows.micros(at), "limit": rows.SESSIONS_AT_ONCE}
        while page := await self._database.read(sql.living_sessions_after, place):
            for row in page:
                if row["is_idle"]:
                    yield row["tenant"], row["id"]
            place |= {"tenant": page[-1]["tenant"], "session_id": page[-1]["id"]}

    async def _change(
        self,
        tenant: TenantId,
        session_id: SessionId,
        change: SettingsChange,
        at: datetime,
        expected_version: int | None,
        by: str | None,
        entry: AuditEntry,
    ) -> Session:
        async with self._database.transaction("change_settings") as tx:
            changed = await self._change_in(tx, tenant, session_id, change, at, expected_version, by)
            await tx.run(sql.append_audit, entry_params(entry))
            return changed

    async def _change_in(
        self,
        tx: Tx,
        tenant: TenantId,
        session_id: SessionId,
        change: SettingsChange,
        at: datetime,
        expected_version: int | None,
        by: str | None,
    ) -> Session:
        lease = await tx.one(sql.lock_lease, {"tenant": tenant, "subject": session_id})
        session = await self._session(tx, tenant, session_id)
        if expected_version is not None and expected_version != session.version:
            raise VersionMoved(session_id, expected=expected_version, actual=session.version)
        if change.idle_at is not None and lease is not None:
            waiting = await tx.run(sql.waiting_runs, {"tenant": tenant, "subject": session_id})
            refuse_unless_idle(session, change.idle_at, lease, waiting)
        changed = change.applied_to(session, at)
        if changed is None:
            raise InvalidTransition(session_id, session.status, change.status or session.status)
        await hold_mounted(tx, tenant, contents_mounted(changed.mounts, session.mounts))
        await tx.run(sql.change_settings, rows.settings_params(changed, session.version))
        if changed.status.is_terminal:
            await cancel_waiting_runs(tx, tenant, Subject(session_id), at)
            await cancel_approvals_of_session(tx, tenant, session_id, at)
        said = change.told(session, changed) | {"by": by}
        await append_feed(tx, tenant, Subject(session_id), FeedType.SESSION_CHANGED, None, at, said)
        return changed

    async def _session(self, tx: Tx, tenant: TenantId, session_id: SessionId) -> Session:
        found = await tx.one(sql.get_session, {"tenant": tenant, "session_id": session_id})
        if found is None:
            raise SessionNotFound(session_id)
        return rows.session_of(found)


async def insert_session(tx: Tx, session: Session) -> None:
    await tx.run(sql.insert_session, rows.session_params(session))
    await tx.run(sql.insert_lease, {"tenant": session.tenant, "subject": session.id})


async def refuse_more_sessions(tx: Tx, session: Session, most: int | None) -> None:
    """Raises QuotaExceeded when as many live in the tenant as may."""
    if most is None:
        return
    await tx.run(sql.lock_sessions, {"tenant": session.tenant})
    found = await tx.one(sql.living_sessions, living_params(session))
    if found is not None and found["found"] >= most:
        raise QuotaExceeded(Quota.SESSIONS, most, with_this=found["found"] + 1)


def _newest_messages(loaded: Row) -> Iterator[Message]:
    """The newest messages of the loaded epoch, newest first."""
    names = ("seq", "id", "turn", "role", "content", "created_at", "event")
    columns = (
        *("message_seqs", "message_ids", "message_turns", "message_roles", "message_contents"),
        *("message_moments", "message_events"),
    )
    for values in zip(*(loaded[column] or () for column in columns), strict=True):
        yield rows.message_of({"epoch": loaded["epoch"], **dict(zip(names, values, strict=True))})
