"""Artifacts in a PostgreSQL database, and their bytes where these lie there too."""

import hashlib
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime

from turnkeeper.errors import ArtifactDamaged, ArtifactNotFound, StoreUnavailable, UploadLost
from turnkeeper.model.artifact import Artifact, sha256_of
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.blob import Blob, ByteRange, NewBlob, Piece
from turnkeeper.model.ids import ArtifactId, TenantId, UserId
from turnkeeper.stores import artifacts as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Tx, sql
from turnkeeper.stores.rows import Row

MOST_TRIES = 5


class PostgresArtifacts:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def keep(self, artifact: Artifact, new: NewBlob, audit: AuditFacts, *, most: int | None = None) -> Artifact:
        write = self._audit.append(audit, lambda entry: self._keep(artifact, new, entry, most))
        kept = await self._database.finish(write)
        assert kept is not None
        return kept

    async def _keep(self, artifact: Artifact, new: NewBlob, entry: AuditEntry, most: int | None) -> Artifact:
        async with self._database.transaction("keep_artifact") as tx:
            params = rows.artifact_params(artifact)
            known = await tx.one(sql.get_artifact, params)
            if known is None:
                if most is not None:
                    await tx.run(sql.lock_storage, {"tenant": artifact.tenant})
                await _keep_blob(tx, new, most)
                await tx.run(sql.insert_artifact, params)
                known = await tx.one(sql.get_artifact, params)
            else:
                await _drop_pieces(tx, new)
            await tx.run(sql.append_audit, entry_params(entry))
            assert known is not None
            return rows.artifact_of(known)

    async def get(self, tenant: TenantId, artifact_id: ArtifactId) -> Artifact:
        found = await self._database.read(sql.get_artifact, {"tenant": tenant, "id": artifact_id})
        if not found:
            raise ArtifactNotFound(artifact_id)
        return rows.artifact_of(found[0])

    async def list(
        self, tenant: TenantId, *, user: UserId | None, before: ArtifactId | None, limit: int
    ) -> Sequence[Artifact]:
        place = {"tenant": tenant, "user": user, "before": before or rows.LAST, "limit": limit}
        return [rows.artifact_of(row) for row in await self._database.read(sql.list_artifacts, place)]

    async def of_content(self, tenant: TenantId, sha256: str) -> Sequence[Artifact]:
        found = await self._database.read(sql.artifacts_of_content, {"tenant": tenant, "hash": sha256})
        return [rows.artifact_of(row) for row in found]

    async def kept_of(self, tenant: TenantId, hashes: Sequence[str]) -> frozenset[str]:
        place = {"tenant": tenant, "hashes": list(hashes)}
        return frozenset(row["sha256"] for row in await self._database.read(sql.kept_contents, place))

    async def is_in_a_manifest(self, tenant: TenantId, sha256: str) -> bool:
        return bool(await self._database.read(sql.content_in_a_manifest, {"tenant": tenant, "hash": sha256}))

    async def blob(self, tenant: TenantId, sha256: str) -> Blob:
        found = await self._database.read(sql.get_blob, {"tenant": tenant, "hash": sha256})
        if not found:
            raise ArtifactNotFound(ArtifactId(sha256))
        return rows.blob_of(found[0])


async def _keep_blob(tx: Tx, new: NewBlob, most: int | None) -> None:
    """The content, unless the tenant has it; then what was brought is dropped.

    What is there may be gone by the time it is held, because it was just collected; then it is kept after all.
    """
    for _ in range(MOST_TRIES):
        if await tx.run(sql.insert_blob, rows.blob_params(new)):
            if most is not None:
                rows.check_room(await tx.one(sql.stored_bytes, rows.place_of(new.blob)), most)
            before = len(await tx.run(sql.hold_pieces, rows.place_of(new.blob)))
            if before + len(new.pieces) != new.count:
                raise UploadLost
            for piece in new.pieces:
                await tx.run(sql.insert_piece, rows.piece_params(new.blob, piece))
            return
        if await tx.run(sql.hold_blob, rows.place_of(new.blob)):
            await _drop_pieces(tx, new)
            return
    raise StoreUnavailable("The content came and went while it was kept.")


async def _drop_pieces(tx: Tx, new: NewBlob) -> None:
    if new.count > len(new.pieces):
        await tx.run(sql.open_collection, {})
        await tx.run(sql.drop_pieces, rows.place_of(new.blob))


class PostgresBlobs:
    """Content as rows, a piece each. The last piece is written together with the blob: most content is one write."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def upload(self, tenant: TenantId, name: str) -> "PostgresUpload":
        return PostgresUpload(self._database, tenant, f"upl_{name}")

    async def read(self, blob: Blob, part: ByteRange) -> AsyncIterator[bytes]:
        if blob.lies_in_files:
            raise StoreUnavailable("This content lies in files.", advice="Set artifact_files to the folder with them.")
        for no, sha256, _, inner in rows.overlapping(await self.pieces(blob), blob, part):
            found = await self._database.read(sql.get_piece, rows.place_of(blob) | {"no": no})
            if not found or sha256_of(found[0]["data"]) != sha256:
                raise ArtifactDamaged(ArtifactId(blob.sha256))
            yield bytes(found[0]["data"][inner.first : inner.last + 1])

    async def drop(self, blobs: Collection[Blob]) -> None:
        """They went with their rows."""

    async def sweep(self, *, before: datetime) -> int:
        """What never came to its end is swept as rows are."""
        return 0

    async def pieces(self, blob: Blob) -> Sequence[Row]:
        return await self._database.read(sql.pieces_of_blob, rows.place_of(blob))

    async def known(self, tenant: TenantId, contents: Sequence[str]) -> frozenset[str]:
        """Which of these uploads a blob names."""
        place = {"tenant": tenant, "contents": list(contents)}
        return frozenset(row["content"] for row in await self._database.read(sql.known_uploads, place))


class PostgresUpload:
    def __init__(self, database: PostgresDatabase, tenant: TenantId, content: str) -> None:
        self._database = database
        self._blob = Blob(tenant=tenant, sha256="", size=0, content=content)
        self._hash, self._size, self._count = hashlib.sha256(), 0, 0
        self._last: Piece | None = None

    async def add(self, data: bytes) -> None:
        if self._last is not None:
            params = rows.piece_params(self._blob, self._last)
            await self._database.finish(self._database.write("write_piece", sql.insert_piece, params))
        self._hash.update(data)
        self._last = Piece(no=self._count, sha256=sha256_of(data), data=data)
        self._size, self._count = self._size + len(data), self._count + 1

    async def finish(self) -> NewBlob:
        if self._last is None:
            await self.add(b"")
        assert self._last is not None
        blob = Blob(
            tenant=self._blob.tenant, sha256=self._hash.hexdigest(), size=self._size, content=self._blob.content
        )
        return NewBlob(blob=blob, count=self._count, pieces=(self._last,))

    async def discard(self) -> None:
        if self._count > 1:
            await self._database.finish(self._discard())

    async def _discard(self) -> None:
        async with self._database.transaction("discard_upload") as tx:
            await tx.run(sql.open_collection, {})
            await tx.run(sql.drop_pieces, rows.place_of(self._blob))
