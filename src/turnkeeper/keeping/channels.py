"""Channels: what comes from the outside world becomes a message of a known user in a session of theirs."""

import asyncio
import contextlib
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

from turnkeeper.channels.conserving import check_conserved
from turnkeeper.errors import (
    BindingNotFound,
    ChannelPayloadInvalid,
    ChannelUnsupported,
    DeliveryNotFound,
    NotAllowed,
    NotAuthenticated,
    RunNotWaiting,
    SenderUnknown,
    SessionClosed,
    SessionExpired,
    SessionNotFound,
    TurnkeeperError,
    WebhookSignatureInvalid,
)
from turnkeeper.keeping.artifacts import Artifacts
from turnkeeper.keeping.bindings import checked_address
from turnkeeper.keeping.door import Ticket
from turnkeeper.model.binding import Binding, BindingAuth, Contact, ReplyKind, Strangers
from turnkeeper.model.checkpoint import AskKind
from turnkeeper.model.control import is_reset_command
from turnkeeper.model.envelope import OnMissing
from turnkeeper.model.event import Attachment, Event
from turnkeeper.model.ids import ArtifactId, BindingId, DeliveryId, RunId, SessionId, UserId, is_id
from turnkeeper.model.outbound import ReplyTo
from turnkeeper.model.policy import FORGEABLE, Policy
from turnkeeper.model.principal import LOCAL, Principal, Role
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import Session
from turnkeeper.ports import channels as port
from turnkeeper.ports.channels import Arrival, Channel, Raw, Said, Terms
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.store import Store
from turnkeeper.settings import Settings
from turnkeeper.steps.receive import Inbound, Prepared, json_size

log = logging.getLogger(__name__)

DELIVER = "channels:deliver"
"""The grant of a gateway: whoever holds it may bring messages of others."""

