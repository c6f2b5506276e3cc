"""Words that take something back: what was not meant, what is to be changed, what is to be forgotten."""

import re
from functools import cache

from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.said import Said

_WINDOW = 40


def is_unwanted(said: Said, start: int, language: Language) -> bool:
    """Whether what begins here is what is not meant: not Friday, instead of 4."""
    return _unwanted(language).search(said.text[max(0, start - _WINDOW) : start]) is not None


def corrects(said: Said, language: Language) -> bool:
    """Whether the message changes something that was said before."""
    return _cues(language).search(said.text) is not None


def clears(said: Said, start: int, language: Language) -> bool:
    """Whether the words before ask to forget the field that is named here."""
    return _clears(language).search(said.text[max(0, start - _WINDOW) : start]) is not None


def doubts(said: Said, start: int, end: int, language: Language) -> bool:
    """Whether the field that is named here is to be changed, without saying to what."""
    before = _changes(language).search(said.text[max(0, start - _WINDOW) : start])
    return before is not None or _is_wrong(language).match(said.text, end) is not None


def is_wrong(said: Said, end: int, language: Language) -> bool:
    return _is_wrong(language).match(said.text, end) is not None


@cache
def _unwanted(language: Language) -> re.Pattern[str]:
    between = any_of((*language.names.links, *language.names.articles))
    return pattern_of(rf"{any_of(language.corrections.instead_of)} (?:{between} )?$")


@cache
def _cues(language: Language) -> re.Pattern[str]:
    rules = language.corrections
    return pattern_of(any_of(rules.cues), rf"^\W*{any_of(rules.first)} ?[,.!:-]", rf"^\W*{any_of(rules.instead_of)}")


@cache
def _clears(language: Language) -> re.Pattern[str]:
    return _verb_before(language, language.corrections.clear)


@cache
def _changes(language: Language) -> re.Pattern[str]:
    return _verb_before(language, language.corrections.change)


def _verb_before(language: Language, verbs: tuple[str, ...]) -> re.Pattern[str]:
    return pattern_of(rf"{any_of(verbs)} (?:{any_of(language.names.articles)} )?$")


@cache
def _is_wrong(language: Language) -> re.Pattern[str]:
    return pattern_of(rf" {any_of(language.corrections.is_wrong)}")
