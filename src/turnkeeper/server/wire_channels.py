"""What travels over HTTP about artifacts, bindings, contacts and deliveries."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from turnkeeper.keeping.bindings import with_new
from turnkeeper.keeping.door import Ticket
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.binding import (
    Binding,
    BindingAuth,
    BindingTerms,
    Contact,
    ReplyKind,
    ReplyPath,
    Strangers,
)
from turnkeeper.model.ids import AgentId
from turnkeeper.model.outbound import Delivery
from turnkeeper.server.wire import Id, Inbound, Outbound, PackRef, PlainText

Name = Annotated[PlainText, Field(min_length=1, max_length=200)]
Grant = Annotated[str, Field(pattern=r"^[!-~]{1,128}$")]
Secret = Annotated[str, Field(min_length=1, max_length=512, description="Is never shown again.")]
Address = Annotated[PlainText, Field(min_length=1, max_length=320, description="As its channel writes it.")]


class ArtifactOut(Outbound):
    """What is known of an artifact; its content is at `/content`."""

    id: str
    uri: str
    sha256: str
    media_type: str
    name: str | None
    size: int
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, artifact: Artifact) -> "ArtifactOut":
        return cls(
            id=artifact.id,
            uri=artifact.uri,
            sha256=artifact.sha256,
            media_type=artifact.media_type,
            name=artifact.name,
            size=artifact.size,
            created_by=artifact.created_by,
            created_at=artifact.created_at,
        )


class NoReplyIn(Inbound):
    """Replies do not go out; whoever asks finds them in the session."""

    kind: Literal["none"]

    def path(self) -> ReplyPath:
        return ReplyPath()


class MailReplyIn(Inbound):
    """Replies go out as mail."""

    kind: Literal["smtp"]

    def path(self) -> ReplyPath:
        return ReplyPath(kind=ReplyKind.SMTP)


class HttpReplyIn(Inbound):
    """Replies are posted to a `url`, signed with the `secret` (`whsec_` and base64)."""

    kind: Literal["http"]
    url: Annotated[str, Field(min_length=1, max_length=2_000)]
    secret: Secret | None = None

    def path(self) -> ReplyPath:
        return ReplyPath(kind=ReplyKind.HTTP, url=self.url, secret=self.secret)


ReplyIn = Annotated[NoReplyIn | MailReplyIn | HttpReplyIn, Field(discriminator="kind")]


class BindingChangeIn(Inbound):
    """What is to be different afterwards; what is left out stays as it is."""

    name: Name | None = None
    agent: Id | None = Field(default=None, description="Who answers in a new session.")
    pack: PackRef | None = None
    strangers: Literal["refuse", "guest"] | None = Field(
        default=None, description="What becomes of those whose address is no contact."
    )
    grants: list[Grant] | None = Field(
        default=None, max_length=100, description="The most that a message may hold; the channel's ceiling narrows it."
    )
    auth: Literal["token", "signature"] | None = None
    secrets: list[Secret] | None = Field(default=None, max_length=10)
    settings: dict[str, Any] | None = Field(default=None, description="Of the channel; see its page in the manual.")
    reply: ReplyIn | None = None
    enabled: bool | None = None

    def applied_to(self, terms: BindingTerms) -> BindingTerms:
        given: dict[str, Any] = {
            name: value for name in self.model_fields_set if (value := getattr(self, name)) is not None
        }
        given.pop("channel", None)
        readers: dict[str, Any] = {
            "agent": AgentId,
            "strangers": Strangers,
            "grants": tuple,
            "auth": BindingAuth,
            "secrets": tuple,
            "reply": lambda reply: reply.path(),
        }
        return with_new(terms, **{name: readers.get(name, lambda value: value)(value) for name, value in given.items()})


class BindingIn(BindingChangeIn):
    """A door for one channel. Its id is part of the address that the outside world sends to."""

    name: Name
    channel: Id


class ReplyOut(Outbound):
    kind: str
    url: str | None
    has_secret: bool


class BindingOut(Outbound):
    """A binding without its secrets: those are never shown again, only how many there are."""

    id: str
    channel: str
    address: str = Field(description="Where the outside world sends to, on this server.")
    name: str
    agent: str | None
    pack: str | None
    strangers: str
    grants: list[str]
    auth: str
    secrets: int
    settings: dict[str, Any]
    reply: ReplyOut
    enabled: bool
    created_by: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, binding: Binding) -> "BindingOut":
        terms = binding.terms
        reply = ReplyOut(kind=terms.reply.kind, url=terms.reply.url, has_secret=terms.reply.secret is not None)
        return cls(
            id=binding.id,
            channel=binding.channel,
            address=f"/api/v1/channels/{binding.channel}/{binding.id}",
            name=terms.name,
            agent=terms.agent,
            pack=terms.pack,
            strangers=terms.strangers,
            grants=list(terms.grants),
            auth=terms.auth,
            secrets=len(terms.secrets),
            settings=dict(terms.settings),
            reply=reply,
            enabled=terms.enabled,
            created_by=binding.created_by,
            created_at=binding.created_at,
            updated_at=binding.updated_at,
        )


class ContactIn(Inbound):
    """Who an address is, and the session that its next message goes on with; without one it begins a new session."""

    address: Address
    user: Id | None = None
    session_id: Id | None = None


class ContactOut(Outbound):
    address: str
    user: str
    session_id: str | None
    changed_at: datetime

    @classmethod
    def of(cls, contact: Contact) -> "ContactOut":
        return cls(
            address=contact.address,
            user=contact.user,
            session_id=contact.session_id,
            changed_at=contact.changed_at,
        )


class ChannelOut(Outbound):
    name: str


class TakenOut(Outbound):
    """What came through a channel has been taken in. `attached` says that it had come before."""

    run_id: str
    session_id: str
    status: str
    attached: bool
    delivery_id: str | None = None

    @classmethod
    def of(cls, ticket: Ticket, delivery_id: str | None) -> "TakenOut":
        run = ticket.run
        return cls(
            run_id=run.id,
            session_id=run.session_id,
            status=run.status,
            attached=ticket.attached,
            delivery_id=delivery_id,
        )


class DeliveryOut(Outbound):
    """One text on its way out. `unknown` may have gone out or not; it is sent again only when asked to."""

    id: str
    session_id: str
    run_id: str
    binding: str
    channel: str
    to: str
    text: str
    status: Literal["pending", "sending", "sent", "failed", "unknown"]
    attempts: int
    error: str | None
    created_at: datetime
    due_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryOut":
        return cls(
            id=delivery.id,
            session_id=delivery.session_id,
            run_id=delivery.run_id,
            binding=delivery.to.binding,
            channel=delivery.to.channel,
            to=delivery.to.address,
            text=delivery.text,
            status=delivery.status.value,
            attempts=delivery.attempts,
            error=delivery.error,
            created_at=delivery.created_at,
            due_at=delivery.due_at,
            ended_at=delivery.ended_at,
        )