RUNS_LOOKED_AT = 20
_DELIVERY = re.compile(r"dlv_[0-9A-HJKMNP-TV-Z]{26}")
_E164 = re.compile(r"\+[1-9][0-9]{1,14}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What became of a delivery. Without a ticket it was a sign of life, and nothing runs for it."""

    ticket: Ticket | None
    delivery_id: str | None = None


class Channels:
    def __init__(
        self,
        known: port.Channels,
        store: Store,
        artifacts: Artifacts,
        policy: Policy,
        clock: Clock,
        settings: Settings,
        *,
        session_of: Callable[..., Awaitable[Session]],
        accept: Callable[..., Awaitable[Ticket]],
        refused: Callable[..., Awaitable[None]],
    ) -> None:
        self._known, self._artifacts, self._policy = known, artifacts, policy
        self._store, self._clock, self._settings = store, clock, settings
        self._session_of, self._accept, self._refused = session_of, accept, refused
        self._one_at_a_time: WeakValueDictionary[tuple[BindingId, str], asyncio.Lock] = WeakValueDictionary()

    def names(self) -> Sequence[str]:
        """The channels that a binding can be made for."""
        return self._known.names()

    def warn_of_unknown(self) -> None:
        """A ceiling for a channel that nobody knows is no ceiling: most likely its name is misspelt."""
        named = {*self._policy.channels}.union(*self._policy.tenant_channels.values()) - FORGEABLE.keys()
        if unknown := sorted(name for name in named if self._known.get(name) is None):
            log.warning("the policy names unknown channels", extra={"channels": ", ".join(unknown)})

    async def door(self, channel: str, binding_id: str, *, principal: Principal | None) -> Binding:
        """The binding, when this caller may come to it. Nothing of the request is read before.

        Raises ChannelUnsupported, BindingNotFound or NotAuthenticated.
        """
        if self._known.get(channel) is None:
            raise ChannelUnsupported(channel, self._known.names(), pointer="/channel")
        binding = await self.binding(channel, binding_id)
        if binding.terms.auth is BindingAuth.TOKEN:
            if principal is None:
                raise NotAuthenticated
            if principal.tenant != binding.tenant:
                raise BindingNotFound(binding.id)
        return binding

    async def binding(self, channel: str, binding_id: str) -> Binding:
        """Raises BindingNotFound, also for one of another channel and one that is switched off."""
        if not is_id(binding_id):
            raise BindingNotFound(BindingId(binding_id))
        binding = await self._store.bindings.find(BindingId(binding_id))
        if binding.channel != channel or not binding.terms.enabled:
            raise BindingNotFound(binding.id)
        return binding

    async def deliver(
        self,
        channel: str,
        binding_id: str,
        raw: Raw,
        *,
        principal: Principal | None = LOCAL,
        trace_id: str | None = None,
        admit: Callable[[], Awaitable[None]] | None = None,
    ) -> Delivered:
        """Take in what came through a channel. The same delivery again attaches to what was made of the first.

        `principal` is who brings it, None for somebody without a token: then only a signature lets it in. `admit` is
        awaited once it is certain who that is, and may raise why it is too much. Raises what
        `submit` raises, and ChannelUnsupported, BindingNotFound, NotAuthenticated, WebhookSignatureInvalid,
        ChannelPayloadInvalid or SenderUnknown.
        """
        binding = await self.door(channel, binding_id, principal=principal)
        try:
            return await self._deliver(binding, raw, principal, trace_id, admit)
        except TurnkeeperError as error:
            error.stage = error.stage or "receive"
            # Whoever it was is not known for certain; the binding is.
            outsider = Principal(tenant=binding.tenant, user=UserId(binding.id))
            await self._refused(
                error,
                principal=principal or outsider,
                verb="deliver",
                trace_id=trace_id,
                channel=binding.channel,
                binding=binding.id,
            )
            raise

    async def _deliver(
        self,
        binding: Binding,
        raw: Raw,
        caller: Principal | None,
        trace_id: str | None,
        admit: Callable[[], Awaitable[None]] | None,
    ) -> Delivered:
        adapter = self._known.get(binding.channel)
        assert adapter is not None, "a door leads to a known channel"
        # What a binding does not say about sizes is what we can keep.
        sizes = {"body_characters": self._settings.message_chars, "attachment_bytes": self._settings.artifact_bytes}
        terms = Terms(secrets=binding.terms.secrets, settings={**sizes, **binding.terms.settings})
        # A mail may be large, and to take it apart takes a while.
        arrival = await asyncio.to_thread(adapter.read, raw, terms, now=self._clock.now().timestamp())
        if binding.terms.auth is BindingAuth.SIGNATURE and not arrival.is_vouched:
            raise WebhookSignatureInvalid("it carries no signature of this binding")
        if admit is not None:
            await admit()
        address = checked_address(arrival.address)
        lock = self._one_at_a_time.setdefault((binding.id, address), asyncio.Lock())
        # Two first messages of one sender must not begin two sessions.
        async with lock:
            return await self._take(binding, adapter, arrival, address, caller, trace_id)

    async def _take(
        self,
        binding: Binding,
        adapter: Channel,
        arrival: Arrival,
        address: str,
        caller: Principal | None,
        trace_id: str | None,
    ) -> Delivered:
        contact = await self._store.bindings.contact(binding.tenant, binding.id, address)
        user = self._user(binding, address, contact)
        _check_may_bring(binding, caller, user)
        if arrival.said is None:
            return Delivered(ticket=None, delivery_id=arrival.delivery_id)
        sender = Principal(tenant=binding.tenant, user=user, role=Role.MEMBER, grants=self._grants(binding))
        kept = await self._kept(arrival, binding, sender, trace_id)
        said = replace(arrival.said, attachments=arrival.said.attachments + kept, user_role=sender.role.value)
        event = self._normalized(adapter, said)
        ticket = await self._accepted(binding, event, arrival, contact, sender, caller, trace_id)
        has_moved = contact is None or contact.session_id != ticket.run.session_id
        if has_moved and (not ticket.attached or contact is None or contact.session_id is None):
            await self._store.bindings.remember(
                Contact(
                    tenant=binding.tenant,
                    binding=binding.id,
                    address=address,
                    user=user,
                    session_id=ticket.run.session_id,
                    changed_at=self._clock.now(),
                )
            )
        return Delivered(ticket=ticket, delivery_id=arrival.delivery_id)

    def _user(self, binding: Binding, address: str, contact: Contact | None) -> UserId:
        if contact is not None:
            return contact.user
        if binding.terms.strangers is Strangers.REFUSE:
            raise SenderUnknown
        return guest(binding.channel, address)

    def _grants(self, binding: Binding) -> frozenset[str]:
        """What the binding gives, and never more than the operator lets its channel have."""
        given = frozenset(binding.terms.grants)
        most = self._policy.ceilings(binding.tenant, binding.channel).grants
        return given if most is None else given & most

    async def _kept(
        self, arrival: Arrival, binding: Binding, sender: Principal, trace_id: str | None
    ) -> tuple[Attachment, ...]:
        kept = []
        for number, part in enumerate(arrival.parts):
            artifact_id = None
            if arrival.delivery_id is not None:
                # The same delivery again finds what it has brought before.
                named = f"{binding.id} {arrival.delivery_id} {number}".encode() + b" " + part.content
                artifact_id = ArtifactId(f"art_{hashlib.sha256(named).hexdigest()[:32]}")
            artifact = await self._artifacts.keep(
                part.content,
                media_type=part.media_type,
                name=part.name,
                principal=sender,
                trace_id=trace_id,
                artifact_id=artifact_id,
            )
            kept.append(artifact.attached)
        return tuple(kept)

    def _normalized(self, adapter: Channel, said: Said) -> Event:
        event = adapter.normalize(said)
        check_conserved(event, said)
        if len(event.text) > self._settings.message_chars:
            most = self._settings.message_chars
            raise ChannelPayloadInvalid.at("/message", f"has {len(event.text)} characters; at most {most} are taken")
        if event.payload is not None and (json_size(event.payload) or 0) > self._settings.body_bytes:
            raise ChannelPayloadInvalid.at("/payload", f"has more than {self._settings.body_bytes} bytes as JSON")
        return event

    async def _accepted(
        self,
        binding: Binding,
        event: Event,
        arrival: Arrival,
        contact: Contact | None,
        sender: Principal,
        caller: Principal | None,
        trace_id: str | None,
    ) -> Ticket:
        session_id = await self._session_for(arrival, contact, sender)
        answers = None
        if session_id is not None and not is_reset_command(event.text):
            answers = await self._question_in(session_id, binding, sender)
        about: dict[str, Any] = {"binding": binding.id}
        if caller is not None and binding.terms.auth is BindingAuth.TOKEN:
            about["brought_by"] = caller.user
        fresh = Inbound(
            prepared=Prepared(
                events=(event,),
                packs=() if binding.terms.pack is None else (binding.terms.pack,),
                grants=sender.grants,
                reply_to=_reply_to(binding, arrival),
                same_as=arrival.delivery_id,
                audited=about,
            ),
            channel=binding.channel,
            agent=binding.terms.agent,
            request_id=_request_id(binding, arrival),
            on_missing=OnMissing.ERROR,
            trace_id=trace_id,
        )
        assert fresh.prepared is not None
        # A conversation that goes on keeps its agent and its packs, through whichever door it comes.
        going_on = replace(fresh, session_id=session_id, agent=None, prepared=replace(fresh.prepared, packs=()))
        if answers is not None:
            with contextlib.suppress(RunNotWaiting):
                return await self._accept(replace(going_on, answers=answers), sender, verb="deliver", about=about)
        if session_id is not None:
            with contextlib.suppress(SessionNotFound, SessionExpired, SessionClosed):
                return await self._accept(going_on, sender, verb="deliver", about=about)
        return await self._accept(fresh, sender, verb="deliver", about=about)

    async def _session_for(self, arrival: Arrival, contact: Contact | None, sender: Principal) -> SessionId | None:
        """That of the delivery which is answered, else the one that the contact is in; None for a new one."""
        named = [found for told in arrival.answers for found in _DELIVERY.findall(told)]
        for delivery_id in dict.fromkeys(reversed(named)):
            with contextlib.suppress(DeliveryNotFound):
                delivery = await self._store.outbox.get(sender.tenant, DeliveryId(delivery_id))
                if await self._is_open(delivery.session_id, sender):
                    return delivery.session_id
        if contact is not None and contact.session_id is not None and await self._is_open(contact.session_id, sender):
            return contact.session_id
        return None

    async def _is_open(self, session_id: SessionId, sender: Principal) -> bool:
        try:
            session = await self._session_of(session_id, principal=sender)
        except SessionNotFound:
            return False
        return not session.status.is_terminal

    async def _question_in(self, session_id: SessionId, binding: Binding, sender: Principal) -> RunId | None:
        """The run that has asked this user something on this channel and waits. An approval is given elsewhere."""
        runs = await self._store.runs.list(sender.tenant, session_id, before=None, limit=RUNS_LOOKED_AT)
        for run in runs:
            if run.status is not RunStatus.WAITING or run.input.channel != binding.channel or run.user != sender.user:
                continue
            asked = await self._store.runs.checkpoint(run.tenant, run.id)
            if asked is not None and asked.open_ask is not None and asked.open_ask.kind is AskKind.INPUT:
                return run.id
        return None


def guest(channel: str, address: str) -> UserId:
    """Who a stranger is called: by the address where that fits, else by its hash."""
    plain = address[1:] if _E164.fullmatch(address) else address
    name = f"guest:{channel}:{plain}"
    if is_id(name):
        return UserId(name)
    return UserId(f"guest:{channel}:{hashlib.sha256(address.encode()).hexdigest()[:32]}")


def _check_may_bring(binding: Binding, caller: Principal | None, user: UserId) -> None:
    """A signature vouches for whom it brings; a token only for its own user, unless it is that of a gateway."""
    if binding.terms.auth is BindingAuth.SIGNATURE:
        return
    assert caller is not None, "the door asks for a token"
    may_bring = caller.sees_whole_tenant or DELIVER in caller.grants or caller.user == user
    if not caller.may_write or not may_bring:
        raise NotAllowed(
            f"This token may not bring messages of others. Ask the operator for one with the grant {DELIVER!r}."
        )


def _reply_to(binding: Binding, arrival: Arrival) -> ReplyTo | None:
    if binding.terms.reply.kind is ReplyKind.NONE:
        return None
    return ReplyTo(binding=binding.id, channel=binding.channel, address=arrival.address.strip(), thread=arrival.thread)


def _request_id(binding: Binding, arrival: Arrival) -> str | None:
    """The names that others give to deliveries may be anything; ours are short and plain."""
    if arrival.delivery_id is None:
        return None
    return f"{binding.id}:{hashlib.sha256(arrival.delivery_id.encode()).hexdigest()[:32]}"
