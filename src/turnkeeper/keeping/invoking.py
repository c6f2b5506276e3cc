"""Taking in a full envelope: who asks, for whom, with which packs, on which channel."""

import hashlib
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import msgspec

from turnkeeper.channels.conserving import check_conserved
from turnkeeper.errors import (
    AgentInactive,
    ChannelUnsupported,
    EnvelopeInvalid,
    IntentUnknown,
    SchemaInvalid,
    TenantMismatch,
    TurnkeeperError,
    UserMismatch,
)
from turnkeeper.intent.serving import check_served
from turnkeeper.keeping.envelopes import DEFAULTED, FORM, check_envelope, with_defaults
from turnkeeper.model.envelope import OnMissing
from turnkeeper.model.event import Attachment, Event
from turnkeeper.model.ids import TraceId, UserId, is_id
from turnkeeper.model.mode import Mode
from turnkeeper.model.pack import Pack
from turnkeeper.model.policy import Policy
from turnkeeper.model.principal import Principal, Role
from turnkeeper.model.run import RunInput
from turnkeeper.model.trace_context import TraceContext
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.channels import Channels, Said
from turnkeeper.ports.telemetry import REFUSED, Telemetry
from turnkeeper.settings import Settings
from turnkeeper.steps.materialize import safety_mode
from turnkeeper.steps.receive import Inbound, Prepared, narrowed

VERB = "invoke"
LIMIT_UNKNOWN = "limit_unknown"
LIMITS = frozenset(
    {
        "plan_timeout_ms",
        "max_wall_ms",
        "max_session_duration_ms",
        "max_tokens",
        "max_tool_calls",
        "max_cost_cents",
        "max_payload_bytes",
        "max_retries",
        "max_replans",
    }
)
OF_OUR_OWN = ("channel_signals", "params", "answers", "resume", "on_missing", "payload")
"""What stands for something else in `input.context`; the rest is handed to the agent as metadata."""

_canonical = msgspec.json.Encoder(order="sorted")

