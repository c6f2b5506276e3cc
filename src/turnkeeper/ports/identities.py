"""Who a token speaks for."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from turnkeeper.model.principal import Principal


class Directory(Protocol):
    async def admitted(self, principal: Principal) -> Principal:
        """The caller as its tenant wants it now. Raises TenantSuspended or UserSuspended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is known of a token that was shown: who it speaks for, until when, and what to remember it by."""

    principal: Principal
    mark: str
    until: datetime | None = None


class Identities(Protocol):
    async def shown(self, token: str) -> Shown:
        """Raises NotAuthenticated for an unknown token and TokenExpired for one that has run out."""

    def stands_for(self, mark: str) -> bool:
        """Whether the token that is remembered by this mark would still be good, as far as can be told."""
