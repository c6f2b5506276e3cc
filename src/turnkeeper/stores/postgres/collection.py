"""What nobody refers to any more, in a PostgreSQL database."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime

from turnkeeper.model.blob import Blob
from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.stores import artifacts as blobs
from turnkeeper.stores import substrate as rows
from turnkeeper.stores.postgres.database import PostgresDatabase, sql
from turnkeeper.stores.rows import Params, micros

UPLOADS_AT_ONCE = 100


class PostgresCollection:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def tenants(self) -> Sequence[TenantId]:
        return [TenantId(row["tenant"]) for row in await self._database.read(sql.tenants_with_content, {})]

    async def candidates(
        self, tenant: TenantId, *, before: datetime, after: str, limit: int
    ) -> Sequence[tuple[Blob, tuple[str, ...]]]:
        place = {"tenant": tenant, "before": micros(before), "after": after, "limit": limit}
        found = [blobs.blob_of(row) for row in await self._database.read(sql.loose_blobs, place)]
        return [(blob, await self._ids_of(blob)) for blob in found]

    async def _ids_of(self, blob: Blob) -> tuple[str, ...]:
        found = await self._database.read(sql.artifacts_of_content, blobs.place_of(blob))
        return tuple(row["id"] for row in found)

    async def mentions(self, tenant: TenantId, *, without: Collection[SessionId] = ()) -> AsyncIterator[str]:
        place: Params = {"tenant": tenant, "session_id": "", "seq": 0, "after": "", "limit": rows.MENTIONS_AT_ONCE}
        # Runs before messages: what is a message by the time its run is looked for is found among the messages.
        while page := await self._database.read(sql.runs_that_mention, place):
            for text in rows.texts_of(rows.of_others(page, "session_id", without), "input"):
                yield text
            place |= {"after": page[-1]["id"]}
        while page := await self._database.read(sql.messages_that_mention, place):
            for text in rows.texts_of(rows.of_others(page, "session_id", without), "event"):
                yield text
            place |= {"session_id": page[-1]["session_id"], "seq": page[-1]["seq"]}
        place |= {"after": ""}
        while page := await self._database.read(sql.sessions_that_mention, place):
            for text in rows.texts_of(rows.of_others(page, "id", without), "mounts", "archive", "removed"):
                yield text
            place |= {"after": page[-1]["id"]}
        place |= {"after": ""}
        while page := await self._database.read(sql.contexts_that_mention, place):
            for text in rows.texts_of(page, "data"):
                yield text
            place |= {"after": page[-1]["id"]}
        for text in rows.texts_of(await self._database.read(sql.layers_that_mention, place), "data"):
            yield text

    async def remove(self, tenant: TenantId, loose: Sequence[Blob], *, before: datetime, since: datetime) -> list[Blob]:
        return await self._database.finish(self._remove(tenant, loose, before, since))

    async def _remove(self, tenant: TenantId, loose: Sequence[Blob], before: datetime, since: datetime) -> list[Blob]:
        async with self._database.transaction("collect") as tx:
            place = {"tenant": tenant, "before": micros(before)}
            # Claimed first and looked at after: whoever referred to it meanwhile has committed by then.
            held = [blob for blob in loose if await tx.one(sql.claim_blob, blobs.place_of(blob))]
            held = [blob for blob in held if await tx.one(sql.is_loose, place | blobs.place_of(blob))]
            newest = {"tenant": tenant, "after": rows.run_before(since)}
            said = list(rows.texts_of(await tx.run(sql.inputs_since, newest), "input"))
            said += rows.texts_of(await tx.run(sql.content_pinned, place), "mounts")
            said += rows.texts_of(await tx.run(sql.layers_that_mention, place), "data")
            lately = place | {"since": rows.contexts_from(since)}
            said += rows.texts_of(await tx.run(sql.contexts_since, lately), "data")
            await tx.run(sql.open_collection, {})
            gone = []
            for blob in held:
                names = [row["id"] for row in await tx.run(sql.artifacts_of_content, blobs.place_of(blob))]
                if not any(name in text for text in said for name in (blob.sha256, *names)):
                    await tx.run(sql.remove_artifacts, blobs.place_of(blob))
                    await tx.run(sql.remove_blob, blobs.place_of(blob))
                    await tx.run(sql.drop_pieces, blobs.place_of(blob))
                    gone.append(blob)
            return gone

    async def sweep_uploads(self, *, before: datetime) -> int:
        swept = 0
        for tenant in await self.tenants():
            place = {"tenant": tenant, "before": rows.upload_before(before), "limit": UPLOADS_AT_ONCE}
            while found := [row["content"] for row in await self._database.read(sql.loose_uploads, place)]:
                swept += await self._database.finish(self._sweep(tenant, found))
        return swept

    async def _sweep(self, tenant: TenantId, uploads: Sequence[str]) -> int:
        async with self._database.transaction("sweep_uploads") as tx:
            await tx.run(sql.open_collection, {})
            for content in uploads:
                place = {"tenant": tenant, "content": content}
                # An upload that comes to its end right now holds its pieces; then its blob is there after the wait.
                await tx.run(sql.claim_pieces, place)
                if not await tx.run(sql.known_uploads, place | {"contents": [content]}):
                    await tx.run(sql.drop_pieces, place)
            return len(uploads)
