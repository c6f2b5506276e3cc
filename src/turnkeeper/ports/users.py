"""What we ask of a database about the users of a tenant."""

from collections.abc import Sequence
from typing import Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.model.user import User


class UserStore(Protocol):
    async def create(self, user: User, audit: AuditFacts) -> None:
        """Raises UserExists."""

    async def find(self, tenant: TenantId, id: UserId) -> User | None: ...

    async def list(self, tenant: TenantId, *, after: UserId | None, limit: int) -> Sequence[User]:
        """By their ids."""

    async def change(self, user: User, audit: AuditFacts, *, expected_version: int) -> User:
        """Raises UserNotFound, RevisionMoved, or LastOwner when no acting owner would be left."""
