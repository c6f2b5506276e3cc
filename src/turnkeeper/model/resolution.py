"""What a resolver makes of a message: which intents it may mean, and how surely."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from turnkeeper.model.dialogue import Clarification, Option
from turnkeeper.model.message import Message
from turnkeeper.model.pack import Intent


class ResolvedBy(StrEnum):
    """Who resolved an intent."""

    CLASSIFIER = "CLASSIFIER"
    AGENT = "AGENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveInput:
    """`intents` are those that may be resolved at all: for this caller, on this channel, in this language."""

    text: str
    intents: tuple[Intent, ...]
    current: str
    clarification: Clarification | None = None
    history: Sequence[Message] = ()
    prompt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`state` is where the intent would begin, when a rule says so."""

    intent: str
    confidence: float
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Both resolvers give one of these. What it proposes is believed only after it was judged."""

    source: ResolvedBy
    scores: tuple[Score, ...] = ()
    intent: str | None = None
    confidence: float = 0.0
    needs_clarification: bool = False
    question: str | None = None
    options: tuple[Option, ...] = ()
    rationale: str = ""


class Verdict(StrEnum):
    ACCEPTED = "accepted"
    UNCLEAR = "unclear"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is believed of a Resolution: an intent, a question back, or nothing, and why."""

    verdict: Verdict
    intent: str | None = None
    state: str | None = None
    confidence: float = 0.0
    question: str | None = None
    options: tuple[Option, ...] = ()
    reason: str = ""
