"""Keeping content by its hash, and giving out nothing but what was kept."""

import re
from dataclasses import dataclass

from turnkeeper.errors import ArtifactDamaged, AttachmentTooLarge
from turnkeeper.model.artifact import Artifact, sha256_of
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import ArtifactId
from turnkeeper.model.principal import Principal
from turnkeeper.ports.artifacts import ArtifactStore
from turnkeeper.ports.clock import Clock

ANY_CONTENT = "application/octet-stream"
MOST_NAME_CHARS = 255
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")


@dataclass(frozen=True, slots=True)
class ArtifactShelf:
    store: ArtifactStore
    clock: Clock
    most_bytes: int

    async def keep(
        self,
        content: bytes,
        *,
        media_type: str,
        name: str | None,
        principal: Principal,
        audit: AuditFacts,
        artifact_id: ArtifactId | None = None,
    ) -> Artifact:
        """Raises AttachmentTooLarge. With an id that is known already, what was kept under it stays."""
        if len(content) > self.most_bytes:
            raise AttachmentTooLarge(len(content), self.most_bytes)
        artifact = Artifact(
            tenant=principal.tenant,
            id=artifact_id or ArtifactId(self.clock.new_id("art")),
            sha256=sha256_of(content),
            media_type=plain_media_type(media_type),
            name=plain_name(name),
            size=len(content),
            created_by=principal.user,
            created_at=self.clock.now(),
        )
        return await self.store.keep(artifact, content, audit)

    async def read(self, artifact: Artifact) -> bytes:
        """Raises ArtifactDamaged for content that is not what was kept."""
        content = await self.store.content(artifact)
        if not artifact.has(content):
            raise ArtifactDamaged(artifact.id)
        return content


def plain_media_type(written: str) -> str:
    """Without parameters; what is no media type is any content."""
    media_type = written.partition(";")[0].strip().lower()
    return media_type if _MEDIA_TYPE.fullmatch(media_type) else ANY_CONTENT


def plain_name(written: str | None) -> str | None:
    """The last part of a path, without what no file name holds; None when nothing is left."""
    last = re.split(r"[/\\]", written or "")[-1]
    name = "".join(each for each in last if each.isprintable()).strip(" .")
    return name[:MOST_NAME_CHARS] or None
