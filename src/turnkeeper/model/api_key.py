"""An API key: a token that a tenant gives out, and may take back on any day."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from turnkeeper.model.ids import KeyId, SessionId, TenantId, UserId
from turnkeeper.model.policy import Rate
from turnkeeper.model.principal import Principal, Role


class KeyKind(StrEnum):
    KEY = "key"
    LOGIN = "login"
    """What a browser holds instead of the token that somebody has shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """Of the token itself only a digest is kept: whoever reads the database can open nothing with it.

    `parent` is what it was made with: a key by its id; of a login also the digest of another token, or `jwt`.
    """

    tenant: TenantId
    id: KeyId
    name: str
    user: UserId
    role: Role
    digest: bytes
    created_by: UserId
    created_at: datetime
    kind: KeyKind = KeyKind.KEY
    grants: frozenset[str] = frozenset()
    limited_to: frozenset[str] | None = None
    session_id: SessionId | None = None
    is_operator: bool = False
    rate: Rate | None = None
    parent: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.session_id is not None and self.role is not Role.AGENT:
            raise ValueError("only the key of an agent is bound to a session")
        if self.expires_at is not None and self.expires_at <= self.created_at:
            raise ValueError("a key lives for a while at least")

    def has_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def is_live(self, now: datetime) -> bool:
        return self.revoked_at is None and not self.has_expired(now)

    @property
    def has_key_as_parent(self) -> bool:
        return self.parent is not None and self.parent.startswith("key_")

    def within(self, maker: "ApiKey") -> "ApiKey":
        """As another key may make it: it ends with its maker at the latest, and may be used no more often."""
        ends = [each for each in (self.expires_at, maker.expires_at) if each is not None]
        rates = [each for each in (self.rate, maker.rate) if each is not None]
        return replace(
            self,
            parent=maker.id,
            expires_at=min(ends, default=None),
            rate=min(rates, key=lambda rate: (rate.per_second, rate.burst), default=None),
        )

    @property
    def principal(self) -> Principal:
        """Who comes in with it."""
        return Principal(
            tenant=self.tenant,
            user=self.user,
            role=self.role,
            grants=self.grants,
            is_operator=self.is_operator,
            session_id=self.session_id,
            limited_to=self.limited_to,
            key_id=self.id,
        )
