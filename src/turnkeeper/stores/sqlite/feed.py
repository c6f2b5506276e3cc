"""The feed in a SQLite file, and how processes on one file notice each other."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from turnkeeper.errors import LeaseLost, StoreUnavailable
from turnkeeper.model.feed import FeedEntry, FeedType
from turnkeeper.model.ids import Subject, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.ports.feed import Woken
from turnkeeper.stores import rows
from turnkeeper.stores.feed import with_text
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql

LOOK_EVERY_SECONDS = 0.02


class SqliteFeed:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def append_delta(self, lease: Lease, text: str) -> int:
        return await self._database.write("append_delta", lambda tx: self._append_delta(tx, lease, text))

    def _append_delta(self, tx: Tx, lease: Lease, text: str) -> int:
        place = rows.lease_params(lease)
        added = tx.execute(sql.add_delta, place).fetchall()
        if not added:
            raise LeaseLost(lease.run_id)
        no: int = added[0]["last_feed_no"]
        tx.execute(sql.append_chunk, place | {"no": no, "now": self._database.clock(), "text": text})
        return no

    async def append(self, lease: Lease, type: FeedType, data: Mapping[str, Any], *, at: datetime) -> int:
        return await self._database.write("append_feed", lambda tx: self._append(tx, lease, type, data, at))

    def _append(self, tx: Tx, lease: Lease, type: FeedType, data: Mapping[str, Any], at: datetime) -> int:
        held = tx.execute(sql.hold_lease, rows.lease_params(lease)).fetchall()
        if not held:
            raise LeaseLost(lease.run_id)
        no: int = held[0]["last_feed_no"]
        tx.execute(sql.append_feed, rows.feed_params(lease.tenant, lease.subject, no, type, lease.run_id, at, data))
        return no

    async def read(self, tenant: TenantId, subject: Subject, *, after: int, limit: int) -> Sequence[FeedEntry]:
        place = {"tenant": tenant, "subject": subject, "after": after, "limit": limit}
        found = [rows.feed_entry_of(row) for row in self._database.read(sql.feed_after, place)]
        texts = {
            seq: self._database.read(sql.message_content, {"tenant": tenant, "session_id": subject, "seq": seq})[0][
                "content"
            ]
            for entry in found
            if (seq := entry.data.get("message_seq"))
        }
        return with_text(found, texts, after=after)

    async def last_no(self, tenant: TenantId, subject: Subject) -> int:
        found = self._database.read(sql.read_lease, {"tenant": tenant, "subject": subject})
        return int(found[0]["last_feed_no"]) if found else 0


class SqliteWakes:
    """Hints between processes: whoever listens looks whether another process has committed."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._woken: Woken | None = None
        self._looking: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._looking = asyncio.create_task(self._look(), name="turnkeeper-wakes")

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._looking
            self._looking = None

    def listen(self, woken: Woken) -> None:
        self._woken = woken

    def tell(self, tenant: TenantId, subject: Subject) -> None:
        if self._woken is not None:
            self._woken(tenant, subject)

    async def _look(self) -> None:
        seen = -1
        while True:
            with contextlib.suppress(StoreUnavailable):
                version = self._database.data_version()
                if version is not None and version != seen:
                    seen = version
                    if self._woken is not None:
                        self._woken(None, None)
            await asyncio.sleep(LOOK_EVERY_SECONDS)
