"""Messages that are nothing but a yes, a no, or a wish to leave a question out."""

import re
from functools import cache

from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.phrases import any_of, pattern_of

LONGEST = 80
_MARKS = re.compile(r"[\s.,;:!?\"]+")


def whole_answer(text: str, language: Language) -> bool | None:
    """True for a message of nothing but assent, False for one of nothing but refusal, polite words aside."""
    found = _phrases_of(text, language)
    return found.pop() if found is not None and len(found) == 1 else None


def first_answer(text: str, language: Language) -> bool | None:
    """How a message begins: with a yes or with a no."""
    said = plain(text)
    for meant, pattern in ((False, _any(language.answers.no)), (True, _any(language.answers.yes))):
        if pattern.match(said):
            return meant
    return None


def is_skip(text: str, language: Language) -> bool:
    return without_polite(text, language).replace("'", "") in _spelled(language.answers.skip)


def is_drop(text: str, language: Language) -> bool:
    """Whether it says nothing but that the form is not wanted any more: "nah, forget it please"."""
    said = _bare(text)
    return len(said) <= LONGEST and _drop(language).fullmatch(said) is not None


def is_idle(text: str, language: Language) -> bool:
    """Whether it says nothing that could be an answer."""
    said = _bare(text)
    return not said or (len(said) <= LONGEST and _idle(language).fullmatch(said) is not None)


def is_question(text: str, language: Language) -> bool:
    return text.rstrip().endswith("?") or _any(language.texts.questions).match(plain(text)) is not None


def plain(text: str) -> str:
    return _MARKS.sub(" ", text.translate({0x2019: "'"}).lower()).strip()


def without_polite(text: str, language: Language) -> str:
    said = plain(text)
    for phrase in language.answers.polite:
        said = said.removesuffix(f" {phrase}").removeprefix(f"{phrase} ")
    return said


def bare_name(text: str, language: Language) -> str:
    """Without an article and polite words."""
    said = without_polite(text, language)
    first, _, rest = said.partition(" ")
    return rest if first in language.names.articles else said


def _phrases_of(text: str, language: Language) -> set[bool] | None:
    """Which of yes and no a message is made of; None when there is something else in it."""
    if len(text) > LONGEST:
        return None
    rest = plain(text)
    found: set[bool] = set()
    while rest:
        meant, rest_after = _first_phrase(rest, language)
        if rest_after == rest:
            return None
        found |= {meant} if meant is not None else set()
        rest = rest_after
    return found


def _first_phrase(said: str, language: Language) -> tuple[bool | None, str]:
    answers = language.answers
    options = ((True, answers.yes), (False, answers.no), (None, answers.polite))
    matches = [(found.end(), meant) for meant, phrases in options if (found := _any(phrases).match(said))]
    if not matches:
        return None, said
    end, meant = max(matches, key=lambda each: each[0])
    return meant, said[end:].strip()


@cache
def _any(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return pattern_of(any_of(phrases))


def _bare(text: str) -> str:
    """Without marks and apostrophes, which many leave out."""
    return plain(text).replace("'", "")


def _any_bare(phrases: tuple[str, ...]) -> str:
    return any_of(map(_bare, phrases))


@cache
def _idle(language: Language) -> re.Pattern[str]:
    texts = language.texts
    idle = _any_bare(texts.idle)
    return pattern_of(rf"(?:{_any_bare(texts.idle_lead_in)} ){{0,2}}{idle}(?: {idle}){{0,2}}")


@cache
def _drop(language: Language) -> re.Pattern[str]:
    answers = language.answers
    return pattern_of(
        rf"(?:{_any_bare(answers.drop_lead_in)} ){{0,3}}{_any_bare(answers.drop)}"
        rf"(?: {_any_bare(answers.polite)}){{0,2}}"
    )


@cache
def _spelled(phrases: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_bare, phrases))
