"""Content that is kept for good, sent to a server and fetched from it."""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part, reading
from turnkeeper.client.shapes import read
from turnkeeper.errors import ArtifactDamaged
from turnkeeper.model.artifact import sha256_of
from turnkeeper.model.blob import ByteRange
from turnkeeper.model.ids import ArtifactId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    id: ArtifactId
    sha256: str
    media_type: str
    name: str | None
    size: int
    created_by: UserId
    created_at: datetime

    @property
    def uri(self) -> str:
        return f"artifact:{self.id}"


class Artifacts(Part):
    async def keep(
        self,
        content: bytes | AsyncIterable[bytes],
        *,
        media_type: str = "application/octet-stream",
        name: str | None = None,
    ) -> Artifact:
        """Raises AttachmentTooLarge. The same content is kept once, under as many names as it is given."""
        headers = {"Content-Type": media_type}
        query = {"name": name}
        told = await self._ask("POST", "artifacts", content=content, headers=headers, query=query, key=None)
        return read(told, Artifact)

    async def list(self, *, before: str | None = None, limit: int = 50) -> Page[Artifact]:
        """Newest first: those that one keeps, or those of the whole tenant for its owner and admins."""
        return await self._page(reading(Artifact), "artifacts", cursor=before, limit=limit)

    async def get(self, artifact_id: str) -> Artifact:
        """By its id or its hash. Raises ArtifactNotFound, also when somebody else keeps it."""
        return await self._get(Artifact, "artifacts", artifact_id)

    async def read(self, artifact_id: str) -> bytes:
        """Raises ArtifactNotFound, or ArtifactDamaged when the content is not what was kept."""
        artifact = await self.get(artifact_id)
        async with aclosing(self.pieces(artifact)) as pieces:
            content = b"".join([piece async for piece in pieces])
        if sha256_of(content) != artifact.sha256:
            raise ArtifactDamaged(artifact.id)
        return content

    def pieces(self, artifact: Artifact, part: ByteRange | None = None) -> AsyncGenerator[bytes, None]:
        """The content or a part of it, piece by piece."""
        headers = {} if part is None else {"Range": f"bytes={part.first}-{part.last}"}
        return self._content("artifacts", artifact.id, "content", **headers)