_TRACE = re.compile(r"[0-9a-f]{32}")
_CHANNEL = re.compile(r"[a-z][a-z0-9_]{0,31}")
_PIN = re.compile(r"[A-Za-z0-9_.:-]{1,128}@[0-9]{1,9}(\.[0-9]{1,9}){2}")
_HEX = re.compile(r"[0-9a-f]{2,32}")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoking(Generic[T]):
    """`refuse_sooner` raises what is wrong with the session or the packs of an envelope, if anything is."""

    channels: Channels
    policy: Policy
    packs: PackShelf
    settings: Settings
    telemetry: Telemetry
    refused: Callable[..., Awaitable[None]]
    accept: Callable[..., Awaitable[T]]
    receive: Callable[[Inbound, Principal], object]
    refuse_sooner: Callable[[Inbound, Principal], Awaitable[None]]
    is_known: Callable[[Inbound, Principal], Awaitable[bool]]
    waiting_in: Callable[[str, Principal], Awaitable[str | None]]

    async def __call__(self, document: Any, principal: Principal, *, signals: Mapping[str, Any] | None = None) -> T:
        """What was made of it, or one error: of several, the one that is looked for first.

        `signals` are those of the channel, where the program has them; they win over those in the envelope.
        """
        began, about = time.perf_counter(), told(document)
        try:
            inbound, speaker = await self._inbound(document, principal, signals)
        except TurnkeeperError as error:
            trace_id = _trace_id(document)
            if "session_id" in about:
                self.telemetry.session_resume(principal.tenant, REFUSED, error.code)
            await self.refused(error, principal=principal, verb=VERB, trace_id=trace_id, began=began, **about)
            raise
        assert inbound.prepared is not None
        took = {"acceptance_ms": round((time.perf_counter() - began) * 1000, 3)}
        prepared = replace(inbound.prepared, audited={**inbound.prepared.audited, **about, **took})
        return await self.accept(replace(inbound, prepared=prepared), speaker, verb=VERB, about=about, began=began)

    async def _inbound(
        self, document: Any, principal: Principal, signals: Mapping[str, Any] | None
    ) -> tuple[Inbound, Principal]:
        stage = "receive"
        try:
            with self._span(stage, document, principal):
                document, warnings = self._received(document, principal)
                speaker = speaker_of(document, principal)
                inbound = await self._going_on(inbound_of(document, warnings), document, speaker)
                self._check_as_message(inbound, speaker)
            stage = "normalize"
            try:
                with self._span(stage, document, principal):
                    event = self._normalized(document, signals)
                inbound = self._prepared(inbound, document, speaker, event)
                stage = "intake"
                packs = await self._packs(inbound, speaker)
                _check_served(packs, inbound, document, speaker)
                inbound = self._audited(inbound, packs, document, speaker)
            except TurnkeeperError:
                # Who asks again is told what was told first, whatever holds by now.
                if stage == "intake" and await self.is_known(inbound, speaker):
                    return inbound, speaker
                # What is wrong with its session or its packs is looked for first, and told instead.
                await self.refuse_sooner(inbound, speaker)
                raise
        except TurnkeeperError as error:
            error.stage = error.stage or stage
            raise
        return inbound, speaker

    def _span(self, name: str, document: Any, principal: Principal) -> AbstractContextManager[object]:
        """A span under that of the caller, once an envelope says which trace it belongs to."""
        trace = _table(document, "trace") if isinstance(document, dict) else {}
        ids = (trace.get("trace_id"), trace.get("span_id"), trace.get("trace_flags", "01"))
        if not all(isinstance(id, str) and _HEX.fullmatch(id) for id in ids):
            return nullcontext()
        caller = TraceContext(span_id=str(ids[1]), flags=str(ids[2]))
        return self.telemetry.span(name, TraceId(str(ids[0])), caller, {"tenant_id": principal.tenant})

    def _received(self, document: Any, principal: Principal) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        if not isinstance(document, dict):
            raise SchemaInvalid("/", [{"pointer": "", "rule": "type", "message": "must be an object"}])
        tenant = document.get("tenant_id")
        if isinstance(tenant, str) and tenant != principal.tenant:
            raise TenantMismatch
        was_defaulted = False
        if self.settings.envelopes == "lenient":
            document, was_defaulted = with_defaults(document, os.urandom(16).hex(), os.urandom(8).hex())
        check_envelope(document, most_chars=self.settings.message_chars)
        unknown = (LIMIT_UNKNOWN,) if document["runtime"].keys() - LIMITS else ()
        return document, ((DEFAULTED,) if was_defaulted else ()) + unknown

    def _normalized(self, document: Mapping[str, Any], signals: Mapping[str, Any] | None) -> Event:
        said, name = said_of(document, signals), channel_of(document)
        channel = self.channels.get(name)
        if channel is None:
            raise ChannelUnsupported(name, self.channels.names())
        event = channel.normalize(said)
        check_conserved(event, said)
        return event

    def _prepared(self, inbound: Inbound, document: Mapping[str, Any], speaker: Principal, event: Event) -> Inbound:
        assert inbound.prepared is not None
        ceiling = self.policy.ceilings(speaker.tenant, inbound.channel).grants
        scopes = frozenset(document["user"].get("delegation", {}).get("scopes", ()))
        grants = scopes if ceiling is None else scopes & ceiling
        return replace(inbound, prepared=replace(inbound.prepared, events=(event,), grants=grants))

    async def _going_on(self, inbound: Inbound, document: Mapping[str, Any], speaker: Principal) -> Inbound:
        """With `resume` a message is the answer to what its session waits for, if it waits for anything."""
        if not document["input"].get("context", {}).get("resume") or inbound.session_id is None:
            return inbound
        waiting = inbound.answers or await self.waiting_in(inbound.session_id, speaker)
        return replace(inbound, answers=waiting, on_missing=OnMissing.ERROR)

    def _check_as_message(self, inbound: Inbound, speaker: Principal) -> None:
        """What holds for every message holds here too, told at its place in the envelope."""
        try:
            self.receive(inbound, speaker)
        except EnvelopeInvalid as error:
            details = [{**each, "rule": FORM, "pointer": _placed(str(each["pointer"]))} for each in error.details]
            raise SchemaInvalid(", ".join(each["pointer"] for each in details), details) from None

    async def _packs(self, inbound: Inbound, speaker: Principal) -> tuple[Pack, ...]:
        assert inbound.prepared is not None
        pins = [await self.packs.find(speaker.tenant, ref) for ref in inbound.prepared.packs]
        return tuple([await self.packs.open(speaker.tenant, pin) for pin in pins])

    def _audited(
        self, inbound: Inbound, packs: tuple[Pack, ...], document: Mapping[str, Any], speaker: Principal
    ) -> Inbound:
        """What the audit tells of an envelope beyond its names: hashes, codes and limits."""
        prepared = inbound.prepared
        assert prepared is not None
        ceilings = self.policy.ceilings(speaker.tenant, inbound.channel)
        chain = document["agent"].get("principal_chain", ())
        audited = {
            "intent": prepared.intent or "",
            "principal_chain": [f"{each['kind']}:{each['id']}" for each in chain],
            "envelope_sha256": hashlib.sha256(_canonical.encode(document)).hexdigest(),
            "scopes_effective": sorted(prepared.grants or ()),
            "safety_mode": safety_mode(ceilings, packs, RunInput(claims=prepared.claims)).value,
            "budget_limits": dict(prepared.limits),
            "warnings": [warning.code for event in prepared.events for warning in event.warnings]
            + list(prepared.warnings),
        }
        return replace(inbound, prepared=replace(prepared, audited=audited))


