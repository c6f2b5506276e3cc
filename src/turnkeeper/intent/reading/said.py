"""A message with its numbers in digits, that still knows how everything was written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.phrases import any_of, pattern_of

MOST_READ = 4_000
_MOST_NUMBER_WORDS = 8
_SAME = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00a0": " ", "\t": " ", "\r": "\n"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """`origins` says for each place in `text` where it stands in `original`, its end included.

    Of a long message `text` is only the beginning; what is written up to its end goes on to the end of the message.
    """

    original: str
    text: str
    origins: tuple[int, ...]

    def written(self, start: int, end: int) -> str:
        """As the user wrote it."""
        return self.original[self.origins[start] : self.origins[end]]


class PieceKind(StrEnum):
    DATE = "date"
    TIME = "time"
    NUMBER = "number"
    PHONE = "phone"
    EMAIL = "email"
    URI = "uri"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Something that can be the value of a field, and where it stands."""

    start: int
    end: int
    kind: PieceKind
    value: Any

    def overlaps(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end


def said_in(text: str, language: Language) -> Said:
    plain = text[:MOST_READ].translate(_SAME)
    letters: list[str] = []
    origins: list[int] = []
    for start, end, digits in _parts(plain, language):
        shown = plain[start:end] if digits is None else digits
        for offset, letter in enumerate(shown):
            if letter == " " and (not letters or letters[-1] in " \n"):
                continue
            letters.append(letter)
            origins.append(start + offset if digits is None else start)
    return Said(original=text, text="".join(letters), origins=(*origins, len(text)))


def _parts(text: str, language: Language) -> Iterator[tuple[int, int, str | None]]:
    """The text in pieces: as it is, or a number in digits."""
    at = 0
    for found in _number_words(language).finditer(text):
        if found["no"] is not None:
            continue
        yield at, found.start(), None
        at = found.end()
        if found["phrase"] is not None:
            yield found.start(), at, str(language.numbers.phrases[found[0].lower()])
        else:
            yield from _runs(text, found.start(), at, language)
    yield at, len(text), None


def _runs(text: str, start: int, end: int, language: Language) -> Iterator[tuple[int, int, str | None]]:
    """A run of number words may be several numbers: "eight thirty"."""
    words = [(start + each.start(), start + each.end()) for each in re.finditer(r"\w+", text[start:end])]
    first = 0
    while first < len(words):
        last, value = _longest_number(text, words[first : first + _MOST_NUMBER_WORDS], language)
        begin, stop = words[first][0], words[first + last][1]
        yield begin, stop, value
        first += last + 1
        if first < len(words):
            yield stop, words[first][0], None


def _longest_number(text: str, words: list[tuple[int, int]], language: Language) -> tuple[int, str | None]:
    from text_to_num import text2num

    for last in range(len(words) - 1, -1, -1):
        run = " ".join(text[start:end].lower() for start, end in words[: last + 1])
        try:
            return last, str(text2num(run, language.code))
        except ValueError:
            continue
    return 0, None


@cache
def _number_words(language: Language) -> re.Pattern[str]:
    numbers = language.numbers
    word = any_of(numbers.words)
    joint = rf"[ -](?:{re.escape(numbers.joint)} )?"
    return pattern_of(
        f"(?P<no>{any_of(numbers.not_numbers)})",
        f"(?P<phrase>{any_of(numbers.phrases)})",
        f"(?P<run>{word}(?:{joint}{word})*)",
    )
