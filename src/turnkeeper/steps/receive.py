"""Look at a request as it came, and name everything that is wrong with it at once."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from turnkeeper.custody.packing import carried_of
from turnkeeper.errors import EnvelopeInvalid, NotAllowed
from turnkeeper.model.approval import Decision
from turnkeeper.model.control import CONTROL_PARAMS, is_reset_command, truth_of
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.envelope import Command, Envelope, OnMissing, Prior
from turnkeeper.model.event import Attachment, Event
from turnkeeper.model.ids import AgentId, RunId, SessionId, TraceId, is_id
from turnkeeper.model.mode import Mode
from turnkeeper.model.outbound import ReplyTo
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.model.preferences import LEVELS, Preferences
from turnkeeper.model.principal import Principal
from turnkeeper.model.session import DEVICE_SESSION, Custody, Freshness
from turnkeeper.model.trace_context import TraceContext
from turnkeeper.settings import Settings
from turnkeeper.steps.normalize import normalize

_PACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}(@(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2})?")
MOST_ID_CHARS = 128
_TRACE = re.compile(r"[0-9a-f]{32}")

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a channel or a full envelope has looked at already; it stands in place of `message` and `pack`.

    `grants` narrow those of the principal; None leaves them as they are. `same_as` says what makes a second request
    the same as the first, where that is not the body: what a channel delivers twice may differ in its wrapping.
    """

    events: tuple[Event, ...]
    packs: tuple[str, ...] = ()
    names_every_pack: bool = False
    intent: str | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    grants: frozenset[str] | None = None
    trace: TraceContext | None = None
    reply_to: ReplyTo | None = None
    warnings: tuple[str, ...] = ()
    audited: Mapping[str, Any] = field(default_factory=dict)
    same_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """A message or a command as a caller wrote it down; nothing about it is believed yet, but for what is prepared."""

    message: Any = None
    attachments: tuple[Attachment, ...] = ()
    prepared: Prepared | None = None
    mode: Any = Mode.BATCH
    verb: str | None = None
    command: Command | None = None
    session_id: Any = None
    agent: Any = None
    pack: Any = None
    custody: Any = Custody.ENGINE
    carried: Any = None
    answers: Any = None
    decision: Decision | None = None
    reset: Any = False
    params: Any = field(default_factory=dict)
    plugins: Any = None
    model: Any = None
    level: Any = None
    metadata: Any = field(default_factory=dict)
    request_id: Any = None
    double_text: Any = None
    on_missing: Any = OnMissing.NEW
    channel: str = "app_chat"
    trace_id: str | None = None
    trace: TraceContext | None = None
    before: tuple[Prior, ...] = ()
    freshness: Any = Freshness.ANY


_FOR_EVERYONE = (Command.LOG_IN, Command.LOG_OUT)
"""Whoever may only read comes in by the same door."""


class _Faults(list[dict[str, str]]):
    def add(self, name: str, message: str) -> None:
        self.append({"pointer": f"/{name}", "message": message})


