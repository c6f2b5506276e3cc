"""Who a token speaks for."""

from typing import Protocol

from turnkeeper.model.principal import Principal


class Identities(Protocol):
    def principal_of(self, token: str) -> Principal:
        """Raises NotAuthenticated for an unknown token and TokenExpired for one that has run out."""
