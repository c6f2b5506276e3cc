"""Identities by JSON Web Token: whoever an issuer vouches for, with a secret we share or with its public keys."""

import asyncio
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, OctKey
from joserfc.jws import extract_compact

from turnkeeper.errors import IssuerUnavailable, NotAuthenticated, TokenExpired
from turnkeeper.model.ids import SessionId, TenantId, UserId, is_id
from turnkeeper.model.principal import Principal, Role
from turnkeeper.ports.identities import BY_JWT, Shown
from turnkeeper.settings import Settings

log = logging.getLogger(__name__)

SHARED = ["HS256"]
PUBLIC = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""A public key never checks an HS256 signature: then everybody could sign with what everybody can read."""

LEEWAY_SECONDS = 30
FRESH_SECONDS = 600.0
HURRY_SECONDS = 30.0
AWAY_SECONDS = 5.0
"""An issuer that could not be reached is left alone for so long."""
FETCH_SECONDS = 5.0
LAST_MOMENT = 253_402_300_000
"""In the year 9999, behind which there are no dates."""


class IssuerKeys:
    """The keys that an issuer signs with, from a file or an address. Looked at again when a token names another one."""

    def __init__(
        self, read: Callable[[], Awaitable[Mapping[str, Any]]], *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._read, self._now = read, now
        self._keys: KeySet | None = None
        self._read_at: float | None = None
        self._reading = asyncio.Lock()

    async def holding(self, kid: object) -> KeySet:
        """Raises IssuerUnavailable when they were never read and cannot be now."""
        if self._is_due(kid):
            async with self._reading:
                if self._is_due(kid):
                    await self._read_again()
        if self._keys is None:
            raise IssuerUnavailable
        return self._keys

    def _is_due(self, kid: object) -> bool:
        if self._read_at is None:
            return True
        age = self._now() - self._read_at
        if self._keys is None:
            return age > AWAY_SECONDS
        return age > FRESH_SECONDS or (age > HURRY_SECONDS and not _has(self._keys, kid))

    async def _read_again(self) -> None:
        try:
            found = KeySet.import_key_set(dict(await self._read()))  # type: ignore[arg-type]  # checked by it
        except (httpx2.HTTPError, OSError, ValueError, TypeError, KeyError, JoseError) as error:
            log.warning("keys of the issuer cannot be read", extra={"kind": type(error).__name__})
        else:
            self._keys = found
        self._read_at = self._now()


class JwtIdentities:
    """Maps `sub`, `tid`, `role`, `scope` or `grants`, `limited_to` and `session`; a tenant vouches for nobody above
    an owner.
    """

    def __init__(
        self,
        *,
        audience: str,
        issuer: str | None = None,
        secret: str | None = None,
        keys: IssuerKeys | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._audience, self._issuer, self._now = audience, issuer, now
        self._secret = None if secret is None else OctKey.import_key(secret)
        self._keys = keys

    async def shown(self, token: str) -> Shown:
        try:
            claims = await self._verified(token)
        except (JoseError, ValueError, TypeError, KeyError, RecursionError):
            raise NotAuthenticated from None
        return Shown(principal=_principal_of(claims), mark=BY_JWT, until=self._checked_end(claims))

    def standing(self, mark: str) -> Principal | None:
        """Nobody: what a token of an issuer said is known only to who has it."""
        return None

    async def _verified(self, token: str) -> Mapping[str, Any]:
        if self._secret is not None:
            return jwt.decode(token, self._secret, algorithms=SHARED).claims
        assert self._keys is not None, "an issuer has a secret or keys"
        kid = extract_compact(token.encode()).headers().get("kid")
        keys = await self._keys.holding(kid)
        if kid is not None:
            return jwt.decode(token, keys, algorithms=PUBLIC).claims
        for key in keys.keys:
            with suppress(JoseError):
                return jwt.decode(token, key, algorithms=PUBLIC).claims
        raise NotAuthenticated

    def _checked_end(self, claims: Mapping[str, Any]) -> datetime:
        """When it runs out. Raises NotAuthenticated unless it was made for us, by whom we trust, for now."""
        now = self._now().timestamp()
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        ends: Any = claims.get("exp")
        begins: Any = claims.get("nbf", 0)
        if self._audience not in audiences or (self._issuer is not None and claims.get("iss") != self._issuer):
            raise NotAuthenticated
        if not _is_moment(ends) or not _is_moment(begins) or begins > now + LEEWAY_SECONDS:
            raise NotAuthenticated
        if now >= ends + LEEWAY_SECONDS:
            raise TokenExpired
        return datetime.fromtimestamp(ends + LEEWAY_SECONDS, UTC)


def jwt_identities(settings: Settings) -> JwtIdentities:
    """Those that the settings describe."""
    assert settings.jwt_audience is not None, "the settings check it"
    keys = None if settings.jwks is None else IssuerKeys(_reader_of(settings.jwks))
    return JwtIdentities(
        audience=settings.jwt_audience, issuer=settings.jwt_issuer, secret=settings.jwt_secret, keys=keys
    )


def _reader_of(place: str) -> Callable[[], Awaitable[Mapping[str, Any]]]:
    async def fetch() -> Mapping[str, Any]:
        async with httpx2.AsyncClient(timeout=FETCH_SECONDS) as client:
            answer = await client.get(place)
            answer.raise_for_status()
            read: Mapping[str, Any] = answer.json()
            return read

    async def read() -> Mapping[str, Any]:
        kept: Mapping[str, Any] = json.loads(await asyncio.to_thread(Path(place).read_text, encoding="utf-8"))
        return kept

    return fetch if place.startswith(("https://", "http://")) else read


def _principal_of(claims: Mapping[str, Any]) -> Principal:
    """Raises NotAuthenticated when they name nobody."""
    user, tenant, role, session = claims.get("sub"), claims.get("tid"), claims.get("role"), claims.get("session")
    limits = claims.get("limited_to")
    if not isinstance(user, str) or not is_id(user) or not isinstance(tenant, str) or not is_id(tenant):
        raise NotAuthenticated
    try:
        return Principal(
            tenant=TenantId(tenant),
            user=UserId(user),
            role=Role(role) if role is not None else Role.AGENT if session is not None else Role.MEMBER,
            grants=_names(claims.get("grants")) | _names(claims.get("scope")),
            limited_to=None if limits is None else _names(limits),
            session_id=None if session is None else SessionId(_id(session)),
        )
    except ValueError:
        raise NotAuthenticated from None


def _id(value: object) -> str:
    if not isinstance(value, str) or not is_id(value):
        raise ValueError("no id")
    return value


def _names(value: object) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset(value.split())
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return frozenset(value)
    if value is None:
        return frozenset()
    raise ValueError("neither words nor a list of them")


def _is_moment(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value < LAST_MOMENT


def _has(keys: KeySet, kid: object) -> bool:
    return kid is None or any(key.kid == kid for key in keys.keys)
