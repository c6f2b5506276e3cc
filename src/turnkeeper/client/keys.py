"""API keys, made, listed and revoked from a distance."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part, reading
from turnkeeper.client.shapes import read
from turnkeeper.model.api_key import KeyKind
from turnkeeper.model.ids import KeyId, SessionId, TenantId, UserId
from turnkeeper.model.policy import Rate
from turnkeeper.model.principal import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    tenant: TenantId
    id: KeyId
    name: str
    user: UserId
    role: Role
    grants: frozenset[str]
    limited_to: frozenset[str] | None
    session_id: SessionId | None
    rate: Rate | None
    created_by: UserId
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeKey:
    """A key with its token, which is told this once and never again."""

    key: ApiKey
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """Who the token speaks for, and what that one may do."""

    tenant: TenantId
    user: UserId
    role: Role
    grants: frozenset[str]
    rights: tuple[str, ...]
    limited_to: frozenset[str] | None
    session_id: SessionId | None
    is_operator: bool
    key_id: KeyId | None
    expires_at: datetime | None


class Keys(Part):
    async def create(
        self,
        name: str,
        *,
        user: str | None = None,
        role: Role | str | None = None,
        grants: Iterable[str] | None = None,
        limited_to: Iterable[str] | None = None,
        session_id: str | None = None,
        expires_at: datetime | None = None,
        rate: Rate | None = None,
        tenant: str | None = None,
    ) -> MadeKey:
        """Make a key; its token is in what this returns, and nowhere else.

        Raises NotAllowed, EnvelopeInvalid or TooManyKeys.
        """
        asked: Mapping[str, Any] = {
            "name": name,
            "user": user,
            "role": role,
            "grants": None if grants is None else sorted(grants),
            "limited_to": None if limited_to is None else sorted(limited_to),
            "session_id": session_id,
            "expires_at": None if expires_at is None else expires_at.isoformat(),
            "rate": None if rate is None else msgspec.to_builtins(rate),
            "tenant": tenant,
        }
        body = {what: value for what, value in asked.items() if value is not None}
        told = await self._ask("POST", "keys", body=body, key=None)
        return MadeKey(key=read(told, ApiKey), token=told["token"])

    async def get(self, id: str) -> ApiKey:
        """One's own, or for owner and admin any of the tenant. Raises KeyNotFound."""
        return await self._get(ApiKey, "keys", id)

    async def list(
        self, *, kind: KeyKind | str = KeyKind.KEY, before: str | None = None, limit: int = 50
    ) -> Page[ApiKey]:
        """Newest first: one's own, or all of the tenant's for its owner and admins; revoked and expired ones too."""
        return await self._page(reading(ApiKey), "keys", kind=KeyKind(kind).value, cursor=before, limit=limit)

    async def revoke(self, id: str) -> ApiKey:
        """It opens nothing any more, nor does any login that was made with it. Raises KeyNotFound."""
        return read(await self._ask("POST", "keys", id, "revoke", key=None, is_repeatable=True), ApiKey)
