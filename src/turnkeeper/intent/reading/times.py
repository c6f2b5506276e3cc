"""Times of day in a message, in digits or as they are spoken."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time
from functools import cache

from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.said import Piece, PieceKind, Said

_NOON = 12
_LAST_OF_AFTERNOON = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """`open` is an hour of which it was not said in which half of the day it lies."""

    hour: int
    minute: int
    open: bool = False
    spoken: bool = False

    def at(self, earliest: str | None) -> time:
        """In the half of the day that is not before `earliest`; a spoken 1 to 6 is in the afternoon."""
        read = time(self.hour, self.minute)
        if not self.open or not 0 < self.hour < _NOON:
            return read
        if earliest is not None:
            return read if read >= time.fromisoformat(earliest) else read.replace(hour=self.hour + _NOON)
        afternoon = self.spoken and self.hour <= _LAST_OF_AFTERNOON
        return read.replace(hour=self.hour + _NOON) if afternoon else read


def times_in(said: Said, language: Language, *, asked: bool) -> Iterator[Piece]:
    evening = _evening(language).search(said.text) is not None
    for pattern, spoken in _patterns(language, asked):
        for found in pattern.finditer(said.text):
            clock = _clock(found, language, spoken=spoken, evening=evening)
            if clock is not None:
                yield Piece(start=found.start(), end=found.end(), kind=PieceKind.TIME, value=clock)


def time_at(said: Said, start: int, language: Language) -> Piece | None:
    """The time that begins here, where it is known that one does: "the time is 9"."""
    evening = _evening(language).search(said.text) is not None
    for pattern in _named(language):
        found = pattern.match(said.text, start)
        clock = _clock(found, language, spoken=True, evening=evening) if found else None
        if found is not None and clock is not None:
            return Piece(start=start, end=found.end(), kind=PieceKind.TIME, value=clock)
    return None


def _clock(found: re.Match[str], language: Language, *, spoken: bool, evening: bool) -> Clock | None:
    groups = found.groupdict()
    if groups.get("h") is None:
        at = time.fromisoformat(language.times.words[found[0].lower()])
        return Clock(hour=at.hour, minute=at.minute)
    hour, minute = _hour_and_minute(found, groups, language)
    half = (groups.get("half") or "").lower()
    if half:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if half in language.times.pm else 0)
    elif evening and 0 < hour < _NOON:
        hour += _NOON
        half = "pm"
    if hour > 23 or minute > 59:
        return None
    return Clock(hour=hour, minute=minute, open=not half and not groups["h"].startswith("0"), spoken=spoken)


def _hour_and_minute(found: re.Match[str], groups: dict[str, str | None], language: Language) -> tuple[int, int]:
    hour = int(groups["h"] or 0)
    minute = int(groups.get("m") or 0)
    if found[0].lower().startswith(language.times.half_hour):
        minute = 30
    if groups.get("quarter"):
        minute = language.times.quarter
    if (groups.get("way") or "").lower() in language.times.to:
        hour, minute = (hour - 1) % 24 or _NOON, 60 - minute
    return hour, minute


@cache
def _patterns(language: Language, asked: bool) -> tuple[tuple[re.Pattern[str], bool], ...]:
    times = language.times
    half = "(?:" + "|".join(map(re.escape, sorted((*times.am, *times.pm), key=len, reverse=True))) + ")"
    written = [(pattern_of(_bounded(each.replace("{half}", half))), False) for each in times.patterns]
    behind = f"(?: ?(?P<half>{half}))?"
    spoken = [(pattern_of(_bounded(f"(?:{each}){behind}")), True) for each in times.spoken]
    bare = [(pattern_of(each), True) for each in times.asked] if asked else []
    return (*spoken, *written, (pattern_of(any_of(times.words)), False), *bare)


@cache
def _named(language: Language) -> tuple[re.Pattern[str], ...]:
    return tuple(pattern_of(rf"(?:{each})(?![\w/:])") for each in language.times.named)


def _bounded(pattern: str) -> str:
    return rf"(?<![\w.,/:-]){pattern}(?!\w)"


@cache
def _evening(language: Language) -> re.Pattern[str]:
    return pattern_of(any_of(language.times.evening))
