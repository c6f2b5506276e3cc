"""Artifacts: keeping content for good, and reading it again."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence

from turnkeeper.errors import ArtifactNotFound, NotAllowed
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.blob import ByteRange
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import ArtifactId, is_id
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.ports.artifacts import ArtifactStore
from turnkeeper.substrate.artifacts import ANY_CONTENT, ArtifactShelf, plain_sha256


class Artifacts:
    """Who keeps an artifact may read it, and so may owner and admin of the tenant; to all others it does not exist.

    What is in a manifest is open to everyone of the tenant.
    """

    def __init__(self, store: ArtifactStore, shelf: ArtifactShelf, *, audit: Callable[..., AuditFacts]) -> None:
        self._store, self._shelf, self._audit = store, shelf, audit

    async def keep(
        self,
        content: bytes | AsyncIterable[bytes],
        *,
        media_type: str = ANY_CONTENT,
        name: str | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
        artifact_id: ArtifactId | None = None,
    ) -> Artifact:
        """Raises AttachmentTooLarge. The same content is kept once, under as many names as it is given.

        Content that comes piece by piece is never in memory as a whole.
        """
        if not principal.may_write:
            raise NotAllowed("A viewer keeps nothing. Ask the operator for another role.")
        size = {"size": str(len(content))} if isinstance(content, bytes) else {}
        audit = self._audit(Command.KEEP_ARTIFACT, principal, trace_id, **size)
        return await self._shelf.keep(
            content, media_type=media_type, name=name, principal=principal, audit=audit, artifact_id=artifact_id
        )

    async def get(self, artifact_id: str, *, principal: Principal = LOCAL) -> Artifact:
        """By its id or its hash. Raises ArtifactNotFound, also when somebody else keeps it."""
        if sha256 := plain_sha256(artifact_id):
            found = await self._store.of_content(principal.tenant, sha256)
        elif is_id(artifact_id):
            found = [await self._store.get(principal.tenant, ArtifactId(artifact_id))]
        else:
            found = []
        for artifact in found:
            if artifact.is_open_to(principal):
                return artifact
        if found and await self._store.is_in_a_manifest(principal.tenant, found[0].sha256):
            return found[0]
        raise ArtifactNotFound(ArtifactId(artifact_id))

    async def list(
        self, *, principal: Principal = LOCAL, before: str | None = None, limit: int = 50
    ) -> Sequence[Artifact]:
        """Newest first: those that one keeps, or those of the whole tenant for its owner and admins."""
        user = None if principal.sees_whole_tenant else principal.user
        place = None if before is None else ArtifactId(before)
        return await self._store.list(principal.tenant, user=user, before=place, limit=limit)

    async def read(self, artifact_id: str, *, principal: Principal = LOCAL) -> bytes:
        """Raises ArtifactNotFound, or ArtifactDamaged when the content is not what was kept."""
        return await self._shelf.read(await self.get(artifact_id, principal=principal))

    def pieces(self, artifact: Artifact, part: ByteRange | None = None) -> AsyncGenerator[bytes, None]:
        """The content or a part of it, piece by piece. Raises ArtifactDamaged before a damaged piece would be given."""
        return self._shelf.pieces(artifact, part)
