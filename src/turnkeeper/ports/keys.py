"""What we ask of a database about API keys."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from turnkeeper.model.api_key import ApiKey, KeyKind
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import KeyId, TenantId, UserId


class KeyStore(Protocol):
    async def add(self, key: ApiKey, audit: AuditFacts, *, most: int) -> None:
        """Raises TooManyKeys when its user has this many live ones. Of logins the oldest gives way, and those that are
        over go.
        """

    async def find(self, tenant: TenantId, id: KeyId) -> ApiKey | None: ...

    async def list(
        self, tenant: TenantId, kind: KeyKind, *, user: UserId | None, before: KeyId | None, limit: int
    ) -> Sequence[ApiKey]:
        """Newest first: those of a user, or all of the tenant."""

    async def revoke(self, tenant: TenantId, id: KeyId, audit: AuditFacts, *, at: datetime) -> ApiKey:
        """From now on it opens nothing. Revoking it twice does nothing. Raises KeyNotFound."""

    async def used(self, tenant: TenantId, id: KeyId, *, at: datetime) -> None:
        """Remember when it was used last."""
