"""What we ask of a database about artifacts."""

from typing import Protocol

from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import ArtifactId, TenantId


class ArtifactStore(Protocol):
    async def keep(self, artifact: Artifact, content: bytes, audit: AuditFacts) -> Artifact:
        """Keep an artifact for good, and its content unless the tenant has it already.

        One of the same id is left as it is, and returned.
        """

    async def get(self, tenant: TenantId, artifact_id: ArtifactId) -> Artifact:
        """Raises ArtifactNotFound, also for one of another tenant."""

    async def content(self, artifact: Artifact) -> bytes:
        """As it lies there; whether it is still what was kept is for the caller to see. Raises ArtifactNotFound."""
