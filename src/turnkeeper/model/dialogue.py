"""What a session holds from turn to turn beside what was said: its intent and how far that has come."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from turnkeeper.model.pack import UNKNOWN

SCHEMA_INCOMPLETE = "SCHEMA_INCOMPLETE"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentLock:
    """Keeps a session on `intent` until every field in `missing` has an answer."""

    intent: str
    missing: tuple[str, ...]
    taken_at: datetime
    reason: str = SCHEMA_INCOMPLETE

    def __post_init__(self) -> None:
        if not self.missing:
            raise ValueError("an IntentLock needs a missing field; use None for no lock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way to understand what was said: the code of an intent, and how it is called in front of people."""

    code: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarification:
    """A question that is open: what was meant. It was asked at `turn`, `attempts` times by now.

    `text` is what the user had said, so that it can be acted upon when the question is answered.
    """

    question: str
    reason: str
    options: tuple[Option, ...] = ()
    turn: int
    attempts: int = 1
    text: str = ""

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise ValueError("a Clarification asks something")
        if self.attempts < 1 or self.turn < 1:
            raise ValueError("turn and attempts of a Clarification count from 1")

    def is_over(self, turn: int, *, turns: int) -> bool:
        """Whether it was asked so many turns ago that an answer to it is no longer expected."""
        return turn - self.turn > turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How far the answers of an intent have come, while the session is busy with another one."""

    state: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """`context` holds the answers given to the current intent, `forms` those of intents that were left.

    `asked` is the field that the last question was about, `misses` counts the messages in a row in which the form found
    nothing. `params` are the merged params of earlier requests.
    """

    intent: str = UNKNOWN
    state: str = UNKNOWN
    context: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    forms: Mapping[str, Form] = field(default_factory=dict)
    asked: str | None = None
    misses: int = 0
    lock: IntentLock | None = None
    clarification: Clarification | None = None

    def __post_init__(self) -> None:
        if self.lock is not None and self.lock.intent != self.intent:
            raise ValueError("a session is locked to the intent that it has")

    @property
    def given(self) -> Mapping[str, Any]:
        """The parts that say something."""
        return {name: value for name in _EMPTY if (value := getattr(self, name)) != _EMPTY[name]}

    @property
    def is_empty(self) -> bool:
        return not self.given

    @property
    def is_resolved(self) -> bool:
        return self.intent != UNKNOWN and self.state != UNKNOWN

    @property
    def told(self) -> Mapping[str, Any] | None:
        """What the caller of a turn is told of the intent; None as long as there is none."""
        if self.intent == UNKNOWN:
            return None
        missing = list(self.lock.missing) if self.lock else []
        return {"code": self.intent, "state": self.state, "locked": self.lock is not None, "missing": missing}


_EMPTY = {each.name: getattr(Dialogue(), each.name) for each in fields(Dialogue)}


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentView:
    """What an agent, and the caller, are told of the intent of a turn.

    `options` are the choices for those missing fields that have some; `question` is what the keeper would ask next;
    `hint` is what the pack tells the agent for this state.
    """

    code: str
    state: str
    name: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    options: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    locked: bool = False
    question: str | None = None
    hint: str | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