def receive(
    inbound: Inbound, principal: Principal, *, now: datetime, trace_id: TraceId, settings: Settings
) -> Envelope:
    """The Envelope, or EnvelopeInvalid with every fault in it. What is refused here was not seen by anything behind."""
    if not principal.may_write and inbound.command not in _FOR_EVERYONE:
        raise NotAllowed("A viewer may read sessions, but not write to them. Ask the operator for another role.")
    faults = _Faults()
    if isinstance(inbound.message, str) and is_reset_command(inbound.message):
        # Whoever wants to begin anew does not want to answer what was asked before.
        inbound = replace(inbound, answers=None)
    if inbound.command is None and inbound.prepared is None:
        _check_message(inbound.message, settings.message_chars, faults)
    for name in ("agent", "answers", "request_id"):
        _check_id(name, getattr(inbound, name), faults)
    changes_units = inbound.command is not None and inbound.command.changes_units
    params_bytes = settings.import_bytes if changes_units else settings.metadata_bytes
    _check_object("params", inbound.params, params_bytes, faults)
    _check_object("metadata", inbound.metadata, settings.metadata_bytes, faults)
    _check_control(inbound.params, faults)
    _check_pack(inbound.pack, faults)
    explicit = _choices(inbound, faults)
    if not isinstance(inbound.reset, bool):
        faults.add("reset", "must be true or false")
    custody = _choice("custody", inbound.custody, Custody, faults) or Custody.ENGINE
    _check_session_id(inbound.session_id, custody, faults)
    double_text = _choice("double_text", inbound.double_text, DoubleText, faults)
    on_missing = _choice("on_missing", inbound.on_missing, OnMissing, faults) or OnMissing.NEW
    freshness = _choice("freshness", inbound.freshness, Freshness, faults) or Freshness.ANY
    mode = _choice("mode", inbound.mode, Mode, faults) or Mode.BATCH
    _check_combination(inbound, custody, double_text, settings.carried_bytes, faults)
    if faults:
        names = ", ".join(sorted({fault["pointer"] for fault in faults}))
        raise EnvelopeInvalid(f"The request is not valid at {names}. See details.", details=faults)
    given = inbound.trace_id is not None and _TRACE.fullmatch(inbound.trace_id)
    envelope = Envelope(
        principal=principal,
        received_at=now,
        trace_id=TraceId(inbound.trace_id) if inbound.trace_id and given else trace_id,
        channel=inbound.channel,
        events=_events(inbound),
        command=inbound.command,
        session_id=_session_id(inbound, custody),
        agent=None if inbound.agent is None else AgentId(inbound.agent),
        packs=() if inbound.pack is None else (inbound.pack,),
        grants=grants_of(principal),
        custody=custody,
        carried=inbound.carried,
        answers=None if inbound.answers is None else RunId(inbound.answers),
        decision=inbound.decision,
        reset=inbound.reset,
        params=inbound.params,
        explicit=explicit,
        metadata=inbound.metadata,
        request_id=inbound.request_id,
        double_text=double_text,
        on_missing=on_missing,
        mode=mode,
        trace=inbound.trace,
        verb=inbound.verb,
        before=inbound.before,
        freshness=freshness,
    )
    return envelope if inbound.prepared is None else _with(inbound.prepared, envelope)


def _session_id(inbound: Inbound, custody: Custody) -> SessionId | None:
    if inbound.session_id is None:
        return DEVICE_SESSION if custody is Custody.DEVICE else None
    return SessionId(inbound.session_id)


def _events(inbound: Inbound) -> tuple[Event, ...]:
    if inbound.command is not None:
        return ()
    return normalize(inbound.message, inbound.attachments) if inbound.prepared is None else inbound.prepared.events


def _with(prepared: Prepared, envelope: Envelope) -> Envelope:
    return replace(
        envelope,
        packs=prepared.packs,
        names_every_pack=prepared.names_every_pack,
        intent=prepared.intent,
        limits=prepared.limits,
        claims=prepared.claims,
        grants=narrowed(envelope.grants, prepared.grants),
        trace=prepared.trace,
        reply_to=prepared.reply_to,
        warnings=prepared.warnings,
        audited=prepared.audited,
        same_as=prepared.same_as,
    )


def _choices(inbound: Inbound, faults: _Faults) -> Preferences:
    """What this request chose by itself: a model, plugins by their kind, and how hard to think."""
    known = len(faults)
    plugins = {} if inbound.plugins is None else inbound.plugins
    if not isinstance(plugins, Mapping) or not all(is_id(kind) and is_id(id) for kind, id in plugins.items()):
        faults.add("plugins", "must be an object that names one plugin id for each kind")
    model = inbound.model
    if model is not None and not (isinstance(model, str) and 0 < len(model) <= 128 and is_plain_text(model)):
        faults.add("model", "must be the name of a model, at most 128 characters")
    if inbound.level is not None and (type(inbound.level) is not int or inbound.level not in LEVELS):
        faults.add("level", "must be 0, 1, 2 or 3")
    if len(faults) > known:
        return Preferences()
    return Preferences(model=inbound.model, plugins=dict(plugins), level=inbound.level)


def grants_of(principal: Principal) -> tuple[str, ...] | None:
    """None means every one."""
    return None if principal.holds_every_grant else tuple(sorted(principal.grants))


def narrowed(held: tuple[str, ...] | None, most: frozenset[str] | None) -> tuple[str, ...] | None:
    """What is left of grants under a ceiling; None is every grant, and no ceiling."""
    if most is None:
        return held
    return tuple(sorted(most if held is None else most.intersection(held)))


def _check_message(message: object, most_chars: int, faults: _Faults) -> None:
    if not isinstance(message, str):
        faults.add("message", "must be a string")
    elif not message.strip():
        faults.add("message", "must not be empty")
    elif len(message) > most_chars:
        faults.add("message", f"is {len(message)} characters long; at most {most_chars} are taken")
    elif not is_plain_text(message):
        faults.add("message", "must not hold a NUL character or half of a surrogate pair")


