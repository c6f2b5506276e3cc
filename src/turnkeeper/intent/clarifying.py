"""A question back to the user: asking it, asking it again, and reading the answer."""

import re
from collections.abc import Sequence
from dataclasses import replace

from turnkeeper.intent.words import content_words
from turnkeeper.model.dialogue import Clarification, Option
from turnkeeper.model.names import collapsed
from turnkeeper.model.pack import Intent
from turnkeeper.model.resolution import Judgement

NEITHER = "<neither>"
"""The user wants none of what was offered. No intent can have this code."""

FUZZY_FROM = 80.0
FUZZY_MARGIN = 15.0
MOST_WORDS = 6
"""A longer answer says more than which option is meant: the resolver reads it."""


def opened(judgement: Judgement, *, turn: int, text: str) -> Clarification:
    if judgement.question is None:
        raise ValueError("only a judgement that asks something opens a Clarification")
    return Clarification(
        question=judgement.question, reason=judgement.reason, options=judgement.options, turn=turn, text=text
    )


def again(clarification: Clarification, *, attempts: int) -> Clarification | None:
    """The same question once more; None when it was asked `attempts` times and the user should be told so."""
    return None if clarification.attempts >= attempts else replace(clarification, attempts=clarification.attempts + 1)


def answered(clarification: Clarification, text: str, intents: Sequence[Intent]) -> str | None:
    """The code of the option that is meant, or NEITHER; None when the text says something else.

    An option that is no longer among `intents` is not chosen, but keeps its place when options are counted.
    """
    said = collapsed(text).strip(" .,;:!?\"'()[]")
    options = clarification.options
    code = _by_code(said, options) or _by_place(said, options) or _by_label(said, options)
    if code is None and _NEITHER.fullmatch(said):
        return NEITHER
    return code if code in {intent.code for intent in intents} else None


def _by_code(said: str, options: Sequence[Option]) -> str | None:
    return next((option.code for option in options if option.code.casefold() == said), None)


_PLACES = {
    word: place
    for place, words in enumerate(("1 #1 1st one first", "2 #2 2nd two second", "3 #3 3rd three third"))
    for word in words.split()
}
_OF_TWO = {"former": 0, "latter": 1}
_PLACE = re.compile(
    r"(?:(?:i (?:mean|meant|choose|pick)|i'll take|take)\s+)?(?:the\s+)?(?:(?:option|number|choice|no\.|nr\.?)\s*)?"
    rf"(?P<place>{'|'.join(_PLACES)}|former|latter|last)(?:\s+(?:one|option|choice))?(?:,?\s+please)?"
)
_YES = re.compile(r"(?:yes|yeah|yep|sure|right|exactly|correct|ok|okay)(?:,?\s+please)?")
_NEITHER = re.compile(
    r"no|nope|something else"
    r"|(?:no,?\s+)?(?:neither|none|not any)(?:\s+of\s+(?:these|those|them|the (?:two|three|above)))?"
)


def _by_place(said: str, options: Sequence[Option]) -> str | None:
    if len(options) == 1 and _YES.fullmatch(said):
        return options[0].code
    found = _PLACE.fullmatch(said)
    if found is None:
        return None
    place = _place(found["place"], len(options))
    return options[place].code if place is not None and place < len(options) else None


def _place(word: str, count: int) -> int | None:
    if word == "last":
        return count - 1 if count else None
    return _OF_TWO.get(word) if word in _OF_TWO and count == 2 else _PLACES.get(word)


def _by_label(said: str, options: Sequence[Option]) -> str | None:
    exact = [option.code for option in options if collapsed(option.label) == said]
    if len(exact) == 1:
        return exact[0]
    # Where there is nothing to choose from, only a yes will do.
    may_be_like = len(options) > 1 and len(said.split()) <= MOST_WORDS and not _DENIES.search(said)
    return _by_likeness(said, options) if may_be_like else None


_DENIES = re.compile(r"\b(?:not|no|never|neither|none|nor|don't|dont|except)\b")


def _by_likeness(said: str, options: Sequence[Option]) -> str | None:
    """The one label that the answer is clearly most like, whatever its typing errors."""
    from rapidfuzz import fuzz

    words = " ".join(content_words(said))
    if not words:
        return None
    ranked = sorted(
        ((fuzz.token_set_ratio(words, " ".join(content_words(option.label))), option.code) for option in options),
        reverse=True,
    )
    best, second = ranked[0] if ranked else (0.0, ""), ranked[1][0] if len(ranked) > 1 else 0.0
    return best[1] if best[0] >= FUZZY_FROM and best[0] - second >= FUZZY_MARGIN else None
