"""sd-llm: what a message says and asks, read by a chat model and checked strictly."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from turnkeeper.agents.symbolic.prompts import CORRECT, DETECT
from turnkeeper.model.ids import UnitId
from turnkeeper.model.message import Message
from turnkeeper.model.names import content_hash
from turnkeeper.model.plain_text import is_plain_text, says_plain_text, without_controls
from turnkeeper.model.unit import Lifetime, PhaseScope, Relation, Unit, UnitRole
from turnkeeper.ports.chat_model import ChatMessage, ChatModel, ChatRole, Completion, ModelFailed, ModelFault
from turnkeeper.ports.plugins import (
    CostClass,
    Depth,
    Detection,
    PlannerHints,
    PluginCall,
    PluginDescriptor,
    PluginKind,
)

MOST_UNITS = 50
MOST_QUESTIONS = 16
MOST_CHARS = 2_000
MOST_HISTORY = 6


class _Unit(msgspec.Struct, forbid_unknown_fields=True):
    role: UnitRole
    topic: str
    claim: str | None = None
    procedure: str | None = None
    condition: str | None = None
    subject: str | None = None
    relation: Relation | None = None
    object: str | None = None
    scopes: tuple[PhaseScope, ...] = (PhaseScope.KNOWLEDGE,)
    lifetime: Lifetime = Lifetime.SESSION
    slot: str | None = None


class _Reply(msgspec.Struct, forbid_unknown_fields=True):
    units: list[_Unit]
    questions: list[str]


class ModelDetector:
    """One call of the model; a second one only to mend a reply that could not be used."""

    descriptor = PluginDescriptor(
        id="sd-llm",
        kind=PluginKind.SEED_DETECTOR,
        name="Seed detector with a model",
        description="Reads facts, rules, preferences and questions with a chat model, in any language.",
        cost=CostClass.EXPENSIVE,
        uses_model=True,
        most_model_calls=2,
        hints=PlannerHints(depth=Depth.DEEP),
    )

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def detect(self, text: str, call: PluginCall) -> Detection:
        messages = [
            ChatMessage(role=ChatRole.SYSTEM, content=DETECT),
            ChatMessage(role=ChatRole.USER, content=_framed(text, call.context.history)),
        ]
        completion = await self._ask(messages, call)
        try:
            return _read(completion)
        except _Unusable as unusable:
            faults = str(unusable)
        messages += [
            ChatMessage(role=ChatRole.ASSISTANT, content=completion.text),
            ChatMessage(role=ChatRole.USER, content=CORRECT.format(faults=faults)),
        ]
        try:
            return _read(await self._ask(messages, call))
        except _Unusable:
            raise ModelFailed(
                ModelFault.ANSWER_UNREADABLE, "The model gave no usable units, also when it was told what was wrong."
            ) from None

    async def _ask(self, messages: Sequence[ChatMessage], call: PluginCall) -> Completion:
        call.model_call()
        return await self._model.complete(messages, deadline=call.context.deadline, json=True, model=call.model)


class _Unusable(Exception):
    """What is wrong with a reply, told to the model that gave it."""


def _framed(text: str, history: Sequence[Message]) -> str:
    """As JSON, so that nothing in a message looks like an instruction of ours."""
    before = [{"role": message.role.value, "said": message.content} for message in history[-MOST_HISTORY:]]
    return msgspec.json.encode({"before": before, "message": text}).decode()


def unfenced(text: str) -> str:
    """Without the fence that some models put around JSON."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```"):
        return stripped.strip("`").removeprefix("json").strip()
    return stripped


def _read(completion: Completion) -> Detection:
    try:
        reply = msgspec.json.decode(unfenced(completion.text), type=_Reply)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _Unusable(str(error)) from None
    if len(reply.units) > MOST_UNITS or len(reply.questions) > MOST_QUESTIONS:
        raise _Unusable(f"at most {MOST_UNITS} units and {MOST_QUESTIONS} questions")
    asked = tuple(said for question in reply.questions if (said := without_controls(question).strip()))
    if any(len(said) > MOST_CHARS for said in asked):
        raise _Unusable(f"a question has at most {MOST_CHARS} characters")
    if not all(map(is_plain_text, asked)):
        raise _Unusable("a question holds a NUL character or half of a surrogate pair")
    return Detection(units=tuple(_units(reply.units)), asked=asked, model=completion.model)


def _units(given: Sequence[_Unit]) -> Iterator[Unit]:
    for number, each in enumerate(given, start=1):
        try:
            unit = Unit(
                id=UnitId(f"staged::unit-{number:03}"),
                source_id="session",
                chunk_id="session::turn",
                source_type="chat-turn",
                role=each.role,
                topic=without_controls(each.topic).strip(),
                claim=_clean(each.claim),
                procedure=_clean(each.procedure),
                condition=_clean(each.condition),
                subject=_clean(each.subject),
                relation=each.relation,
                object=_clean(each.object),
                phase_scopes=each.scopes,
                lifetime=each.lifetime,
                slot=_clean(each.slot),
            )
        except ValueError as error:
            raise _Unusable(f"unit {number}: {error}") from None
        if not unit.content.strip():
            raise _Unusable(f"unit {number}: it says nothing")
        if not says_plain_text(unit):
            raise _Unusable(f"unit {number}: it holds a NUL character or half of a surrogate pair")
        if any(len(said) > MOST_CHARS for said in unit.given.values() if isinstance(said, str)):
            raise _Unusable(f"unit {number}: at most {MOST_CHARS} characters each")
        yield replace(unit, hash=content_hash(unit))


def _clean(text: str | None) -> str | None:
    return None if text is None else without_controls(text)
