"""Sessions in a SQLite file."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime

from turnkeeper.errors import DuplicateRequest, InvalidTransition, QuotaExceeded, SessionNotFound, VersionMoved
from turnkeeper.model.audit import AuditFacts
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
from turnkeeper.stores.sessions import (
    Seeking,
    created_request_params,
    current_params,
    living_params,
    pinned_anew,
    sought_params,
)
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.stores.sqlite.endings import append_feed, cancel_approvals_of_session, cancel_waiting_runs
from turnkeeper.stores.sqlite.held import lease_in
from turnkeeper.stores.sqlite.histories import messages_after, newest_messages
from turnkeeper.stores.sqlite.manifests import hold_mounted
from turnkeeper.stores.sqlite.units import change_units
from turnkeeper.stores.substrate import contents_mounted


class SqliteSessions:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
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
        return await self._database.write(
            "create_session", lambda tx: self._create(tx, session, audit, continued, request, is_current, most)
        )

    async def load(
        self, tenant: TenantId, session_id: SessionId, *, window: int, known: Past | None = None
    ) -> Conversation:
        found = self._database.read(sql.load_session, {"tenant": tenant, "session_id": session_id})
        if not found:
            raise SessionNotFound(session_id)
        session = rows.session_of(found[0])
        if known is not None and known.revision == session.revision:
            return Conversation(session=session, history=known.history[-window:], state=known.state)
        place = {"tenant": tenant, "session_id": session_id, "first_seq": session.epoch.first_seq, "window": window}
        newest = self._database.read_values(sql.newest_messages, place)
        state, history = found[0]["state"], rows.history_of(newest)
        if session.fork is not None and len(history) < window:
            first_seq, upto = session.epoch.first_seq, session.last_seq
            history = newest_messages(self._database, session, first_seq=first_seq, upto=upto, window=window)
        return Conversation(
            session=session,
            history=history,
            state=rows.from_json(state) if state else {},
        )

    async def get(self, tenant: TenantId, session_id: SessionId) -> Session:
        found = self._database.read(sql.get_session, {"tenant": tenant, "session_id": session_id})
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
        return [rows.session_of(row) for row in self._database.read(query, params)]

    async def count(self, tenant: TenantId, *, owner: UserId | None, sought: Sought) -> int:
        found = self._database.read(sql.count_sessions, sought_params(tenant, owner, sought))
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
        while page := self._database.read(query, place):
            unsure = seeking.take(page)
            seeking.settle(unsure, await self.openings(tenant, [SessionId(row["id"]) for row in unsure]))
            place |= {"before": page[-1]["id"]}
            await asyncio.sleep(0)
        ids = seeking.ids[:limit]
        named = self._database.read(sql.sessions_named, {"tenant": tenant, "ids": rows.json_text(list(ids))})
        kept = {row["id"]: rows.session_of(row) for row in named}
        return Found(sessions=[kept[each] for each in ids if each in kept], total=seeking.total)

    async def openings(self, tenant: TenantId, ids: Collection[SessionId]) -> Mapping[SessionId, str]:
        if not ids:
            return {}
        asked = {"tenant": tenant, "ids": rows.json_text(list(ids)), "most": OPENING_CHARS}
        begun = {row["session_id"]: row["opening"] for row in self._database.read(sql.openings, asked)}
        silent = {"tenant": tenant, "ids": rows.json_text([each for each in ids if each not in begun])}
        return begun | rows.unanswered_of(self._database.read(sql.unanswered, silent))

    async def count_runs(self, tenant: TenantId, session_id: SessionId) -> int:
        found = self._database.read(sql.count_runs_of_session, {"tenant": tenant, "session_id": session_id})
        return int(found[0]["found"])

    async def living(self, tenant: TenantId, *, at: datetime) -> int:
        found = self._database.read(sql.living_sessions, {"tenant": tenant, "now": rows.micros(at)})
        return int(found[0]["found"])

    async def events(self, tenant: TenantId, session_id: SessionId, *, after: int, limit: int) -> Sequence[FeedEntry]:
        place = {"tenant": tenant, "subject": session_id, "after": after, "limit": limit}
        found = [rows.feed_entry_of(row) for row in self._database.read(sql.session_events, place)]
        told = []
        for entry in found:
            told.append(entry)
            if entry.data.get("status") == "paused":
                told += map(rows.feed_entry_of, self._database.read(sql.first_run_after, place | {"after": entry.no}))
        return told

    async def messages(self, tenant: TenantId, session_id: SessionId, *, after: int, limit: int) -> Sequence[Message]:
        found = self._database.read(sql.get_session, {"tenant": tenant, "session_id": session_id})
        if found and found[0]["fork_of"] is not None:
            return messages_after(self._database, rows.session_of(found[0]), after=after, limit=limit)
        params = {"tenant": tenant, "session_id": session_id, "after": after, "limit": limit}
        return [rows.message_of(row) for row in self._database.read(sql.messages_after, params)]

    async def messages_before(
        self, tenant: TenantId, session_id: SessionId, *, before: int, limit: int
    ) -> Sequence[Message]:
        found = self._database.read(sql.get_session, {"tenant": tenant, "session_id": session_id})
        if found and found[0]["fork_of"] is not None:
            session = rows.session_of(found[0])
            return newest_messages(self._database, session, first_seq=1, upto=before - 1, window=limit)
        params = {"tenant": tenant, "session_id": session_id, "first_seq": 1, "upto": before - 1, "limit": limit}
        newest = self._database.read(sql.newest_messages_until, params)
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
        return await self._database.write(
            "change_settings", lambda tx: self._change(tx, tenant, session_id, change, at, expected_version, audit)
        )

    def _create(
        self,
        tx: Tx,
        session: Session,
        audit: AuditFacts,
        continued: Turn | None,
        request: RequestKey | None,
        is_current: bool,
        most: int | None,
    ) -> Session:
        found = self._found(tx, session, request, is_current)
        if found is not None:
            self._audit.append(tx, audit)
            return found
        refuse_more_sessions(tx, session, most)
        hold_mounted(tx, session.tenant, contents_mounted(pinned_anew(session)))
        insert_session(tx, session)
        if continued is not None:
            tx.executemany(sql.append_message, rows.message_params(session.tenant, session.id, continued))
            tx.execute(sql.append_turn, rows.turn_params(session.tenant, session.id, continued, session.revision - 1))
            at = continued.committed_at
            changes, epoch, number = continued.units, continued.epoch, continued.number
            change_units(tx, session.tenant, session.id, changes, epoch=epoch, at=at, turn=number)
        if request is not None:
            tx.execute(sql.insert_request, created_request_params(request, session))
        if is_current:
            tx.execute(sql.put_current, current_params(session))
        self._audit.append(tx, audit)
        return session

    def _found(self, tx: Tx, session: Session, request: RequestKey | None, is_current: bool) -> Session | None:
        """What the same request made before, or where the owner already is."""
        if request is not None:
            known = tx.execute(sql.find_request, created_request_params(request, session)).fetchone()
            if known is not None:
                if bytes(known["body_hash"]) != request.body_hash:
                    raise DuplicateRequest(request.key)
                return self._session(tx, session.tenant, SessionId(known["run_id"]))
        if is_current:
            place = current_params(session)
            tx.execute(sql.claim_current, place)
            there = tx.execute(sql.find_current, place).fetchone()
            if there is not None:
                tx.execute(sql.put_current, place | {"session_id": there["id"]})
                return rows.session_of(there)
        return None

    async def expire(self, tenant: TenantId, session_id: SessionId, *, at: datetime, audit: AuditFacts) -> Session:
        return await self._database.write("expire", lambda tx: self._expire(tx, tenant, session_id, at, audit))

    def _expire(self, tx: Tx, tenant: TenantId, session_id: SessionId, at: datetime, audit: AuditFacts) -> Session:
        session = self._session(tx, tenant, session_id)
        lease = tx.execute(sql.read_lease, {"tenant": tenant, "subject": session_id}).fetchone()
        is_awaited = tx.execute(sql.awaited_session, {"tenant": tenant, "session_id": session_id}).fetchone()
        if lease["holder"] is not None or lease["queued"] > 0 or is_awaited or not session.is_idle_too_long(at):
            return session
        return self._change(tx, tenant, session_id, EXPIRY, at, None, audit)

    async def idle(self, *, at: datetime) -> AsyncIterator[tuple[TenantId, SessionId]]:
        place = {"tenant": "", "session_id": "", "now": rows.micros(at), "limit": rows.SESSIONS_AT_ONCE}
        while page := self._database.read(sql.living_sessions_after, place):
            for row in page:
                if row["is_idle"]:
                    yield row["tenant"], row["id"]
            place |= {"tenant": page[-1]["tenant"], "session_id": page[-1]["id"]}
            await asyncio.sleep(0)

    def _change(
        self,
        tx: Tx,
        tenant: TenantId,
        session_id: SessionId,
        change: SettingsChange,
        at: datetime,
        expected_version: int | None,
        audit: AuditFacts,
    ) -> Session:
        session = self._session(tx, tenant, session_id)
        if expected_version is not None and expected_version != session.version:
            raise VersionMoved(session_id, expected=expected_version, actual=session.version)
        if change.idle_at is not None:
            lease = lease_in(tx, tenant, Subject(session_id))
            waiting = tx.execute(sql.waiting_runs, {"tenant": tenant, "subject": session_id}).fetchall()
            refuse_unless_idle(session, change.idle_at, lease, waiting)
        changed = change.applied_to(session, at)
        if changed is None:
            raise InvalidTransition(session_id, session.status, change.status or session.status)
        hold_mounted(tx, tenant, contents_mounted(changed.mounts, session.mounts))
        tx.execute(sql.change_settings, rows.settings_params(changed, session.version))
        if changed.status.is_terminal:
            cancel_waiting_runs(tx, tenant, Subject(session_id), at)
            cancel_approvals_of_session(tx, tenant, session_id, at)
        said = change.told(session, changed) | {"by": audit.facts.get("user")}
        append_feed(tx, tenant, Subject(session_id), FeedType.SESSION_CHANGED, None, at, said)
        self._audit.append(tx, audit)
        return changed

    def _session(self, tx: Tx, tenant: TenantId, session_id: SessionId) -> Session:
        found = tx.execute(sql.get_session, {"tenant": tenant, "session_id": session_id}).fetchone()
        if found is None:
            raise SessionNotFound(session_id)
        return rows.session_of(found)


def insert_session(tx: Tx, session: Session) -> None:
    tx.execute(sql.insert_session, rows.session_params(session))
    tx.execute(sql.insert_lease, {"tenant": session.tenant, "subject": session.id})


def refuse_more_sessions(tx: Tx, session: Session, most: int | None) -> None:
    """Raises QuotaExceeded when as many live in the tenant as may."""
    if most is None:
        return
    found = tx.execute(sql.living_sessions, living_params(session)).fetchone()
    if found["found"] >= most:
        raise QuotaExceeded(Quota.SESSIONS, most, with_this=found["found"] + 1)
