"""What nobody refers to any more, in a SQLite file."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from functools import partial

from turnkeeper.model.blob import Blob
from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.stores import artifacts as blobs
from turnkeeper.stores import substrate as rows
from turnkeeper.stores.rows import Params, micros
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql

UPLOADS_AT_ONCE = 100


class SqliteCollection:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def tenants(self) -> Sequence[TenantId]:
        return [TenantId(row["tenant"]) for row in self._database.read(sql.tenants_with_content, {})]

    async def candidates(
        self, tenant: TenantId, *, before: datetime, after: str, limit: int
    ) -> Sequence[tuple[Blob, tuple[str, ...]]]:
        place = {"tenant": tenant, "before": micros(before), "after": after, "limit": limit}
        found = [blobs.blob_of(row) for row in self._database.read(sql.loose_blobs, place)]
        return [(blob, self._ids_of(blob)) for blob in found]

    def _ids_of(self, blob: Blob) -> tuple[str, ...]:
        return tuple(row["id"] for row in self._database.read(sql.artifacts_of_content, blobs.place_of(blob)))

    async def mentions(self, tenant: TenantId, *, without: Collection[SessionId] = ()) -> AsyncIterator[str]:
        place: Params = {"tenant": tenant, "session_id": "", "seq": 0, "after": "", "limit": rows.MENTIONS_AT_ONCE}
        # Runs before messages: what is a message by the time its run is looked for is found among the messages.
        while page := self._database.read(sql.runs_that_mention, place):
            for text in rows.texts_of(rows.of_others(page, "session_id", without), "input"):
                yield text
            place |= {"after": page[-1]["id"]}
            await asyncio.sleep(0)
        while page := self._database.read(sql.messages_that_mention, place):
            for text in rows.texts_of(rows.of_others(page, "session_id", without), "event"):
                yield text
            place |= {"session_id": page[-1]["session_id"], "seq": page[-1]["seq"]}
            await asyncio.sleep(0)
        place |= {"after": ""}
        while page := self._database.read(sql.sessions_that_mention, place):
            for text in rows.texts_of(rows.of_others(page, "id", without), "mounts", "archive", "removed"):
                yield text
            place |= {"after": page[-1]["id"]}
            await asyncio.sleep(0)
        place |= {"after": ""}
        while page := self._database.read(sql.contexts_that_mention, place):
            for text in rows.texts_of(page, "data"):
                yield text
            place |= {"after": page[-1]["id"]}
            await asyncio.sleep(0)
        for text in rows.texts_of(self._database.read(sql.layers_that_mention, place), "data"):
            yield text

    async def remove(self, tenant: TenantId, loose: Sequence[Blob], *, before: datetime, since: datetime) -> list[Blob]:
        return await self._database.write("collect", lambda tx: self._remove(tx, tenant, loose, before, since))

    def _remove(self, tx: Tx, tenant: TenantId, loose: Sequence[Blob], before: datetime, since: datetime) -> list[Blob]:
        place = {"tenant": tenant, "before": micros(before)}
        held = [blob for blob in loose if tx.execute(sql.claim_blob, blobs.place_of(blob)).fetchone()]
        held = [blob for blob in held if tx.execute(sql.is_loose, place | blobs.place_of(blob)).fetchone()]
        newest = {"tenant": tenant, "after": rows.run_before(since)}
        said = list(rows.texts_of(tx.execute(sql.inputs_since, newest).fetchall(), "input"))
        said += rows.texts_of(tx.execute(sql.content_pinned, place).fetchall(), "mounts")
        said += rows.texts_of(tx.execute(sql.layers_that_mention, place).fetchall(), "data")
        lately = place | {"since": rows.contexts_from(since)}
        said += rows.texts_of(tx.execute(sql.contexts_since, lately).fetchall(), "data")
        tx.execute(sql.open_collection, {})
        gone = []
        for blob in held:
            names = [row["id"] for row in tx.execute(sql.artifacts_of_content, blobs.place_of(blob))]
            if not any(name in text for text in said for name in (blob.sha256, *names)):
                tx.execute(sql.remove_artifacts, blobs.place_of(blob))
                tx.execute(sql.remove_blob, blobs.place_of(blob))
                tx.execute(sql.drop_pieces, blobs.place_of(blob))
                gone.append(blob)
        tx.execute(sql.close_collection, {})
        return gone

    async def sweep_uploads(self, *, before: datetime) -> int:
        swept = 0
        for tenant in await self.tenants():
            place = {"tenant": tenant, "before": rows.upload_before(before), "limit": UPLOADS_AT_ONCE}
            while found := [row["content"] for row in self._database.read(sql.loose_uploads, place)]:
                swept += await self._database.write("sweep_uploads", partial(self._sweep, tenant, found))
        return swept

    def _sweep(self, tenant: TenantId, uploads: Sequence[str], tx: Tx) -> int:
        tx.execute(sql.open_collection, {})
        for content in uploads:
            tx.execute(sql.drop_pieces, {"tenant": tenant, "content": content})
        tx.execute(sql.close_collection, {})
        return len(uploads)
