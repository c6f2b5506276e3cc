"""What a pipeline plugin is asked, and what it answers with."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from turnkeeper.bus.message import Message

CONVERSE, RESPONSE, STOPPED, COMMON_QUERY, FALLBACK, GLOBAL_STOP = (
    "converse",
    "response",
    "stop",
    "common_query",
    "fallback",
    "global_stop",
)
RESERVED = frozenset({CONVERSE, RESPONSE, STOPPED, COMMON_QUERY, FALLBACK})
"""Names of intents that no skill may register; what they mean is part of the pipeline."""
NOT_ACTIVATING = RESERVED - {FALLBACK}
"""Being dispatched under one of these does not make a skill the most recent one."""

_PIPELINE_ID = re.compile(r"[A-Za-z0-9_-]+")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Who is to handle an utterance. `updated_session` is the whole session as the plugin wants it from here on."""

    skill_id: str
    intent_name: str
    lang: str
    utterance: str
    slots: Mapping[str, str] = field(default_factory=dict)
    updated_session: Mapping[str, Any] | None = None

    @property
    def topic(self) -> str:
        return f"{self.skill_id}:{self.intent_name}"

    @property
    def is_sound(self) -> bool:
        """Whether it can be dispatched; one that cannot counts as a decline and is never repaired."""
        return (
            _is_id(self.skill_id)
            and _is_id(self.intent_name)
            and _is_text(self.lang)
            and bool(_LANGUAGE.fullmatch(self.lang))
            and _is_text(self.utterance)
            and _is_slots(self.slots)
            and _is_session(self.updated_session)
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and bool(value) and ":" not in value


def _is_slots(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    return all(isinstance(key, str) and isinstance(slot, str) for key, slot in value.items())


def _is_session(value: object) -> bool:
    return value is None or isinstance(value, Mapping)


class Poll(Protocol):
    async def __call__(
        self,
        topic: str,
        data: dict[str, Any],
        *,
        answers: str,
        seconds: float,
        is_enough: Callable[[Sequence[Message]], bool],
    ) -> Sequence[Message]:
        """Ask everybody once and collect what comes back within the time, or until it `is_enough`.

        Only answers with the id of this utterance count; each is well formed, but its data is for the asker to judge.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """What was said, as a plugin is asked about it: the candidates of what it was, and in which language.

    `session` is the plugin's own copy: what it changes there is lost, unless it is given back in a Match. `now` is
    the time by the orchestrator's clock, in seconds.
    """

    candidates: tuple[str, ...]
    lang: str
    session: dict[str, Any]
    now: float
    poll: Poll

    @property
    def first(self) -> str:
        return self.candidates[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIntent:
    """An intent that a plugin could match; what a query is told of it."""

    skill_id: str
    intent_name: str
    lang: str


class PipelinePlugin(Protocol):
    @property
    def pipeline_id(self) -> str: ...

    async def match(self, utterance: Utterance) -> Match | None:
        """Who is to handle this, or None. Whatever it raises, and whatever takes too long, counts as None."""

    def intents(self) -> Sequence[KnownIntent]:
        """What it could match, for whoever asks."""


@runtime_checkable
class Listening(Protocol):
    """A plugin that hears what goes over the bus, because others tell it there what they can do."""

    def heard(self, message: Message) -> None:
        """Called with every message that comes in. What it keeps of them is bounded, and it never raises."""


Claim = Callable[[Utterance], Awaitable[bool]]
"""How a skill in this process is asked what others are asked over the bus: whether it would take this."""


def is_pipeline_id(text: str) -> bool:
    return bool(_PIPELINE_ID.fullmatch(text))
