"""What a message says about itself: what of it is not to be remembered, and for how long its orders hold."""

import re
from dataclasses import replace

from turnkeeper.agents.symbolic.guidance import holds_for_long
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.question import QuestionKind, after_phrase, plain_form, read_question
from turnkeeper.agents.symbolic.words import meanings_in, telling, words_of
from turnkeeper.model.unit import Lifetime, PhaseScope, Unit
from turnkeeper.ports.plugins import Detection

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]*")


def as_wished(detection: Detection, text: str) -> Detection:
    """The detection without what is not to be remembered. An order beside a question holds for its answer alone."""
    units = _kept(detection.units, text)
    asked = detection.asked
    if is_not_to_be_kept(text):
        asked = tuple(each for each in asked if _unwanted_in(each) is None)
    if any(read_question(each).kind is not QuestionKind.REQUEST for each in asked):
        units = tuple(
            replace(unit, lifetime=Lifetime.TURN)
            if unit.guides(PhaseScope.SOLVE) and not holds_for_long(unit.content)
            else unit
            for unit in units
        )
    return replace(detection, units=units, asked=asked)


def is_not_to_be_kept(text: str) -> bool:
    """Whether a message asks to forget something that it says itself."""
    sentences = _sentences(text)
    for place, said in enumerate(sentences):
        unwanted = _unwanted_in(said)
        if unwanted is not None and (unwanted.says_it or (place and unwanted.points_to(sentences[:place]))):
            return True
    return False


class _Unwanted:
    """What one sentence asks not to remember: what stands before it, or what it says itself."""

    def __init__(self, what: str) -> None:
        pointers = speech().questions["forget_last"]
        pointed, _, behind = what.partition(":")
        named = after_phrase(what, speech().questions["forget_leads"])
        self._points = not what or what in pointers
        self._words = meanings_in(" ".join(telling(what)))
        said_here = behind.strip() if pointed.strip() in pointers else named or ""
        self.says_it = bool(said_here) and not speech().words["stating"].isdisjoint(words_of(said_here))

    def points_to(self, before: list[str]) -> bool:
        return self._points or any(self.means(each) for each in before)

    def means(self, text: str) -> bool:
        return self._points or (bool(self._words) and self._words <= meanings_in(text))


def _kept(units: tuple[Unit, ...], text: str) -> tuple[Unit, ...]:
    if not is_not_to_be_kept(text):
        return units
    before: list[str] = []
    gone: set[str] = set()
    for said in _sentences(text):
        unwanted = _unwanted_in(said)
        if unwanted is not None:
            here = {_folded(said)}
            gone |= here | {_folded(each) for each in before if unwanted.means(each)}
        before.append(said)
    return tuple(unit for unit in units if not _is_among(_folded(unit.content), gone))


def _is_among(content: str, gone: set[str]) -> bool:
    """A sentence may become several units, and a model may say it in its own words."""
    own = set(content.split())
    return any(content in each or each in content or own <= set(each.split()) for each in gone)


def _unwanted_in(sentence: str) -> _Unwanted | None:
    plain, rules = plain_form(sentence), speech().questions
    if (what := after_phrase(plain, rules["not_remembered"])) is not None:
        return _Unwanted(what)
    what = after_phrase(plain, rules["not_kept"])
    return _Unwanted(what) if what is not None and what in rules["forget_last"] else None


def _sentences(text: str) -> list[str]:
    return [said for each in _SENTENCE.findall(text) if (said := each.strip())]


def _folded(text: str) -> str:
    return " ".join(words_of(text))
