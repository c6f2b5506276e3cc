"""What is believed of what a resolver proposes, whichever resolver it was."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite

from turnkeeper.model.dialogue import Clarification, Option
from turnkeeper.model.pack import Intent
from turnkeeper.model.pack_config import PackConfig
from turnkeeper.model.resolution import Judgement, Resolution, Score, Verdict

MOST_OPTIONS = 3


class Reason(StrEnum):
    """Why a judgement is what it is."""

    CLEAR = "clear"
    CLARIFICATION_SUPPRESSED = "clarification_suppressed"
    COLLISION = "collision"
    RESOLVER_ASKS = "resolver_asks"
    NO_INTENT = "no_intent"
    NOT_ALLOWED = "not_allowed"
    LOW_CONFIDENCE = "low_confidence"
    RESET_UNSURE = "reset_unsure"


SURE_TO_RESET = 0.9
"""A conversation is wiped on a rule or nearly the words of an example; on less the user is asked whether to."""


def judge(
    resolution: Resolution,
    *,
    intents: Sequence[Intent],
    config: PackConfig,
    clarification: Clarification | None,
    has_schema: Callable[[str], bool],
) -> Judgement:
    """Only what is in `intents` is ever believed. While a question is open, no collision leads to another one.

    A resolver that wants to ask is not heard when the first intent has a form, is sure enough and has no rival: the
    form asks what is missing. A collision is always asked about, and so is a reset that is only likely.
    """
    ranking = _Ranking.of(resolution, intents)
    first = ranking.first
    has_rival = ranking.has_rival(config)
    is_sure = first is not None and first.confidence >= config.min_confidence
    if has_rival and clarification is None:
        return _question(Reason.COLLISION, resolution, ranking, config)
    suppressed = first is not None and is_sure and not has_rival and has_schema(first.intent)
    if resolution.needs_clarification and not suppressed:
        return _question(Reason.RESOLVER_ASKS, resolution, ranking, config)
    if first is None:
        return _rejected(Reason.NOT_ALLOWED if _proposes(resolution) else Reason.NO_INTENT)
    if not is_sure:
        return _rejected(Reason.LOW_CONFIDENCE, first.confidence)
    if first.intent in config.reset_intent_codes and first.confidence < SURE_TO_RESET:
        return _asked_whether(ranking.option(first.intent), first.confidence)
    reason = Reason.CLARIFICATION_SUPPRESSED if resolution.needs_clarification else Reason.CLEAR
    return Judgement(
        verdict=Verdict.ACCEPTED,
        intent=first.intent,
        state=first.state,
        confidence=first.confidence,
        reason=reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """The intents that are allowed, the surest first; of equals that of the lower priority number."""

    scores: tuple[Score, ...]
    intents: dict[str, Intent]

    @classmethod
    def of(cls, resolution: Resolution, intents: Sequence[Intent]) -> "_Ranking":
        known = {intent.code: intent for intent in intents}
        best: dict[str, Score] = {}
        for score in _proposed(resolution):
            if score.intent in known and isfinite(score.confidence):
                best[score.intent] = _surer(best.get(score.intent), _within_bounds(score, known[score.intent]))
        order = sorted(best.values(), key=lambda each: (-each.confidence, known[each.intent].priority, each.intent))
        return cls(scores=tuple(order), intents=known)

    @property
    def first(self) -> Score | None:
        return self.scores[0] if self.scores else None

    def has_rival(self, config: PackConfig) -> bool:
        """Whether a second intent is likely enough, and about as likely as the first."""
        if len(self.scores) < 2:
            return False
        first, second = (score.confidence for score in self.scores[:2])
        # 0.8 - 0.7 is a little more than 0.1 in binary; nobody who writes a gap of 0.1 means that.
        return second >= config.collision_floor and round(first - second, 9) <= config.collision_gap_threshold

    def options(self, config: PackConfig) -> tuple[Option, ...]:
        likely = [score.intent for score in self.scores if score.confidence >= config.collision_floor]
        return tuple(self.option(code) for code in likely[:MOST_OPTIONS])

    def option(self, code: str) -> Option:
        return Option(code=code, label=self.intents[code].name or code)


def _proposed(resolution: Resolution) -> Iterator[Score]:
    """All scores, and the intent that is named outright as one more. A confidence in no intent counts for none."""
    yield from resolution.scores
    if resolution.intent is not None:
        yield Score(intent=resolution.intent, confidence=resolution.confidence)


def _proposes(resolution: Resolution) -> bool:
    return any(True for _ in _proposed(resolution))


def _within_bounds(score: Score, intent: Intent) -> Score:
    """A confidence between 0 and 1, and a state only if the intent has it."""
    known = score.state is not None and intent.state(score.state) is not None
    return replace(score, confidence=min(1.0, max(0.0, score.confidence)), state=score.state if known else None)


def _surer(one: Score | None, other: Score) -> Score:
    """The higher confidence, and a state if either names one; so the order in which they come does not count."""
    if one is None:
        return other
    first, second = sorted((one, other), key=lambda each: (-each.confidence, each.state is None, each.state or ""))
    return first if first.state is not None else replace(first, state=second.state)


def _question(reason: Reason, resolution: Resolution, ranking: _Ranking, config: PackConfig) -> Judgement:
    offered = tuple(ranking.option(option.code) for option in resolution.options if option.code in ranking.intents)
    options = (() if reason is Reason.COLLISION else offered[:MOST_OPTIONS]) or ranking.options(config)
    question = resolution.question or _did_you_mean(options)
    if question is None:
        return _rejected(Reason.NO_INTENT)
    confidence = ranking.first.confidence if ranking.first else 0.0
    return Judgement(verdict=Verdict.UNCLEAR, confidence=confidence, question=question, options=options, reason=reason)


def _asked_whether(option: Option, confidence: float) -> Judgement:
    return Judgement(
        verdict=Verdict.UNCLEAR,
        confidence=confidence,
        question=_did_you_mean([option]),
        options=(option,),
        reason=Reason.RESET_UNSURE,
    )


def _did_you_mean(options: Sequence[Option]) -> str | None:
    labels = [option.label for option in options]
    if len(labels) < 2:
        return f"Did you mean {labels[0]}?" if labels else None
    return f"Did you mean {', '.join(labels[:-1])} or {labels[-1]}?"


def _rejected(reason: Reason, confidence: float = 0.0) -> Judgement:
    return Judgement(verdict=Verdict.REJECTED, confidence=confidence, reason=reason)
