"""Sessions that are over, in a SQLite file: who is next to be archived or erased."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime

from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import SessionId, Subject, TenantId
from turnkeeper.model.manifest import NewManifest
from turnkeeper.ports.erasure import OverSession
from turnkeeper.stores import erasing as rows
from turnkeeper.stores.rows import Params, micros
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.stores.sqlite.endings import append_feed
from turnkeeper.stores.sqlite.manifests import keep_manifest


class SqliteRetention:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def over(self, *, before: datetime) -> AsyncIterator[OverSession]:
        place: Params = {"before": micros(before), "tenant": "", "after": "", "limit": rows.AT_ONCE}
        while page := self._database.read(sql.sessions_that_are_over, place):
            for row in page:
                yield rows.over_of(row)
            place |= {"tenant": page[-1]["tenant"], "after": page[-1]["id"]}
            await asyncio.sleep(0)

    async def mark_archived(
        self, tenant: TenantId, session_id: SessionId, archive: NewManifest, *, at: datetime
    ) -> bool:
        return await self._database.write("archive_session", lambda tx: self._mark(tx, tenant, session_id, archive, at))

    def _mark(self, tx: Tx, tenant: TenantId, session_id: SessionId, archive: NewManifest, at: datetime) -> bool:
        place = {"tenant": tenant, "session_id": session_id, "hash": archive.entries[0].sha256, "now": micros(at)}
        marked = tx.execute(sql.mark_archived, place).fetchall()
        if not marked:
            return False
        keep_manifest(tx, archive)
        tx.execute(sql.drop_layout, place).fetchall()
        said = rows.archived_said(marked[0], archive)
        append_feed(tx, tenant, Subject(session_id), FeedType.SESSION_CHANGED, None, at, said)
        return True
