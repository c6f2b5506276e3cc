"""Content that is kept for good, known by its hash."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from turnkeeper.model.event import Attachment
from turnkeeper.model.ids import ArtifactId, TenantId, UserId
from turnkeeper.model.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """Who kept which content, under which name. The content itself is kept once for all of its tenant."""

    tenant: TenantId
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

    @property
    def attached(self) -> Attachment:
        """As it goes with a message."""
        return Attachment(artifact_id=self.id, media_type=self.media_type, sha256=self.sha256, uri=self.uri)

    def is_open_to(self, principal: Principal) -> bool:
        """Who kept it, and owner and admin of the tenant; to all others it does not exist."""
        return self.tenant == principal.tenant and (self.created_by == principal.user or principal.sees_whole_tenant)

    def has(self, content: bytes) -> bool:
        """Whether this is the content that was kept."""
        return len(content) == self.size and sha256_of(content) == self.sha256


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
