"""The past of sessions in a PostgreSQL database."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from turnkeeper.errors import HistoryErased, TurnNotFound
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.feed import FeedType
from turnkeeper.model.history import StateAt
from turnkeeper.model.ids import SessionId, Subject, TenantId
from turnkeeper.model.message import Message
from turnkeeper.model.session import ERASED, Session
from turnkeeper.ports.histories import NamedHeads
from turnkeeper.stores import rows
from turnkeeper.stores.histories import (
    at_the_beginning,
    named_heads,
    owner_of,
    pruned_said,
    segments,
    state_at,
    state_row_of,
)
from turnkeeper.stores.postgres.database import PostgresDatabase, sql
from turnkeeper.stores.postgres.endings import append_feed


class PostgresHistories:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def as_of(self, session: Session, turn: int, *, window: int, most_units: int) -> StateAt:
        chain = await shared_by(self._database, session)
        owner = owner_of(session, turn, [await self._session(session.tenant, each) for each, _ in chain])
        if owner.fork is not None and turn < owner.fork.turn:
            raise HistoryErased(session.id, owner.fork.turn)
        place = {"tenant": session.tenant, "session_id": owner.id}
        found = await self._database.read(sql.turn_as_of, place | {"turn": turn})
        if not found and turn > 0:
            raise TurnNotFound(session.id, turn)
        if not found:
            return at_the_beginning(owner)
        row = state_row_of(found[0], owner, turn)
        epoch = await self._epoch(owner, row.epoch)
        messages = await newest_messages(
            self._database, owner, first_seq=epoch.first_seq, upto=row.last_seq, window=window
        )
        units = await self._database.read(sql.units_as_of, place | row.units_params(turn, most_units))
        return state_at(owner, turn, row, epoch, messages, units)

    async def heads(self, tenant: TenantId, session_id: SessionId, *, newest: int) -> NamedHeads:
        place = {"tenant": tenant, "session_id": session_id}
        # The lease first: what a run names after this, it began after this.
        lease = await self._database.read(sql.read_lease, {"tenant": tenant, "subject": session_id})
        heads = await self._database.read(sql.heads_of_session, place | {"limit": newest})
        return named_heads(lease, heads, await self._database.read(sql.open_checkpoints_of_session, place))

    async def mark_pruned(
        self, tenant: TenantId, session_id: SessionId, told: Mapping[str, Any], *, at: datetime
    ) -> bool:
        return await self._database.finish(self._mark(tenant, session_id, told, at))

    async def _mark(self, tenant: TenantId, session_id: SessionId, told: Mapping[str, Any], at: datetime) -> bool:
        place = {"tenant": tenant, "session_id": session_id, "now": rows.micros(at)}
        async with self._database.transaction("prune_session") as tx:
            # The lease first, as everywhere: the feed takes its next number from it.
            await tx.run(sql.lock_lease, {"tenant": tenant, "subject": session_id})
            marked = await tx.run(sql.mark_pruned, place)
            if not marked:
                return False
            said = pruned_said(marked[0], told)
            await append_feed(tx, tenant, Subject(session_id), FeedType.SESSION_CHANGED, None, at, said)
            return True

    async def _session(self, tenant: TenantId, session_id: SessionId) -> Session:
        found = await self._database.read(sql.get_session, {"tenant": tenant, "session_id": session_id})
        return rows.session_of(found[0])

    async def _epoch(self, owner: Session, number: int) -> Epoch:
        if owner.epoch.number == number:
            return owner.epoch
        chain = await shared_by(self._database, owner)
        for session_id in (owner.id, *(each for each, _ in chain)):
            place = {"tenant": owner.tenant, "session_id": session_id, "epoch": number}
            if found := await self._database.read(sql.get_epoch, place):
                return Epoch(
                    number=number, started_at=rows.moment(found[0]["started_at"]), first_seq=found[0]["first_seq"]
                )
        return Epoch(number=number, started_at=owner.created_at, first_seq=1)


async def shared_by(database: PostgresDatabase, session: Session) -> Sequence[tuple[SessionId, int]]:
    """The sessions whose messages this one shares, the nearest first, each up to a seq."""
    if session.fork is None:
        return []
    place = {"tenant": session.tenant, "session_id": session.id}
    found = await database.read(sql.forked_from, place)
    return [(SessionId(row["session_id"]), row["upto"]) for row in found if row["session_id"] != ERASED]


async def newest_messages(
    database: PostgresDatabase, session: Session, *, first_seq: int, upto: int, window: int
) -> tuple[Message, ...]:
    """The newest of a session up to a seq, its own and those that it shares, oldest first."""
    newest: list[Message] = []
    for owner, after, last in segments(session, await shared_by(database, session)):
        if len(newest) == window or last < first_seq:
            break
        place = {
            "tenant": session.tenant,
            "session_id": owner,
            "first_seq": max(first_seq, after + 1),
            "upto": min(upto, last),
            "limit": window - len(newest),
        }
        newest += [rows.message_of(row) for row in await database.read(sql.newest_messages_until, place)]
    return tuple(newest[::-1])


async def messages_after(database: PostgresDatabase, session: Session, *, after: int, limit: int) -> list[Message]:
    """In order, from just after a seq: those that it shares, then its own."""
    found: list[Message] = []
    for owner, first, last in reversed(segments(session, await shared_by(database, session))):
        if len(found) == limit:
            break
        place = {
            "tenant": session.tenant,
            "session_id": owner,
            "after": max(after, first),
            "upto": last,
            "limit": limit - len(found),
        }
        found += [rows.message_of(row) for row in await database.read(sql.messages_between, place)]
    return found