def _check_served(packs: tuple[Pack, ...], inbound: Inbound, document: Mapping[str, Any], speaker: Principal) -> None:
    """Whether the intent that is declared is there, and for this caller; who declares none is told in the run."""
    prepared = inbound.prepared
    assert prepared is not None
    known = [each for pack in packs for each in pack.intents]
    if prepared.intent is not None and known:
        intent = next((each for each in known if each.code == prepared.intent), None)
        if intent is None:
            raise IntentUnknown([each.code for each in known])
        held = None if speaker.holds_every_grant else tuple(speaker.grants)
        check_served(intent, RunInput(channel=inbound.channel, grants=narrowed(held, prepared.grants)))
    if document["agent"].get("lifecycle", "active") != "active":
        raise AgentInactive


def speaker_of(document: Mapping[str, Any], principal: Principal) -> Principal:
    """Whose turn it is. Owner and admin of a tenant may speak for its users, and then hold what these delegated."""
    user = UserId(document["user"]["user_id"])
    if user == principal.user:
        return principal
    if not principal.sees_whole_tenant:
        raise UserMismatch
    scopes = frozenset(document["user"].get("delegation", {}).get("scopes", ()))
    return Principal(tenant=principal.tenant, user=user, role=Role.MEMBER, grants=scopes, acted_by=principal.user)


def inbound_of(document: Mapping[str, Any], warnings: tuple[str, ...]) -> Inbound:
    said, trace = document["input"], document["trace"]
    context = said.get("context", {})
    on_missing = context.get("on_missing", OnMissing.ERROR)
    return Inbound(
        prepared=Prepared(
            # In place of what the channel makes of it, which is not known yet.
            events=(Event(text=said["message"].strip() or "-"),),
            packs=tuple(document["context_pack_refs"]),
            names_every_pack=True,
            intent=code_of(said["intent"]),
            limits={name: most for name, most in document["runtime"].items() if name in LIMITS},
            claims={"user": document["user"], "agent": document["agent"]},
            trace=TraceContext(
                span_id=trace["span_id"],
                flags=trace.get("trace_flags", "01"),
                tracestate=trace.get("tracestate"),
                baggage=trace.get("baggage"),
            ),
            warnings=warnings,
        ),
        session_id=document.get("session_id"),
        agent=document["agent"]["agent_id"],
        request_id=document["request_id"],
        mode=document["mode"],
        channel=channel_of(document),
        params=context.get("params", {}),
        metadata={name: value for name, value in context.items() if name not in OF_OUR_OWN},
        answers=context.get("answers"),
        on_missing=on_missing,
        trace_id=trace["trace_id"],
    )


def _placed(pointer: str) -> str:
    """Where a part of a message stands in an envelope."""
    for part in ("params", "answers", "metadata"):
        if pointer == f"/{part}" or pointer.startswith(f"/{part}/"):
            rest = pointer.removeprefix(f"/{part}")
            return f"/input/context{rest}" if part == "metadata" else f"/input/context/{part}{rest}"
    return pointer


def code_of(intent: str) -> str | None:
    """The code of an intent as packs write it: `orders.return` is ORDERS_RETURN. None for none."""
    return re.sub(r"[.:-]", "_", intent).upper() or None


def channel_of(document: Mapping[str, Any]) -> str:
    """The channel it names; else that of services, or that of people."""
    named: str | None = document["input"].get("channel")
    is_service = document["user"].get("delegation", {}).get("auth_type") == "service"
    return named or ("api" if is_service else "app_chat")


def said_of(document: Mapping[str, Any], signals: Mapping[str, Any] | None) -> Said:
    said = document["input"]
    context = said.get("context", {})
    free = {name: value for name, value in context.items() if name not in OF_OUR_OWN}
    is_typed = channel_of(document) in ("api", "webhook")
    return Said(
        message=said["message"],
        payload=context.get("payload", free) if is_typed else context.get("payload"),
        locale=said.get("locale"),
        signals={**context.get("channel_signals", {}), **(signals or {})},
        attachments=tuple(Attachment(**each) for each in document.get("attachments", ())),
        user_role=document["user"].get("role"),
    )


def told(document: Any) -> dict[str, Any]:
    """What the audit may tell of an envelope, whatever its shape: names and numbers, never what was said."""
    if not isinstance(document, dict):
        return {}
    user, agent, said = (_table(document, name) for name in ("user", "agent", "input"))
    refs = document.get("context_pack_refs")
    ids = {
        "request_id": document.get("request_id"),
        "session_id": document.get("session_id"),
        "user_id": user.get("user_id"),
        "agent_id": agent.get("agent_id"),
    }
    names: dict[str, Any] = {name: value for name, value in ids.items() if is_id(value)}
    if document.get("mode") in tuple(Mode):
        names["mode"] = document["mode"]
    if isinstance(said.get("channel"), str) and _CHANNEL.fullmatch(said["channel"]):
        names["channel"] = said["channel"]
    if isinstance(refs, list) and refs and all(isinstance(ref, str) and _PIN.fullmatch(ref) for ref in refs):
        names["context_pack_refs"] = refs[:16]
    return names


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _trace_id(document: Any) -> str | None:
    found = _table(document, "trace").get("trace_id") if isinstance(document, dict) else None
    return found if isinstance(found, str) and _TRACE.fullmatch(found) else None
