"""A person or a program of a tenant, as its owner knows it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.model.principal import Role


class UserStatus(StrEnum):
    ACTIVE = "active"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Where there is one, its role and its status are what holds for a caller, whatever the token says."""

    tenant: TenantId
    id: UserId
    name: str | None = None
    role: Role = Role.MEMBER
    status: UserStatus = UserStatus.ACTIVE
    version: int = 1
    created_by: UserId
    created_at: datetime
    updated_at: datetime

    @property
    def is_acting_owner(self) -> bool:
        return self.role is Role.OWNER and self.status is UserStatus.ACTIVE
