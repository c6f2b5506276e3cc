"""Keeping content by its hash, and giving out nothing but what was kept."""

import hashlib
import re
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from turnkeeper.errors import ArtifactDamaged, AttachmentTooLarge
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.blob import PIECE_BYTES, Blob, ByteRange, NewBlob
from turnkeeper.model.ids import ArtifactId, TenantId
from turnkeeper.model.principal import Principal
from turnkeeper.ports.artifacts import ArtifactStore, BlobStore
from turnkeeper.ports.clock import Clock

ANY_CONTENT = "application/octet-stream"
MOST_NAME_CHARS = 255
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class ArtifactShelf:
    store: ArtifactStore
    blobs: BlobStore
    clock: Clock
    most_bytes: int
    quota: Callable[[TenantId], Awaitable[int | None]] | None = None

    async def keep(
        self,
        content: bytes | AsyncIterable[bytes],
        *,
        media_type: str,
        name: str | None,
        principal: Principal,
        audit: AuditFacts,
        artifact_id: ArtifactId | None = None,
    ) -> Artifact:
        """Raises AttachmentTooLarge or QuotaExceeded. With an id that is known already, what was kept under it stays.

        No more than a piece of the content is ever held; what has come before a failure is dropped.
        """
        if isinstance(content, bytes) and len(content) > self.most_bytes:
            raise AttachmentTooLarge(len(content), self.most_bytes)
        upload = self.blobs.upload(principal.tenant, self.clock.new_id("upl").removeprefix("upl_"))
        try:
            async for piece in self._limited(_in_pieces(content)):
                await upload.add(piece)
            new = await upload.finish()
            most = None if self.quota is None else await self.quota(principal.tenant)
            artifact = Artifact(
                tenant=principal.tenant,
                id=artifact_id or ArtifactId(self.clock.new_id("art")),
                sha256=new.blob.sha256,
                media_type=plain_media_type(media_type),
                name=plain_name(name),
                size=new.blob.size,
                created_by=principal.user,
                created_at=self.clock.now(),
            )
            kept = await self.store.keep(artifact, new, audit, most=most)
        except BaseException:
            await upload.discard()
            raise
        await self._drop_if_known(new)
        return kept

    async def _limited(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        size = 0
        async for piece in pieces:
            size += len(piece)
            if size > self.most_bytes:
                raise AttachmentTooLarge(size, self.most_bytes)
            yield piece

    async def _drop_if_known(self, new: NewBlob) -> None:
        """What was brought into a file for nothing, because the tenant has the content already."""
        if not new.blob.lies_in_files:
            return
        kept = await self.store.blob(new.blob.tenant, new.blob.sha256)
        if kept.content != new.blob.content:
            await self.blobs.drop([new.blob])

    async def read(self, artifact: Artifact) -> bytes:
        """All of it. Raises ArtifactDamaged for content that is not what was kept."""
        return b"".join([piece async for piece in self.pieces(artifact)])

    async def content(self, tenant: TenantId, sha256: str) -> bytes:
        """All of it, by its hash. Raises ArtifactNotFound or ArtifactDamaged."""
        blob = await self.store.blob(tenant, sha256)
        return b"".join([piece async for piece in self._checked(blob, _whole(blob.size))])

    async def pieces(self, artifact: Artifact, part: ByteRange | None = None) -> AsyncGenerator[bytes, None]:
        """The content or a part of it, piece by piece; a piece that is not what was kept is never given out."""
        blob = await self.store.blob(artifact.tenant, artifact.sha256)
        if blob.size != artifact.size:
            raise ArtifactDamaged(artifact.id)
        async with aclosing(self._checked(blob, part or _whole(blob.size))) as pieces:
            async for piece in pieces:
                yield piece

    async def _checked(self, blob: Blob, part: ByteRange | None) -> AsyncGenerator[bytes, None]:
        """Each piece has been seen to be what was kept; of the whole its own hash is seen too, before its end."""
        if part is None:
            return
        digest, left, is_whole = hashlib.sha256(), part.size, part.size == blob.size
        async for piece in self.blobs.read(blob, part):
            digest.update(piece)
            left -= len(piece)
            if left == 0 and is_whole and digest.hexdigest() != blob.sha256:
                raise ArtifactDamaged(ArtifactId(blob.sha256))
            yield piece
        if left:
            raise ArtifactDamaged(ArtifactId(blob.sha256))


def _whole(size: int) -> ByteRange | None:
    return ByteRange(first=0, last=size - 1) if size else None


async def _in_pieces(content: bytes | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in stretches of PIECE_BYTES, however they come."""
    if isinstance(content, bytes):
        for begin in range(0, len(content), PIECE_BYTES):
            yield content[begin : begin + PIECE_BYTES]
        return
    waiting = bytearray()
    async for chunk in content:
        waiting += chunk
        while len(waiting) >= PIECE_BYTES:
            yield bytes(waiting[:PIECE_BYTES])
            del waiting[:PIECE_BYTES]
    if waiting:
        yield bytes(waiting)


def plain_sha256(written: str) -> str | None:
    """A hash in lower case; None for what is none."""
    return written.lower() if _SHA256.fullmatch(written) else None


def plain_media_type(written: str) -> str:
    """Without parameters; what is no media type is any content."""
    media_type = written.partition(";")[0].strip().lower()
    return media_type if _MEDIA_TYPE.fullmatch(media_type) else ANY_CONTENT


def plain_name(written: str | None) -> str | None:
    """The last part of a path, without what no file name holds; None when nothing is left."""
    last = re.split(r"[/\\]", written or "")[-1]
    name = "".join(each for each in last if each.isprintable()).strip(" .")
    return name[:MOST_NAME_CHARS] or None
