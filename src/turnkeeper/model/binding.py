"""A door through which a channel comes in: whose it is, who answers, and how far it may go."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import AgentId, BindingId, SessionId, TenantId, UserId


class Strangers(StrEnum):
    """What becomes of those whose address nobody has made known."""

    REFUSE = "refuse"
    GUEST = "guest"


class BindingAuth(StrEnum):
    """What lets a request in: the token of a caller of the tenant, or a signature under a secret of the binding."""

    TOKEN = "token"
    SIGNATURE = "signature"


class ReplyKind(StrEnum):
    SMTP = "smtp"
    HTTP = "http"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyPath:
    """How replies go out. `url` and `secret` are for HTTP: where they are posted, and what they are signed with."""

    kind: ReplyKind = ReplyKind.NONE
    url: str | None = None
    secret: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if (self.kind is ReplyKind.HTTP) != (self.url is not None):
            raise ValueError("a ReplyPath has a url exactly when replies go out over HTTP")
        if self.secret is not None and self.kind is not ReplyKind.HTTP:
            raise ValueError("only replies over HTTP are signed with a secret")


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingTerms:
    """What an operator says about a binding. `grants` are the most that a message through it may hold.

    `secrets` vouch for requests; `settings` are those of its channel and of how its replies look.
    """

    name: str
    agent: AgentId | None = None
    pack: str | None = None
    strangers: Strangers = Strangers.REFUSE
    grants: tuple[str, ...] = ()
    auth: BindingAuth = BindingAuth.TOKEN
    secrets: tuple[str, ...] = field(default=(), repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    reply: ReplyPath = field(default_factory=ReplyPath)
    enabled: bool = True

    def __post_init__(self) -> None:
        if self.auth is BindingAuth.SIGNATURE and not self.secrets:
            raise ValueError("a binding that asks for a signature needs a secret to check it with")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    tenant: TenantId
    id: BindingId
    channel: str
    terms: BindingTerms
    created_by: UserId
    created_at: datetime
    updated_at: datetime

    def changed(self, terms: BindingTerms, at: datetime) -> "Binding":
        return replace(self, terms=terms, updated_at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """An address of the outside world: who that is, and which conversation goes on when they write."""

    tenant: TenantId
    binding: BindingId
    address: str
    user: UserId
    session_id: SessionId | None = None
    changed_at: datetime
