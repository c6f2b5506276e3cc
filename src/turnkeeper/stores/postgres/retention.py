"""Sessions that are over, in a PostgreSQL database: who is next to be archived or erased."""

from collections.abc import AsyncIterator
from datetime import datetime

from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import SessionId, Subject, TenantId
from turnkeeper.model.manifest import NewManifest
from turnkeeper.ports.erasure import OverSession
from turnkeeper.stores import erasing as rows
from turnkeeper.stores.postgres.database import PostgresDatabase, sql
from turnkeeper.stores.postgres.endings import append_feed
from turnkeeper.stores.postgres.manifests import keep_manifest
from turnkeeper.stores.rows import Params, micros


class PostgresRetention:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def over(self, *, before: datetime) -> AsyncIterator[OverSession]:
        place: Params = {"before": micros(before), "tenant": "", "after": "", "limit": rows.AT_ONCE}
        while page := await self._database.read(sql.sessions_that_are_over, place):
            for row in page:
                yield rows.over_of(row)
            place |= {"tenant": page[-1]["tenant"], "after": page[-1]["id"]}

    async def mark_archived(
        self, tenant: TenantId, session_id: SessionId, archive: NewManifest, *, at: datetime
    ) -> bool:
        return await self._database.finish(self._mark(tenant, session_id, archive, at))

    async def _mark(self, tenant: TenantId, session_id: SessionId, archive: NewManifest, at: datetime) -> bool:
        place = {"tenant": tenant, "session_id": session_id, "hash": archive.entries[0].sha256, "now": micros(at)}
        async with self._database.transaction("archive_session") as tx:
            # The lease first, as everywhere: the feed takes its next number from it.
            await tx.run(sql.lock_lease, {"tenant": tenant, "subject": session_id})
            marked = await tx.run(sql.mark_archived, place)
            if not marked:
                return False
            await keep_manifest(tx, archive)
            await tx.run(sql.drop_layout, place)
            said = rows.archived_said(marked[0], archive)
            await append_feed(tx, tenant, Subject(session_id), FeedType.SESSION_CHANGED, None, at, said)
            return True
