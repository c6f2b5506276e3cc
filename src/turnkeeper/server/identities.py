"""Identities from a file or from the command line: which token speaks for whom, and until when.

A token is kept as its SHA-256 alone. The file may hold hashes instead of tokens, too.
"""

import hashlib
import hmac
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turnkeeper.errors import NotAuthenticated, TokenExpired
from turnkeeper.keeping.keys import PREFIX
from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.principal import Principal, Role
from turnkeeper.ports.identities import Identities, Shown

FIELDS = ("token", "token_sha256", "tenant", "user", "role", "grants", "expires_at", "is_operator", "session")
SHORTEST_TOKEN = 8


class IdentitiesInvalid(ValueError):
    """Says which entry and which field of which file is wrong, all of them at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    token_hash: bytes
    principal: Principal
    expires_at: datetime | None = None


class StaticIdentities:
    def __init__(
        self, identities: Iterable[Identity], *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._identities = tuple(identities)
        self._now = now

    async def shown(self, token: str) -> Shown:
        wanted, found = hash_of(token), None
        # Every entry is compared, so that the time it takes does not tell how near a guess was.
        for identity in self._identities:
            if hmac.compare_digest(identity.token_hash, wanted):
                found = identity
        if found is None:
            raise NotAuthenticated
        if found.expires_at is not None and self._now() >= found.expires_at:
            raise TokenExpired
        return Shown(principal=found.principal, mark=found.token_hash.hex(), until=found.expires_at)

    def standing(self, mark: str) -> Principal | None:
        now = self._now()
        for identity in self._identities:
            if identity.token_hash.hex() == mark and (identity.expires_at is None or now < identity.expires_at):
                return identity.principal
        return None


class AllIdentities:
    """Several identities as one: the first that knows a token is believed."""

    def __init__(self, *identities: Identities) -> None:
        self._identities = identities

    async def shown(self, token: str) -> Shown:
        known: NotAuthenticated = NotAuthenticated()
        for each in self._identities:
            try:
                return await each.shown(token)
            except TokenExpired as expired:
                known = expired
            except NotAuthenticated:
                continue
        raise known

    def standing(self, mark: str) -> Principal | None:
        found = (each.standing(mark) for each in self._identities)
        return next((principal for principal in found if principal is not None), None)


def hash_of(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def single_identity(token: str) -> Identity:
    """The one who started the server: its operator, and owner of the default tenant."""
    return Identity(
        token_hash=hash_of(token),
        principal=Principal(tenant=TenantId("default"), user=UserId("local"), role=Role.OWNER, is_operator=True),
    )


def read_identities(path: Path) -> list[Identity]:
    """A list in JSON, or `[[identities]]` in TOML. Raises IdentitiesInvalid, naming each faulty entry and field."""
    entries = _entries_of(path)
    faults: list[str] = []
    identities: list[Identity] = []
    for number, entry in enumerate(entries, start=1):
        found, wrong = _identity_of(entry)
        faults += [f"entry {number}, {fault}" for fault in wrong]
        if found is not None:
            if any(found.token_hash == other.token_hash for other in identities):
                faults.append(f"entry {number}, token: is the token of an entry before it")
            identities.append(found)
    if not entries:
        faults.append("holds no identities, so nobody could come in")
    if faults:
        raise IdentitiesInvalid(f"{path}: " + "; ".join(faults))
    return identities


def is_readable_by_others(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o077)


def _entries_of(path: Path) -> list[Any]:
    try:
        text = path.read_text(encoding="utf-8")
        read = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise IdentitiesInvalid(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise IdentitiesInvalid(f"{path}: is not UTF-8") from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise IdentitiesInvalid(f"{path}: {error}") from None
    entries = read.get("identities") if isinstance(read, Mapping) else read
    if not isinstance(entries, list):
        raise IdentitiesInvalid(f"{path}: must hold a list, in TOML as [[identities]]")
    return entries


def _identity_of(entry: Any) -> tuple[Identity | None, list[str]]:
    if not isinstance(entry, Mapping):
        return None, ["must be an object with token, tenant, user and role"]
    faults = [f"{name}: is not a known field" for name in entry if name not in FIELDS]
    token_hash = _token_hash(entry, faults)
    names = {}
    for name in ("tenant", "user"):
        value = entry.get(name)
        if not isinstance(value, str) or not value.strip():
            faults.append(f"{name}: must be a name")
        else:
            names[name] = value
    role = entry.get("role", Role.MEMBER.value)
    if role not in set(Role):
        faults.append(f"role: must be one of {', '.join(Role)}")
    grants = _grants(entry.get("grants", []), faults)
    expires_at = _moment(entry.get("expires_at"), faults)
    session = entry.get("session")
    if session is not None and (not isinstance(session, str) or not session or role != Role.AGENT):
        faults.append("session: must be the id of a session, and goes with the role agent")
    is_operator = entry.get("is_operator", False)
    if not isinstance(is_operator, bool):
        faults.append("is_operator: must be true or false")
    if faults or token_hash is None:
        return None, faults
    try:
        principal = Principal(
            tenant=TenantId(names["tenant"]),
            user=UserId(names["user"]),
            role=Role(role),
            grants=grants,
            is_operator=is_operator,
            session_id=None if session is None else SessionId(session),
        )
    except ValueError as error:
        return None, [f"tenant: {error}"]
    return Identity(token_hash=token_hash, principal=principal, expires_at=expires_at), []


def _token_hash(entry: Mapping[str, Any], faults: list[str]) -> bytes | None:
    token, digest = entry.get("token"), entry.get("token_sha256")
    if (token is None) == (digest is None):
        faults.append("token: give either token or token_sha256")
    elif token is not None:
        if isinstance(token, str) and token.startswith(PREFIX):
            faults.append(f"token: must not begin with {PREFIX}, as API keys do")
            return None
        if isinstance(token, str) and len(token) >= SHORTEST_TOKEN and token.isascii() and token.isprintable():
            return hash_of(token)
        faults.append(f"token: must be at least {SHORTEST_TOKEN} printable ASCII characters")
    else:
        try:
            read = bytes.fromhex(str(digest))
        except ValueError:
            read = b""
        if len(read) == hashlib.sha256().digest_size:
            return read
        faults.append("token_sha256: must be 64 hexadecimal digits")
    return None


def _grants(value: Any, faults: list[str]) -> frozenset[str]:
    if isinstance(value, list) and all(isinstance(grant, str) and grant.strip() for grant in value):
        return frozenset(value)
    faults.append("grants: must be a list of names")
    return frozenset()


def _moment(value: Any, faults: list[str]) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return moment
    faults.append("expires_at: must be a moment with its zone, such as 2030-01-01T00:00:00Z")
    return None
