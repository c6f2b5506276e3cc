"""Artifacts in a SQLite file, and their bytes where these lie there too."""

import hashlib
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime

from turnkeeper.errors import ArtifactDamaged, ArtifactNotFound, StoreUnavailable, UploadLost
from turnkeeper.model.artifact import Artifact, sha256_of
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.blob import Blob, ByteRange, NewBlob, Piece
from turnkeeper.model.ids import ArtifactId, TenantId, UserId
from turnkeeper.stores import artifacts as rows
from turnkeeper.stores.rows import Row, json_text
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteArtifacts:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def keep(self, artifact: Artifact, new: NewBlob, audit: AuditFacts, *, most: int | None = None) -> Artifact:
        return await self._database.write("keep_artifact", lambda tx: self._keep(tx, artifact, new, audit, most))

    def _keep(self, tx: Tx, artifact: Artifact, new: NewBlob, audit: AuditFacts, most: int | None) -> Artifact:
        params = rows.artifact_params(artifact)
        known = tx.execute(sql.get_artifact, params).fetchone()
        if known is None:
            _keep_blob(tx, new, most)
            tx.execute(sql.insert_artifact, params)
        else:
            _drop_pieces(tx, new)
        self._audit.append(tx, audit)
        return artifact if known is None else rows.artifact_of(known)

    async def get(self, tenant: TenantId, artifact_id: ArtifactId) -> Artifact:
        found = self._database.read(sql.get_artifact, {"tenant": tenant, "id": artifact_id})
        if not found:
            raise ArtifactNotFound(artifact_id)
        return rows.artifact_of(found[0])

    async def list(
        self, tenant: TenantId, *, user: UserId | None, before: ArtifactId | None, limit: int
    ) -> Sequence[Artifact]:
        place = {"tenant": tenant, "user": user, "before": before or rows.LAST, "limit": limit}
        return [rows.artifact_of(row) for row in self._database.read(sql.list_artifacts, place)]

    async def of_content(self, tenant: TenantId, sha256: str) -> Sequence[Artifact]:
        found = self._database.read(sql.artifacts_of_content, {"tenant": tenant, "hash": sha256})
        return [rows.artifact_of(row) for row in found]

    async def kept_of(self, tenant: TenantId, hashes: Sequence[str]) -> frozenset[str]:
        place = {"tenant": tenant, "hashes": json_text(list(hashes))}
        return frozenset(row["sha256"] for row in self._database.read(sql.kept_contents, place))

    async def is_in_a_manifest(self, tenant: TenantId, sha256: str) -> bool:
        return bool(self._database.read(sql.content_in_a_manifest, {"tenant": tenant, "hash": sha256}))

    async def blob(self, tenant: TenantId, sha256: str) -> Blob:
        found = self._database.read(sql.get_blob, {"tenant": tenant, "hash": sha256})
        if not found:
            raise ArtifactNotFound(ArtifactId(sha256))
        return rows.blob_of(found[0])


def _keep_blob(tx: Tx, new: NewBlob, most: int | None) -> None:
    """The content, unless the tenant has it; then what was brought is dropped."""
    if tx.execute(sql.insert_blob, rows.blob_params(new)).fetchall():
        if most is not None:
            rows.check_room(tx.execute(sql.stored_bytes, rows.place_of(new.blob)).fetchone(), most)
        before = len(tx.execute(sql.hold_pieces, rows.place_of(new.blob)).fetchall())
        if before + len(new.pieces) != new.count:
            raise UploadLost
        tx.executemany(sql.insert_piece, [rows.piece_params(new.blob, piece) for piece in new.pieces])
    else:
        _drop_pieces(tx, new)


def _drop_pieces(tx: Tx, new: NewBlob) -> None:
    if new.count > len(new.pieces):
        tx.execute(sql.open_collection, {})
        tx.execute(sql.drop_pieces, rows.place_of(new.blob))
        tx.execute(sql.close_collection, {})


class SqliteBlobs:
    """Content as rows, a piece each. The last piece is written together with the blob: most content is one write."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def upload(self, tenant: TenantId, name: str) -> "SqliteUpload":
        return SqliteUpload(self._database, tenant, f"upl_{name}")

    async def read(self, blob: Blob, part: ByteRange) -> AsyncIterator[bytes]:
        if blob.lies_in_files:
            raise StoreUnavailable("This content lies in files.", advice="Set artifact_files to the folder with them.")
        for no, sha256, _, inner in rows.overlapping(await self.pieces(blob), blob, part):
            found = self._database.read(sql.get_piece, rows.place_of(blob) | {"no": no})
            if not found or sha256_of(found[0]["data"]) != sha256:
                raise ArtifactDamaged(ArtifactId(blob.sha256))
            yield bytes(found[0]["data"][inner.first : inner.last + 1])

    async def drop(self, blobs: Collection[Blob]) -> None:
        """They went with their rows."""

    async def sweep(self, *, before: datetime) -> int:
        """What never came to its end is swept as rows are."""
        return 0

    async def pieces(self, blob: Blob) -> Sequence[Row]:
        return self._database.read(sql.pieces_of_blob, rows.place_of(blob))

    async def known(self, tenant: TenantId, contents: Sequence[str]) -> frozenset[str]:
        """Which of these uploads a blob names."""
        place = {"tenant": tenant, "contents": json_text(list(contents))}
        return frozenset(row["content"] for row in self._database.read(sql.known_uploads, place))


class SqliteUpload:
    def __init__(self, database: SqliteDatabase, tenant: TenantId, content: str) -> None:
        self._database = database
        self._blob = Blob(tenant=tenant, sha256="", size=0, content=content)
        self._hash, self._size, self._count = hashlib.sha256(), 0, 0
        self._last: Piece | None = None

    async def add(self, data: bytes) -> None:
        if self._last is not None:
            params = rows.piece_params(self._blob, self._last)
            await self._database.write("write_piece", lambda tx: tx.execute(sql.insert_piece, params))
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
            await self._database.write("discard_upload", self._discard)

    def _discard(self, tx: Tx) -> None:
        tx.execute(sql.open_collection, {})
        tx.execute(sql.drop_pieces, rows.place_of(self._blob))
        tx.execute(sql.close_collection, {})