def pointed(name: str) -> str:
    """A name as it stands in a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _check_id(name: str, value: object, faults: _Faults) -> None:
    if value is not None and not is_id(value):
        faults.add(name, "must be 1 to 128 letters, digits or any of _ . : @ - and begin with a letter or digit")


def _check_session_id(value: object, custody: Custody, faults: _Faults) -> None:
    """Where somebody else keeps the session, its id is theirs to choose."""
    if custody.is_ours:
        _check_id("session_id", value, faults)
    elif value is not None and not is_foreign_id(value):
        faults.add("session_id", f"must be 1 to {MOST_ID_CHARS} characters of plain text")


def is_foreign_id(value: object) -> bool:
    """Whether it can be the id of a session that somebody else keeps."""
    return isinstance(value, str) and 0 < len(value) <= MOST_ID_CHARS and is_plain_text(value)


def _check_object(name: str, value: object, most_bytes: int, faults: _Faults) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        faults.add(name, "must be an object")
        return
    size = json_size(value)
    if size is None:
        faults.add(name, "must hold JSON values only, without NaN, and no half of a surrogate pair")
    elif size > most_bytes:
        faults.add(name, f"is {size} bytes as JSON; at most {most_bytes} are taken")


def _check_control(params: Any, faults: _Faults) -> None:
    """What steers a turn must say yes or no: a word that is misread would wipe a conversation, or fail to."""
    if not isinstance(params, Mapping):
        return
    names = [name for name in params if isinstance(name, str) and name.strip() in CONTROL_PARAMS]
    for name in names:
        if truth_of(params[name]) is None:
            faults.add(f"params/{pointed(name)}", "must be true or false (1, 0, yes, no, on and off are understood)")
        if sum(name.strip() == other.strip() for other in names) > 1:
            faults.add(f"params/{pointed(name)}", f"is said twice; write {name.strip()!r} once, without blanks")


def _check_pack(pack: Any, faults: _Faults) -> None:
    if pack is not None and not (isinstance(pack, str) and _PACK.fullmatch(pack)):
        faults.add("pack", "must be the id of a pack, or id@version with a version such as 1.2.0")


def json_size(value: object) -> int | None:
    """How many bytes this is as JSON; None when it is not JSON."""
    if not value:
        return 2
    try:
        return len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError):
        return None


def _choice(name: str, value: object, kind: type[E], faults: _Faults) -> E | None:
    if value is None:
        return None
    if isinstance(value, str) and value in set(kind):
        return kind(value)
    faults.add(name, f"must be one of {', '.join(kind)}")
    return None


def _check_combination(
    inbound: Inbound, custody: Custody, double_text: DoubleText | None, most_bytes: int, faults: _Faults
) -> None:
    if inbound.answers is not None and (inbound.session_id is None or inbound.reset is True):
        faults.add("answers", "needs the session_id of the waiting run, and goes without reset")
    if inbound.answers is not None and isinstance(inbound.params, Mapping) and inbound.params:
        faults.add("params", "an answer goes on with the params of the message that it answers; leave them out")
    if custody is not Custody.CLIENT and inbound.carried is not None:
        faults.add("carried", "is for custody 'client' only")
    if custody is not Custody.CLIENT and inbound.freshness == Freshness.STRICT:
        faults.add("freshness", "is for custody 'client' only")
    if custody is Custody.DEVICE and inbound.session_id not in (None, DEVICE_SESSION):
        faults.add("session_id", f"a device keeps one session; leave it out, or say {DEVICE_SESSION!r}")
    if not custody.is_ours:
        if inbound.answers is not None:
            faults.add("answers", f"a session in {custody} custody has no waiting runs")
        if double_text is not None:
            faults.add("double_text", f"a session in {custody} custody has no queue")
        if inbound.mode == Mode.LONG_RUNNING:
            faults.add("mode", f"a session in {custody} custody has no long runs; nothing of it is kept in between")
    if custody is Custody.CLIENT and inbound.carried is not None:
        _check_carried(inbound.carried, most_bytes, faults)


def _check_carried(carried: Any, most_bytes: int, faults: _Faults) -> None:
    """A state that no reply gave out is refused here, before a run begins with it."""
    known = len(faults)
    _check_object("carried", carried, most_bytes, faults)
    if len(faults) == known:
        try:
            carried_of(carried)
        except EnvelopeInvalid as error:
            faults.add("carried", error.detail)
