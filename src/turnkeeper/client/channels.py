"""Channels, their bindings and what goes out through them, at a distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part
from turnkeeper.client.shapes import Delivered, Run, Ticket, read
from turnkeeper.model.binding import BindingAuth, BindingTerms, ReplyKind, Strangers
from turnkeeper.model.ids import AgentId, BindingId, DeliveryId, RunId, SessionId, UserId
from turnkeeper.model.outbound import DeliveryStatus

if TYPE_CHECKING:
    from turnkeeper.ports.channels import Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyPath:
    """Without its secret, which is never shown again."""

    kind: ReplyKind
    url: str | None
    has_secret: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTerms:
    """The terms of a binding without its secrets: only how many there are."""

    name: str
    agent: AgentId | None
    pack: str | None
    strangers: Strangers
    grants: tuple[str, ...]
    auth: BindingAuth
    secrets: int
    settings: Mapping[str, Any]
    reply: ReplyPath
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """`address` is where the outside world sends to, on this server."""

    id: BindingId
    channel: str
    address: str
    terms: ToldTerms
    created_by: UserId
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    binding: BindingId
    address: str
    user: UserId
    session_id: SessionId | None
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTo:
    binding: BindingId
    channel: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    id: DeliveryId
    session_id: SessionId
    run_id: RunId
    to: ReplyTo
    text: str
    created_at: datetime
    due_at: datetime
    status: DeliveryStatus
    attempts: int
    error: str | None
    ended_at: datetime | None


class Channels(Part):
    async def names(self) -> Sequence[str]:
        """The channels that a binding can be made for."""
        return [each["name"] for each in await self._ask("GET", "channels")]

    async def deliver(self, channel: str, binding_id: str, raw: "Raw") -> Delivered:
        """Hand in what came through a channel. The same delivery again attaches to what was made of the first."""
        headers = {**raw.headers, **({"content-type": raw.media_type} if raw.media_type else {})}
        told = await self._ask(
            "POST", "channels", channel, binding_id, content=raw.body, headers=headers, query=raw.query, key=None
        )
        if told is None:
            return Delivered(ticket=None)
        run = await self._get(Run, "runs", told["run_id"])
        ticket = Ticket(
            run=run,
            created=False,
            replaced_session_id=None,
            replaced_reason=None,
            is_answer=False,
            feed_no=run.feed_no,
        )
        return Delivered(ticket=ticket, delivery_id=told.get("delivery_id"))


class Bindings(Part):
    async def create(self, channel: str, terms: BindingTerms) -> Binding:
        """Raises ChannelUnsupported, or EnvelopeInvalid for terms that cannot be."""
        return _binding_of(await self._ask("POST", "bindings", body={"channel": channel, **_written(terms)}))

    async def get(self, binding_id: str) -> Binding:
        """Raises BindingNotFound."""
        return _binding_of(await self._ask("GET", "bindings", binding_id))

    async def list(self, *, before: str | None = None, limit: int = 50) -> Page[Binding]:
        """Newest first."""
        return await self._page(_binding_of, "bindings", cursor=before, limit=limit)

    async def change(self, binding_id: str, terms: BindingTerms) -> Binding:
        """Other terms from the next message on; without secrets those that it has stay. Raises BindingNotFound."""
        return _binding_of(await self._ask("PATCH", "bindings", binding_id, body=_written(terms)))

    async def remove(self, binding_id: str) -> None:
        """With its contacts. Replies that are still on their way fail. Raises BindingNotFound."""
        await self._ask("DELETE", "bindings", binding_id)

    async def put_contact(
        self, binding_id: str, address: str, *, user: str | None = None, session_id: str | None = None
    ) -> Contact:
        """Say who an address is, and which of that user's sessions its next message goes on with."""
        body = {"address": address, "user": user, "session_id": session_id}
        told = await self._ask("PUT", "bindings", binding_id, "contacts", body=body)
        return read({**told, "binding": binding_id}, Contact)

    async def contacts(self, binding_id: str, *, after: str = "", limit: int = 50) -> Page[Contact]:
        """By address: all of the binding for owner and admin, one's own for everyone else."""

        def contact_of(told: Mapping[str, Any]) -> Contact:
            return read({**told, "binding": binding_id}, Contact)

        return await self._page(contact_of, "bindings", binding_id, "contacts", cursor=after or None, limit=limit)

    async def remove_contact(self, binding_id: str, address: str) -> None:
        """Know an address no longer. Raises BindingNotFound or ContactNotFound."""
        await self._ask("DELETE", "bindings", binding_id, "contacts", query={"address": address})


class Deliveries(Part):
    async def list(
        self,
        *,
        session_id: str | None = None,
        status: DeliveryStatus | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Page[Delivery]:
        """Newest first."""
        return await self._page(
            _delivery_of, "deliveries", cursor=before, limit=limit, session_id=session_id, status=status
        )

    async def retry(self, delivery_id: str) -> Delivery:
        """Send one again that failed, or of which nobody knows whether it went out; under the same id."""
        return _delivery_of(await self._ask("POST", "deliveries", delivery_id, "retry"))


def _written(terms: BindingTerms) -> dict[str, Any]:
    reply = {"kind": terms.reply.kind, "url": terms.reply.url, "secret": terms.reply.secret}
    said = {
        "name": terms.name,
        "agent": terms.agent,
        "pack": terms.pack,
        "strangers": terms.strangers,
        "grants": list(terms.grants),
        "auth": terms.auth,
        "secrets": list(terms.secrets) or None,
        "settings": dict(terms.settings),
        "reply": {name: value for name, value in reply.items() if value is not None},
        "enabled": terms.enabled,
    }
    return {name: value for name, value in said.items() if value is not None}


def _binding_of(told: Mapping[str, Any]) -> Binding:
    return read({**told, "terms": told}, Binding)


def _delivery_of(told: Mapping[str, Any]) -> Delivery:
    to = {"binding": told["binding"], "channel": told["channel"], "address": told["to"]}
    return read({**told, "to": to}, Delivery)
