"""What goes over the wire about API keys and logins."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from turnkeeper.keeping.keys import MadeKey
from turnkeeper.model.api_key import ApiKey
from turnkeeper.model.policy import Rate
from turnkeeper.model.principal import Principal
from turnkeeper.server.asking import Right
from turnkeeper.server.wire import Id, Inbound, Outbound, PlainText

RoleName = Literal["owner", "admin", "member", "viewer", "agent"]
Grant = Annotated[PlainText, Field(min_length=1, max_length=128)]
Limit = Annotated[str, Field(pattern=r"^([a-z]+|\*):(read|write|manage|operate|\*)$")]
Moment = Annotated[datetime, Field(strict=False)]


class RateIn(Inbound):
    """So many requests a second in the long run, and so many at once."""

    per_second: float = Field(gt=0, le=1_000_000)
    burst: int = Field(ge=1, le=1_000_000)


class KeyIn(Inbound):
    """Without `role` and `grants` the key has those of its maker, or is for a member if it is for somebody else."""

    name: Annotated[PlainText, Field(min_length=1, max_length=200, description="What it is for, to tell keys apart.")]
    user: Id | None = Field(default=None, description="Whom it speaks for; oneself unless said otherwise.")
    role: RoleName | None = Field(default=None, description="At most one's own.")
    grants: Annotated[list[Grant], Field(max_length=100)] | None = Field(
        default=None, description="What intents and channels may ask for; one's own unless said otherwise."
    )
    limited_to: Annotated[list[Limit], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="The routes that it opens, such as `sessions:read` or `*:read`; all if left out."
    )
    session_id: Id | None = Field(default=None, description="Makes it the key of an agent in this session alone.")
    expires_at: Moment | None = Field(default=None, description="It lasts until it is revoked if left out.")
    rate: RateIn | None = Field(default=None, description="How often it may be used.")
    tenant: Id | None = Field(default=None, description="For an operator, who may make keys for every tenant.")


class RateOut(Outbound):
    per_second: float
    burst: int

    @classmethod
    def of(cls, rate: Rate) -> "RateOut":
        return cls(per_second=rate.per_second, burst=rate.burst)


class KeyOut(Outbound):
    """A key by its id; its token is told once, to whoever has made it."""

    id: str
    name: str
    tenant: str
    user: str
    role: str
    grants: list[str]
    limited_to: list[str] | None
    session_id: str | None
    rate: RateOut | None
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None = Field(description="When it was used last, give or take a minute.")

    @classmethod
    def of(cls, key: ApiKey) -> "KeyOut":
        return cls(
            id=key.id,
            name=key.name,
            tenant=key.tenant,
            user=key.user,
            role=key.role.value,
            grants=sorted(key.grants),
            limited_to=None if key.limited_to is None else sorted(key.limited_to),
            session_id=key.session_id,
            rate=None if key.rate is None else RateOut.of(key.rate),
            created_by=key.created_by,
            created_at=key.created_at,
            expires_at=key.expires_at,
            revoked_at=key.revoked_at,
            used_at=key.used_at,
        )


class MadeKeyOut(KeyOut):
    token: str = Field(description="Told this once: only a digest of it is kept.")

    @classmethod
    def made(cls, made: MadeKey) -> "MadeKeyOut":
        return cls(**KeyOut.of(made.key).model_dump(), token=made.token)


class LoginIn(Inbound):
    token: Annotated[str, Field(min_length=1, max_length=8192, description="Any token that is good as a bearer.")]


class MeOut(Outbound):
    """Who one is here, and what one may do."""

    tenant: str
    user: str
    role: str
    grants: list[str]
    rights: list[str] = Field(description="What the role may do in every area: read, write, manage, operate.")
    limited_to: list[str] | None
    session_id: str | None
    is_operator: bool
    key_id: str | None
    expires_at: datetime | None
    login_id: str | None = Field(default=None, description="Which login of `/keys?kind=login` this browser holds.")
    csrf: str | None = Field(default=None, description="What changes need in X-CSRF-Token, for a login by cookie.")

    @classmethod
    def of(
        cls, principal: Principal, *, expires_at: datetime | None, login_id: str | None, csrf: str | None
    ) -> "MeOut":
        return cls(
            tenant=principal.tenant,
            user=principal.user,
            role=principal.role.value,
            grants=sorted(principal.grants),
            rights=[right.value for right in Right if right.is_of(principal)],
            limited_to=None if principal.limited_to is None else sorted(principal.limited_to),
            session_id=principal.session_id,
            is_operator=principal.is_operator,
            key_id=principal.key_id,
            expires_at=expires_at,
            login_id=login_id,
            csrf=csrf,
        )
