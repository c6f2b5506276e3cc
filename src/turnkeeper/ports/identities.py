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


BY_JWT = "jwt"
"""The mark of what an issuer vouches for: it is not kept here, so a login remembers what it said."""


class Identities(Protocol):
    async def shown(self, token: str) -> Shown:
        """Raises NotAuthenticated for an unknown token and TokenExpired for one that has run out."""

    def standing(self, mark: str) -> Principal | None:
        """Who the token that is remembered by this mark speaks for now; None when that is nobody, or cannot be told."""
