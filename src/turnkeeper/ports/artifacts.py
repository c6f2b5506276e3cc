"""What we ask of a database about artifacts, and of the place where their bytes lie."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from typing import Protocol

from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.blob import Blob, ByteRange, NewBlob
from turnkeeper.model.ids import ArtifactId, TenantId, UserId


class ArtifactStore(Protocol):
    async def keep(self, artifact: Artifact, new: NewBlob, audit: AuditFacts, *, most: int | None = None) -> Artifact:
        """Keep an artifact for good, and its content unless the tenant has it already.

        One of the same id is left as it is, and returned. What was brought for nothing is dropped. Raises
        UploadLost, or QuotaExceeded when the tenant would have more than `most` bytes. What it has takes no room.
        """

    async def get(self, tenant: TenantId, artifact_id: ArtifactId) -> Artifact:
        """Raises ArtifactNotFound, also for one of another tenant."""

    async def list(
        self, tenant: TenantId, *, user: UserId | None, before: ArtifactId | None, limit: int
    ) -> Sequence[Artifact]:
        """Newest first: those that this user keeps, or with None those of all."""

    async def of_content(self, tenant: TenantId, sha256: str) -> Sequence[Artifact]:
        """Every artifact with this content, oldest first."""

    async def kept_of(self, tenant: TenantId, hashes: Sequence[str]) -> frozenset[str]:
        """Those of these contents of which there is an artifact."""

    async def is_in_a_manifest(self, tenant: TenantId, sha256: str) -> bool:
        """Whether a manifest of the tenant holds this content, so that all of the tenant may read it."""

    async def blob(self, tenant: TenantId, sha256: str) -> Blob:
        """Where the content lies. Raises ArtifactNotFound."""


class Upload(Protocol):
    """Content on its way in, a piece at a time. Nobody can read it before it is kept under an artifact."""

    async def add(self, data: bytes) -> None:
        """The next piece; all but the last have PIECE_BYTES."""

    async def finish(self) -> NewBlob:
        """Nothing more comes; what was brought is durable, or comes along to be written with its blob."""

    async def discard(self) -> None:
        """Drop what has come. Who is killed before leaves it to the sweep."""


class BlobStore(Protocol):
    """Where the bytes of content lie."""

    def upload(self, tenant: TenantId, name: str) -> Upload: ...

    def read(self, blob: Blob, part: ByteRange) -> AsyncIterator[bytes]:
        """A part of the content, each piece verified before it is given. Raises ArtifactDamaged."""

    async def drop(self, blobs: Collection[Blob]) -> None:
        """Forget these bytes; the database does not know of them any more."""

    async def sweep(self, *, before: datetime) -> int:
        """Clear away what was begun before that moment and is known to no database, and say how much."""
