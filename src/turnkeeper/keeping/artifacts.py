"""Artifacts: keeping content for good, and reading it again."""

from collections.abc import Callable

from turnkeeper.errors import ArtifactNotFound, NotAllowed
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import ArtifactId
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.ports.artifacts import ArtifactStore
from turnkeeper.steps.receive import is_id
from turnkeeper.substrate.artifacts import ANY_CONTENT, ArtifactShelf


class Artifacts:
    """Who keeps an artifact may read it, and so may owner and admin of the tenant; to all others it does not exist."""

    def __init__(self, store: ArtifactStore, shelf: ArtifactShelf, *, audit: Callable[..., AuditFacts]) -> None:
        self._store, self._shelf, self._audit = store, shelf, audit

    async def keep(
        self,
        content: bytes,
        *,
        media_type: str = ANY_CONTENT,
        name: str | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
        artifact_id: ArtifactId | None = None,
    ) -> Artifact:
        """Raises AttachmentTooLarge. The same content is kept once, under as many names as it is given."""
        if not principal.may_write:
            raise NotAllowed("A viewer keeps nothing. Ask the operator for another role.")
        audit = self._audit(Command.KEEP_ARTIFACT, principal, trace_id, size=str(len(content)))
        return await self._shelf.keep(
            content, media_type=media_type, name=name, principal=principal, audit=audit, artifact_id=artifact_id
        )

    async def get(self, artifact_id: str, *, principal: Principal = LOCAL) -> Artifact:
        """Raises ArtifactNotFound, also when somebody else keeps it."""
        if not is_id(artifact_id):
            raise ArtifactNotFound(ArtifactId(artifact_id))
        artifact = await self._store.get(principal.tenant, ArtifactId(artifact_id))
        if not artifact.is_open_to(principal):
            raise ArtifactNotFound(artifact.id)
        return artifact

    async def read(self, artifact_id: str, *, principal: Principal = LOCAL) -> bytes:
        """Raises ArtifactNotFound, or ArtifactDamaged when the content is not what was kept."""
        return await self._shelf.read(await self.get(artifact_id, principal=principal))
