"""What we ask of a database about manifests, pointers, outputs and what nobody refers to any more."""

from collections.abc import AsyncIterable, Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.blob import Blob
from turnkeeper.model.ids import PointerId, RunId, SessionId, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.model.manifest import Manifest, ManifestEntry, NewManifest
from turnkeeper.model.mount import Mount, MountRef
from turnkeeper.model.output import Output, OutputKind, Publication, Published, SessionCost, SessionStorage
from turnkeeper.model.pointer import Expected, Move, Pointer, PointerKind, PointerMove
from turnkeeper.model.tool import Resource

Mounted = Callable[[MountRef], Awaitable[Mount | None]]
"""How the session has something mounted at this moment; None when it has not."""


class Check(Protocol):
    async def __call__(self, action: str, *resources: Resource, about: Mapping[str, Any] | None = None) -> str:
        """Asked before a run reads or moves anything. Whatever it raises is what the run is told.

        `about` is what a person must know to decide. Gives the key of just this, the same in every walk.
        """


class ManifestStore(Protocol):
    async def create(self, new: NewManifest, audit: AuditFacts) -> tuple[Manifest, bool]:
        """Keep a manifest; True when the same tree was there already, then as it was kept first.

        Raises ArtifactsMissing or, for its parent, ManifestNotFound.
        """

    async def get(self, tenant: TenantId, sha256: str) -> Manifest:
        """Raises ManifestNotFound, also for one of another tenant."""

    async def entries(self, tenant: TenantId, sha256: str, *, after: int, limit: int) -> Sequence[ManifestEntry]:
        """In their order; `after` is how many of them to leave out."""

    async def entry(self, tenant: TenantId, sha256: str, path: str) -> ManifestEntry | None: ...

    async def history(self, tenant: TenantId, sha256: str, *, limit: int) -> Sequence[Manifest]:
        """Itself, then its parent, and so on. Raises ManifestNotFound."""


class PointerStore(Protocol):
    async def create(self, pointer: Pointer, audit: AuditFacts) -> None:
        """With the first entry of its history. Raises PointerExists or ManifestNotFound."""

    async def get(self, tenant: TenantId, pointer_id: PointerId, *, deleted: bool = False) -> Pointer:
        """Raises PointerNotFound, unless `deleted` also for one that was deleted."""

    async def living(self, tenant: TenantId, pointer_ids: Sequence[PointerId]) -> frozenset[PointerId]:
        """Those of these that are there and were not deleted."""

    async def named(self, tenant: TenantId, namespace: str, name: str) -> Pointer:
        """Raises PointerNotFound."""

    async def list(
        self,
        tenant: TenantId,
        *,
        namespace: str | None,
        kind: PointerKind | None,
        before: PointerId | None,
        limit: int,
    ) -> Sequence[Pointer]:
        """Newest first, without the deleted ones."""

    async def move(self, tenant: TenantId, pointer_id: PointerId, move: Move, audit: AuditFacts) -> Pointer:
        """Advance, reset or delete it, and write that into its history.

        Raises PointerNotFound, PointerMoved, PointerFrozen or ManifestNotFound; then nothing was changed.
        """

    async def moves(
        self, tenant: TenantId, pointer_id: PointerId, *, before: int | None, limit: int
    ) -> Sequence[PointerMove]:
        """Newest first."""


class OutputStore(Protocol):
    async def publish(
        self, publication: Publication, *, lease: Lease | None = None, audit: AuditFacts | None = None
    ) -> Published:
        """Artifacts, manifest, move of the pointer, outputs and feed entries in one transaction.

        With a lease it is the work of that run, and refused with LeaseLost when the run has lost it. Raises what
        `create` of a manifest and `move` of a pointer raise; then nothing was written.
        """

    async def list(
        self,
        tenant: TenantId,
        session_id: SessionId,
        *,
        run_id: RunId | None,
        kind: OutputKind | None,
        after: int,
        limit: int,
    ) -> Sequence[Output]:
        """In the order of the feed."""

    async def newest(self, tenant: TenantId, session_id: SessionId, *, limit: int) -> Sequence[Output]:
        """What came out of a session last, oldest first."""

    async def counts(
        self, tenant: TenantId, session_id: SessionId, *, run_id: RunId | None = None
    ) -> Mapping[OutputKind, int]:
        """How much came out of a session, or of one run in it."""

    async def cost(self, tenant: TenantId, session_id: SessionId) -> SessionCost: ...

    async def storage(self, tenant: TenantId, *, after: SessionId | None, limit: int) -> Sequence[SessionStorage]:
        """What each session takes, oldest first."""

    async def totals(self, tenant: TenantId) -> Mapping[str, int]:
        """How many blobs, blob_bytes, artifacts and manifests a tenant has."""


class CollectionStore(Protocol):
    """What nobody refers to: found without haste, looked at once more and removed in one transaction."""

    async def tenants(self) -> Sequence[TenantId]: ...

    async def candidates(
        self, tenant: TenantId, *, before: datetime, after: str, limit: int
    ) -> Sequence[tuple[Blob, tuple[str, ...]]]:
        """Content that was last kept before that moment and is in no manifest and no output, by hash, each with the ids
        of its artifacts.
        """

    def mentions(self, tenant: TenantId, *, without: Collection[SessionId] = ()) -> AsyncIterable[str]:
        """Everything kept in which an artifact may be named: messages, inputs of runs, mounts, contexts, layers.

        `without` are sessions whose own words do not count.
        """

    async def remove(self, tenant: TenantId, blobs: Sequence[Blob], *, before: datetime, since: datetime) -> list[Blob]:
        """Remove those of them that still nobody refers to, and say which.

        `since` is when the mentions were read: what was sent after it is looked at once more.
        """

    async def sweep_uploads(self, *, before: datetime) -> int:
        """Drop the pieces of uploads that were begun before that moment and never came to their end."""


class Substrate(Protocol):
    """What a run may do with the substrate; everything is checked against the scope of its session first.

    Async agents await what these give; those in threads are handed the result. What is out of reach raises ScopeDenied,
    the same for what does not exist.
    """

    def emit(
        self, content: bytes | AsyncIterable[bytes], *, path: str | None = None, media_type: str = ...
    ) -> Awaitable[Artifact]:
        """Keep content as an output of the session. Raises LeaseLost, then nothing came out."""

    def read(self, pointer: str, path: str) -> Awaitable[bytes]:
        """A file of a mounted pointer, named by id or `namespace/name`. Raises ArtifactDamaged."""

    def entries(self, pointer: str) -> Awaitable[Sequence[ManifestEntry]]:
        """What a mounted pointer holds."""

    def artifact(self, sha256: str) -> Awaitable[bytes]:
        """Content by its hash."""

    def manifest(self, sha256: str) -> Awaitable[Sequence[ManifestEntry]]:
        """The entries of a manifest by its hash."""

    def publish(
        self,
        files: Mapping[str, str | Artifact],
        *,
        pointer: str | None = None,
        expected: Expected | None = None,
        message: str | None = None,
        reason: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Awaitable[Published]:
        """Paths to content become a manifest, and the pointer moves there, in one transaction. Raises LeaseLost."""

    def advance(
        self, pointer: str, manifest: str, *, expected: Expected | None = None, reason: str | None = None
    ) -> Awaitable[Pointer]:
        """Move a mounted pointer to a manifest in reach, also to an older one."""
