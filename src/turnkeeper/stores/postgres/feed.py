"""The feed in a PostgreSQL database."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from turnkeeper.errors import LeaseLost
from turnkeeper.model.feed import FeedEntry, FeedType
from turnkeeper.model.ids import Subject, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.stores import rows
from turnkeeper.stores.feed import with_text
from turnkeeper.stores.postgres.database import PostgresDatabase, sql


class PostgresFeed:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def append_delta(self, lease: Lease, text: str) -> int:
        return await self._database.finish(self._append_delta(lease, text))

    async def _append_delta(self, lease: Lease, text: str) -> int:
        params = rows.lease_params(lease) | {"text": text}
        added = await self._database.write("append_delta", sql.add_delta, params)
        if not added:
            raise LeaseLost(lease.run_id)
        no: int = added[0]["no"]
        return no

    async def append(self, lease: Lease, type: FeedType, data: Mapping[str, Any], *, at: datetime) -> int:
        return await self._database.finish(self._append(lease, type, data, at))

    async def _append(self, lease: Lease, type: FeedType, data: Mapping[str, Any], at: datetime) -> int:
        async with self._database.transaction("append_feed") as tx:
            held = await tx.one(sql.hold_lease, rows.lease_params(lease))
            if held is None:
                raise LeaseLost(lease.run_id)
            no: int = held["last_feed_no"]
            told = rows.feed_params(lease.tenant, lease.subject, no, type, lease.run_id, at, data)
            await tx.run(sql.append_feed, told)
            return no

    async def read(self, tenant: TenantId, subject: Subject, *, after: int, limit: int) -> Sequence[FeedEntry]:
        place = {"tenant": tenant, "subject": subject, "after": after, "limit": limit}
        found = [rows.feed_entry_of(row) for row in await self._database.read(sql.feed_after, place)]
        seqs = [seq for entry in found if (seq := entry.data.get("message_seq"))]
        texts: dict[int, str] = {}
        if seqs:
            named = {"tenant": tenant, "session_id": subject, "seqs": seqs}
            spoken = await self._database.read(sql.message_content, named)
            texts = {row["seq"]: row["content"] for row in spoken}
        return with_text(found, texts, after=after)

    async def last_no(self, tenant: TenantId, subject: Subject) -> int:
        found = await self._database.read(sql.read_lease, {"tenant": tenant, "subject": subject})
        return int(found[0]["last_feed_no"]) if found else 0
