"""Who a token speaks for."""

from typing import Protocol

from turnkeeper.model.principal import Principal


class Directory(Protocol):
    async def admitted(self, principal: Principal) -> Principal:
        """The caller as its tenant wants it now. Raises TenantSuspended or UserSuspended."""


class Identities(Protocol):
    def principal_of(self, token: str) -> Principal:
        """Raises NotAuthenticated for an unknown token and TokenExpired for one that has run out."""
