"""API keys: who may make and revoke them, and who comes in with one."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from turnkeeper.errors import (
    EnvelopeInvalid,
    KeyNotFound,
    LayerNotFound,
    NotAllowed,
    NotAuthenticated,
    SessionNotFound,
    StoreUnavailable,
    TokenExpired,
    TokenRevoked,
)
from turnkeeper.keeping.layers import AuditOf, check_name
from turnkeeper.keeping.limits import Limits
from turnkeeper.model.api_key import ApiKey, KeyKind
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import KeyId, SessionId, TenantId, UserId, is_id
from turnkeeper.model.policy import Rate
from turnkeeper.model.principal import LOCAL, Principal, Role
from turnkeeper.model.scope import Level
from turnkeeper.model.session import Session
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.keys import KeyStore

PREFIX = "tk_"
KEPT_FOR = timedelta(seconds=1)
MOST_KEPT = 4096
TOLD_EACH = timedelta(minutes=1)
"""How often it is written down that a key is in use."""
MOST_GRANTS = 100
LONGEST_GRANT = 128
_LIMIT = re.compile(r"(?:[a-z]+|\*):(?:read|write|manage|operate|\*)")

SessionOf = Callable[..., Awaitable[Session]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeKey:
    """A key with its token, which is told this once and never again."""

    key: ApiKey
    token: str


class Keys:
    """Everyone makes keys for themselves, owner and admin for all of their tenant, an operator for all tenants.

    Nobody gives more than they have. A change made here counts at once, one made on another node within a second.
    """

    def __init__(
        self, store: KeyStore, limits: Limits, clock: Clock, *, most: int, session_of: SessionOf, audit: AuditOf
    ) -> None:
        self._store, self._limits, self._clock, self._most = store, limits, clock, most
        self._session_of, self._audit = session_of, audit
        self._known: dict[tuple[TenantId, KeyId], tuple[datetime, ApiKey | None]] = {}

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
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> MadeKey:
        """Make a key; its token is in what this returns, and nowhere else.

        `role` is at most one's own; `grants` are one's own unless some of them are named; `limited_to` names what it
        opens, such as `sessions:read` or `*:read`. With `session_id` it is the key of an agent that reaches what that
        session reaches. `tenant` is for an operator. Raises NotAllowed, EnvelopeInvalid or TooManyKeys.
        """
        check_name(name)
        self._check_may_make(principal)
        of = self._tenant(tenant, principal)
        whose = self._whose(user, of, principal)
        if session_id is not None:
            if of != principal.tenant:
                raise SessionNotFound(SessionId(session_id))  # It is bound by who may open it, in their own tenant.
            await self._session_of(session_id, principal=principal)
        now = self._clock.now()
        maker = None if principal.key_id is None else await self._key(principal.tenant, principal.key_id)
        if expires_at is not None and (expires_at.tzinfo is None or expires_at <= now):
            raise EnvelopeInvalid.at("/expires_at", "must be a moment to come, with its zone")
        key = ApiKey(
            tenant=of,
            id=KeyId(self._clock.new_id("key")),
            name=name,
            user=whose,
            role=self._role(role, session_id, whose, principal),
            digest=b"",
            grants=self._grants(grants, principal),
            limited_to=self._limits_of(limited_to, principal),
            session_id=None if session_id is None else SessionId(session_id),
            rate=rate,
            created_by=principal.user,
            created_at=now,
            expires_at=expires_at,
        )
        key = key if maker is None or of != maker.tenant else key.within(maker)
        return await self._made(key, Command.CREATE_KEY, principal, trace_id)

    async def log_in(
        self, principal: Principal, *, parent: str, lasts: timedelta, until: datetime | None, trace_id: str | None
    ) -> MadeKey:
        """What a browser holds from now on instead of the token that it has shown, `parent`; it ends with that one."""
        now = self._clock.now()
        ends = now + lasts if until is None else min(now + lasts, until)
        key = ApiKey(
            tenant=principal.tenant,
            id=KeyId(self._clock.new_id("key")),
            kind=KeyKind.LOGIN,
            name="login",
            user=principal.user,
            role=principal.role,
            digest=b"",
            grants=principal.grants,
            limited_to=principal.limited_to,
            session_id=principal.session_id,
            parent=parent,
            created_by=principal.user,
            created_at=now,
            expires_at=ends,
        )
        return await self._made(key, Command.LOG_IN, principal, trace_id)

    async def get(self, id: str, *, principal: Principal = LOCAL) -> ApiKey:
        """One's own, or for owner and admin any of the tenant; logins too. Raises KeyNotFound."""
        found = await self._store.find(principal.tenant, KeyId(id)) if is_id(id) else None
        may_see = found is not None and (principal.sees_whole_tenant or found.user == principal.user)
        if found is None or not may_see:
            raise KeyNotFound(id)
        return found

    async def list(
        self,
        *,
        kind: KeyKind | str = KeyKind.KEY,
        principal: Principal = LOCAL,
        before: str | None = None,
        limit: int = 50,
    ) -> Sequence[ApiKey]:
        """Newest first: one's own, or all of the tenant's for its owner and admins; revoked and expired ones too."""
        user = None if principal.sees_whole_tenant else principal.user
        at = None if before is None else KeyId(before)
        return await self._store.list(principal.tenant, KeyKind(kind), user=user, before=at, limit=limit)

    async def revoke(self, id: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> ApiKey:
        """It opens nothing any more, nor does any login that was made with it. Raises KeyNotFound."""
        key = await self.get(id, principal=principal)
        audit = self._audit_of(Command.REVOKE_KEY, key, principal, trace_id)
        return await self._revoked(key, audit)

    async def log_out(self, mark: str, principal: Principal, *, trace_id: str | None = None) -> None:
        """End the login that this one came in with; any other key stays what it is."""
        key = await self._store.find(principal.tenant, KeyId(mark)) if is_id(mark) else None
        if key is not None and key.kind is KeyKind.LOGIN:
            await self._revoked(key, self._audit_of(Command.LOG_OUT, key, principal, trace_id))

    async def found(self, token: str) -> ApiKey:
        """The key of a token, as it is now. Raises NotAuthenticated or TokenExpired; takes the same time for each."""
        place = _place_of(token)
        key = None if place is None else await self._key(*place)
        if not hmac.compare_digest(_digest(token), b"-" * 32 if key is None else key.digest) or key is None:
            raise NotAuthenticated
        if key.revoked_at is None and key.has_expired(self._clock.now()):
            raise TokenExpired
        if not await self.is_live(key.tenant, key.id):
            raise TokenRevoked
        return key

    async def is_live(self, tenant: TenantId, id: KeyId) -> bool:
        """Whether a key still opens what it opened, and what it was made with does, too."""
        now = self._clock.now()
        key = await self._key(tenant, id)
        while key is not None and key.is_live(now):
            if not key.has_key_as_parent:
                return True
            key = await self.parent_of(key)
        return False

    async def parent_of(self, key: ApiKey) -> ApiKey | None:
        """The key that it was made with; None when it was made with something else."""
        return await self._key(key.tenant, KeyId(key.parent)) if key.parent and key.has_key_as_parent else None

    async def admit(self, key: ApiKey) -> None:
        """One request with this key. Raises RateLimited."""
        if key.rate is not None:
            await self._limits.admit(key.tenant, f"key:{key.id}", rate=key.rate)
        now = self._clock.now()
        if key.used_at is None or now - key.used_at >= TOLD_EACH:
            self._remember(key.tenant, key.id, replace(key, used_at=now))
            with suppress(StoreUnavailable):
                await self._store.used(key.tenant, key.id, at=now)

    async def _key(self, tenant: TenantId, id: KeyId) -> ApiKey | None:
        known = self._known.get((tenant, id))
        if known is not None and self._clock.now() < known[0]:
            return known[1]
        found = await self._store.find(tenant, id)
        self._remember(tenant, id, found)
        return found

    def _remember(self, tenant: TenantId, id: KeyId, key: ApiKey | None) -> None:
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        self._known[tenant, id] = (self._clock.now() + KEPT_FOR, key)

    async def _made(self, key: ApiKey, command: Command, principal: Principal, trace_id: str | None) -> MadeKey:
        token = f"{PREFIX}{key.id.removeprefix('key_')}_{secrets.token_hex(20)}_{key.tenant}"
        key = replace(key, digest=_digest(token))
        await self._store.add(key, self._audit_of(command, key, principal, trace_id), most=self._most)
        return MadeKey(key=key, token=token)

    async def _revoked(self, key: ApiKey, audit: AuditFacts) -> ApiKey:
        revoked = await self._store.revoke(key.tenant, key.id, audit, at=self._clock.now())
        self._known.clear()  # Also what was made with it.
        return revoked

    def _check_may_make(self, principal: Principal) -> None:
        if principal.session_id is not None or not principal.may_write:
            raise NotAllowed("Viewers and tokens that are bound to a session make no keys. Ask an owner or admin.")

    def _tenant(self, tenant: str | None, principal: Principal) -> TenantId:
        if tenant is None or tenant == principal.tenant:
            return principal.tenant
        if not principal.is_operator or not is_id(tenant):
            raise LayerNotFound(Level.TENANT, tenant)
        return TenantId(tenant)

    def _whose(self, user: str | None, tenant: TenantId, principal: Principal) -> UserId:
        if user is None or (user == principal.user and tenant == principal.tenant):
            return principal.user
        if not principal.sees_whole_tenant and not principal.is_operator:
            raise NotAllowed("A key for somebody else is made by owner and admin of the tenant. Ask one of them.")
        if not is_id(user):
            raise EnvelopeInvalid.at("/user", "must be 1 to 128 letters, digits or any of _ . : @ -")
        return UserId(user)

    def _role(self, role: Role | str | None, session_id: str | None, whose: UserId, principal: Principal) -> Role:
        if session_id is not None:
            if role is not None and Role(role) is not Role.AGENT:
                raise EnvelopeInvalid.at("/role", "must be agent for a key that is bound to a session")
            return Role.AGENT
        default = principal.role if whose == principal.user else Role.MEMBER
        wanted = default if role is None else Role(role)
        if wanted.rank > principal.role.rank and not principal.is_operator:
            raise NotAllowed(f"Who is {principal.role} makes no key for the role {wanted}. Ask an owner.")
        return wanted

    def _grants(self, grants: Iterable[str] | None, principal: Principal) -> frozenset[str]:
        if grants is None:
            return principal.grants
        wanted = frozenset(grants)
        if len(wanted) > MOST_GRANTS or not all(0 < len(each) <= LONGEST_GRANT for each in wanted):
            raise EnvelopeInvalid.at("/grants", f"must be at most {MOST_GRANTS} names")
        missing = () if principal.holds_every_grant or principal.is_operator else wanted - principal.grants
        if missing:
            raise NotAllowed(f"You do not hold the grant {min(missing)!r} yourself. Ask an owner or admin.")
        return wanted

    def _limits_of(self, limited_to: Iterable[str] | None, principal: Principal) -> frozenset[str] | None:
        if limited_to is None:
            return principal.limited_to
        wanted = frozenset(limited_to)
        for each in sorted(wanted):
            if not _LIMIT.fullmatch(each):
                raise EnvelopeInvalid.at("/limited_to", "must be like sessions:read, sessions:* or *:read")
            if not principal.is_let_into(each):
                raise NotAllowed(f"Your own token is limited, and not to {each}.")
        if not wanted or len(wanted) > MOST_GRANTS:
            raise EnvelopeInvalid.at("/limited_to", f"must name 1 to {MOST_GRANTS} rights, or be left out")
        return wanted

    def _audit_of(self, command: Command, key: ApiKey, principal: Principal, trace_id: str | None) -> AuditFacts:
        return self._audit(command, principal, trace_id, key=key.id, managed=key.user, role_given=key.role.value)


def _place_of(token: str) -> tuple[TenantId, KeyId] | None:
    """Where to look for the key of a token; it names its tenant, so that a router can send it there."""
    _, _, rest = token.partition(PREFIX)
    id, _, rest = rest.partition("_")
    _, _, tenant = rest.partition("_")
    if not token.startswith(PREFIX) or not is_id(f"key_{id}") or not is_id(tenant):
        return None
    return TenantId(tenant), KeyId(f"key_{id}")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
