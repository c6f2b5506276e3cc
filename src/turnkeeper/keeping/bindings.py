"""Bindings and contacts: which doors a tenant has to the outside world, and who is known behind them."""

import importlib.util
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from turnkeeper.channels.shapes import below
from turnkeeper.channels.signatures import signature_of
from turnkeeper.errors import (
    BindingNotFound,
    ChannelUnsupported,
    ContactNotFound,
    EnvelopeInvalid,
    ExtraMissing,
    NotAllowed,
    PackNotFound,
    SessionNotFound,
    WebhookSignatureInvalid,
)
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.binding import Binding, BindingTerms, Contact, ReplyKind
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import AgentId, BindingId, SessionId, TenantId, UserId, is_id
from turnkeeper.model.pack import PackPin
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.session import Session
from turnkeeper.ports.bindings import BindingStore
from turnkeeper.ports.channels import Channel, Channels, KnownTerms
from turnkeeper.ports.clock import Clock
from turnkeeper.settings import Settings
from turnkeeper.steps.receive import json_size

MOST_SECRETS = 10
MOST_SECRET_CHARS = 512
MOST_ADDRESS_CHARS = 320


class Bindings:
    """Owner and admin of a tenant make and change its bindings; a user may move their own contacts between sessions."""

    def __init__(
        self,
        store: BindingStore,
        channels: Channels,
        clock: Clock,
        settings: Settings,
        *,
        agents: Callable[[], Awaitable[frozenset[AgentId]]],
        find_pack: Callable[[TenantId, str], Awaitable[PackPin]],
        session_of: Callable[..., Awaitable[Session]],
        audit: Callable[..., AuditFacts],
    ) -> None:
        self._store, self._channels, self._clock, self._settings = store, channels, clock, settings
        self._agents, self._find_pack, self._session_of, self._audit = agents, find_pack, session_of, audit

    async def create(
        self, channel: str, terms: BindingTerms, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> Binding:
        """Raises ChannelUnsupported, or EnvelopeInvalid for terms that cannot be."""
        self._check_may_change(principal)
        adapter = self._channels.get(channel)
        if adapter is None:
            raise ChannelUnsupported(channel, self._channels.names(), pointer="/channel")
        await self._check(terms, None, adapter, principal)
        now = self._clock.now()
        binding = Binding(
            tenant=principal.tenant,
            id=BindingId(self._clock.new_id("bind")),
            channel=channel,
            terms=terms,
            created_by=principal.user,
            created_at=now,
            updated_at=now,
        )
        audit = self._audit_of(Command.CREATE_BINDING, binding, principal, trace_id)
        await self._store.create(binding, audit)
        return binding

    async def get(self, binding_id: str, *, principal: Principal = LOCAL) -> Binding:
        """Raises BindingNotFound."""
        self._check_may_change(principal)
        return await self._known(binding_id, principal)

    async def list(
        self, *, principal: Principal = LOCAL, before: str | None = None, limit: int = 50
    ) -> Sequence[Binding]:
        """Newest first."""
        self._check_may_change(principal)
        place = None if before is None else BindingId(before)
        return await self._store.list(principal.tenant, before=place, limit=limit)

    async def change(
        self, binding_id: str, terms: BindingTerms, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> Binding:
        """Other terms from the next message on. Raises BindingNotFound, or EnvelopeInvalid."""
        before = await self.get(binding_id, principal=principal)
        adapter = self._channels.get(before.channel)
        if adapter is None:
            raise ChannelUnsupported(before.channel, self._channels.names(), pointer="/channel")
        await self._check(terms, before.terms, adapter, principal)
        audit = self._audit_of(Command.CHANGE_BINDING, before, principal, trace_id)
        changed = before.changed(terms, self._clock.now())
        await self._store.change(changed, audit)
        return changed

    async def remove(self, binding_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> None:
        """With its contacts. Replies that are still on their way fail. Raises BindingNotFound."""
        binding = await self.get(binding_id, principal=principal)
        audit = self._audit_of(Command.REMOVE_BINDING, binding, principal, trace_id)
        await self._store.remove(binding.tenant, binding.id, audit)

    async def put_contact(
        self,
        binding_id: str,
        address: str,
        *,
        user: str | None = None,
        session_id: str | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> Contact:
        """Say who an address is, and which of that user's sessions its next message goes on with.

        Without a session the next message begins a new one. Users may do this for addresses that are theirs already.
        Raises BindingNotFound, ContactNotFound or EnvelopeInvalid.
        """
        binding = await self._known(binding_id, principal)
        written = checked_address(address)
        form = _known_terms(self._channels.get(binding.channel))
        if form is not None and form.address is not None and not form.address.fullmatch(written):
            raise EnvelopeInvalid.at("/address", f"must be {form.address_is}")
        known = await self._store.contact(binding.tenant, binding.id, written)
        owner = user if user is not None else known.user if known else None
        if not principal.sees_whole_tenant and (known is None or not known.user == owner == principal.user):
            # Whose address it is, is none of the caller's business.
            raise ContactNotFound
        if owner is None or not is_id(owner):
            raise EnvelopeInvalid.at("/user", "must name the user whose address this is")
        contact = Contact(
            tenant=binding.tenant,
            binding=binding.id,
            address=written,
            user=UserId(owner),
            session_id=await self._session_for(owner, session_id, principal),
            changed_at=self._clock.now(),
        )
        audit = self._audit(Command.PUT_CONTACT, principal, trace_id, binding=binding.id, contact=contact.user)
        await self._store.put_contact(contact, audit)
        return contact

    async def contacts(
        self, binding_id: str, *, principal: Principal = LOCAL, after: str = "", limit: int = 50
    ) -> Sequence[Contact]:
        """By address: all of the binding for owner and admin, one's own for everyone else."""
        binding = await self._known(binding_id, principal)
        user = None if principal.sees_whole_tenant else principal.user
        return await self._store.contacts(binding.tenant, binding.id, user=user, after=after, limit=limit)

    async def remove_contact(
        self, binding_id: str, address: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> None:
        """Know an address no longer. Raises BindingNotFound or ContactNotFound."""
        binding, written = await self.get(binding_id, principal=principal), checked_address(address)
        audit = self._audit(Command.REMOVE_CONTACT, principal, trace_id, binding=binding.id)
        if not await self._store.remove_contact(binding.tenant, binding.id, written, audit):
            raise ContactNotFound

    async def _known(self, binding_id: str, principal: Principal) -> Binding:
        if not is_id(binding_id):
            raise BindingNotFound(BindingId(binding_id))
        return await self._store.get(principal.tenant, BindingId(binding_id))

    def _audit_of(self, command: Command, binding: Binding, principal: Principal, trace_id: str | None) -> AuditFacts:
        """`of_channel` is what the door is for; `channel` is how the command came."""
        return self._audit(command, principal, trace_id, binding=binding.id, of_channel=binding.channel)

    async def _session_for(self, user: str, session_id: str | None, principal: Principal) -> SessionId | None:
        if session_id is None:
            return None
        try:
            session = await self._session_of(session_id, principal=principal)
        except SessionNotFound:
            session = None
        if session is None or session.owner != user or session.status.is_terminal:
            raise EnvelopeInvalid.at("/session_id", "must name an open session of this user")
        return session.id

    async def _check(
        self, terms: BindingTerms, before: BindingTerms | None, adapter: Channel, principal: Principal
    ) -> None:
        """What is as it was before stays: a door whose agent is gone can still be shut.

        Raises EnvelopeInvalid, or ExtraMissing when mail cannot be sent from here.
        """
        self._check_words(terms)
        form = _known_terms(adapter)
        if before is None or terms.agent != before.agent:
            await self._check_agent(terms.agent)
        if before is None or terms.pack != before.pack:
            await self._check_pack(terms.pack, principal.tenant)
        if form is not None and (before is None or terms.settings != before.settings):
            _check_settings(terms, form)
        if form is not None and not form.takes_any_secret and (before is None or terms.secrets != before.secrets):
            for number, secret in enumerate(terms.secrets):
                _check_secret(secret, f"/secrets/{number}")
        if before is None or terms.reply != before.reply:
            self._check_reply(terms, adapter)

    async def _check_agent(self, agent: AgentId | None) -> None:
        if agent is not None and agent not in (known := await self._agents()):
            raise EnvelopeInvalid.at("/agent", f"must be an agent of a living node: {', '.join(sorted(known))}")

    async def _check_pack(self, pack: str | None, tenant: TenantId) -> None:
        if pack is None:
            return
        try:
            await self._find_pack(tenant, pack)
        except PackNotFound as error:
            raise EnvelopeInvalid.at("/pack", "must be a pack that was pushed") from error

    def _check_reply(self, terms: BindingTerms, adapter: Channel) -> None:
        if terms.reply.kind is ReplyKind.SMTP:
            if adapter.name != "email":
                raise EnvelopeInvalid.at("/reply/kind", "can be 'smtp' only where messages come by mail")
            self._check_mail()
        elif terms.reply.kind is ReplyKind.HTTP:
            _check_url(terms.reply.url or "")
            _check_secret(terms.reply.secret or "", "/reply/secret")

    def _check_words(self, terms: BindingTerms) -> None:
        if not terms.name.strip() or len(terms.name) > 200 or not is_plain_text(terms.name):
            raise EnvelopeInvalid.at("/name", "must be 1 to 200 characters")
        if terms.agent is not None and not is_id(terms.agent):
            raise EnvelopeInvalid.at("/agent", "must be the name of an agent")
        if len(terms.secrets) > MOST_SECRETS or not all(0 < len(each) <= MOST_SECRET_CHARS for each in terms.secrets):
            raise EnvelopeInvalid.at("/secrets", f"are at most {MOST_SECRETS}, of up to {MOST_SECRET_CHARS} characters")
        size = json_size(terms.settings)
        if size is None or size > self._settings.metadata_bytes:
            raise EnvelopeInvalid.at("/settings", f"must be JSON of at most {self._settings.metadata_bytes} bytes")

    def _check_mail(self) -> None:
        if self._settings.smtp_url is None:
            raise EnvelopeInvalid.at("/reply/kind", "needs a mail server: set smtp_url and mail_from first")
        if importlib.util.find_spec("aiosmtplib") is None:
            raise ExtraMissing("channels", "aiosmtplib")

    def _check_may_change(self, principal: Principal) -> None:
        if not principal.sees_whole_tenant:
            raise NotAllowed("Only owner and admin of a tenant see and change its bindings. Ask one of them.")


def checked_address(written: str) -> str:
    """An address as contacts are known by: that of a mailbox in lower case. Raises EnvelopeInvalid."""
    address = written.strip()
    if not address or len(address) > MOST_ADDRESS_CHARS or not address.isprintable():
        raise EnvelopeInvalid.at("/address", f"must be 1 to {MOST_ADDRESS_CHARS} printable characters")
    return address.lower() if "@" in address else address


def with_new(terms: BindingTerms, **given: object) -> BindingTerms:
    """The terms with some of them changed. Raises EnvelopeInvalid for a combination that cannot be."""
    try:
        return replace(terms, **given)  # type: ignore[arg-type]
    except ValueError as error:
        raise EnvelopeInvalid(f"The terms of the binding do not fit together: {error}.") from None


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or not url.isascii() or not url.isprintable() or "@" in parts.netloc or len(url) > 2_000:
        raise EnvelopeInvalid.at("/reply/url", "must be an address with http:// or https:// and without a password")


def _check_secret(secret: str, pointer: str) -> None:
    try:
        signature_of(secret if secret.startswith("whsec_") else "", b"")
    except WebhookSignatureInvalid:
        raise EnvelopeInvalid.at(pointer, "must be 'whsec_' and a key in base64") from None


def _known_terms(adapter: Channel | None) -> KnownTerms | None:
    """None for a channel of somebody else that does not say."""
    return getattr(adapter, "known_terms", None)


def _check_settings(terms: BindingTerms, form: KnownTerms) -> None:
    for name, value in terms.settings.items():
        kind = form.settings.get(name)
        if kind is None:
            known = ", ".join(sorted(form.settings))
            raise EnvelopeInvalid.at(below("/settings", name), f"is not known to this channel, which knows {known}")
        if not kind.fits(value):
            raise EnvelopeInvalid.at(below("/settings", name), f"must be {kind.value}")
