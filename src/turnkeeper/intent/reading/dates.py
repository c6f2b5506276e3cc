"""Dates in a message: cut out by the patterns of its language, then read by dateparser."""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import cache

from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.corrections import is_unwanted
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.said import Piece, PieceKind, Said

MOST_DATES = 8
_MONTH_FIRST = frozenset(("US",))
_YEAR = "(?:[0-9]{4}|[0-9]{2})"
_WRITTEN = (
    r"(?<![\w.])(?P<written>[0-9]{4}-[0-9]{2}-[0-9]{2}"
    rf"|[0-9]{{1,2}}\.[0-9]{{1,2}}\.{_YEAR}?|[0-9]{{1,2}}/[0-9]{{1,2}}(?:/{_YEAR})?)(?![\w/])"
)


def dates_in(said: Said, language: Language, now: datetime, region: str | None) -> Sequence[Piece]:
    """In their order. A weekday that follows another date is meant after it: leaving on Monday, back on Friday."""
    pieces: list[Piece] = []
    for found in _dates(language).finditer(said.text):
        if len(pieces) == MOST_DATES:
            break
        if found["day"] is not None:
            meant: date | None = _weekday(found, language, now.date(), _latest(pieces, said, language))
        elif found["written"] is not None:
            meant = _written(found["written"], now.date(), region)
        else:
            meant = _read(found[0], language, now, region)
        if meant is not None:
            pieces.append(Piece(start=found.start(), end=found.end(), kind=PieceKind.DATE, value=meant))
    return pieces


def _latest(pieces: Sequence[Piece], said: Said, language: Language) -> date | None:
    return max((piece.value for piece in pieces if not is_unwanted(said, piece.start, language)), default=None)


def _weekday(found: re.Match[str], language: Language, today: date, after: date | None) -> date:
    said = found["day"].lower()
    day = next(number for number, names in enumerate(language.dates.weekdays) if said in names)
    if (found["which"] or "").strip().lower() in language.dates.next:
        return today + timedelta(days=7 - today.weekday() + day)
    base = max(today, after) if after else today
    return base + timedelta(days=(day - base.weekday() - 1) % 7 + 1)


def _written(text: str, today: date, region: str | None) -> date | None:
    """In digits, with the day before the month unless the region has it otherwise; without a year, the next one."""
    numbers = [int(part) for part in re.split(r"[-./]", text) if part]
    try:
        if "-" in text:
            return date(*numbers)
        day, month = reversed(numbers[:2]) if region in _MONTH_FIRST and "/" in text else numbers[:2]
        if len(numbers) == 3:
            return date(numbers[2] + (2000 if numbers[2] < 100 else 0), month, day)
        this_year = date(today.year, month, day)
        return this_year if this_year >= today else date(today.year + 1, month, day)
    except ValueError:
        return None


def _read(text: str, language: Language, now: datetime, region: str | None) -> date | None:
    from dateparser.date import DateDataParser

    words = language.dates.words.get(text.lower(), text)
    parser = DateDataParser(
        languages=[language.code],
        settings={
            "PREFER_DATES_FROM": "future",
            "RELATIVE_BASE": now.replace(tzinfo=None),
            "REQUIRE_PARTS": ["day"],
        },
    )
    try:
        meant = parser.get_date_data(words).date_obj
    except (ValueError, OverflowError):
        return None
    return None if meant is None else meant.date()


@cache
def _dates(language: Language) -> re.Pattern[str]:
    rules = language.dates
    months = any_of(rules.months)
    names = any_of(name for day in rules.weekdays for name in day)
    weekday = rf"(?:(?P<which>{any_of((*rules.next, *rules.this))}) )?(?P<day>{names})"
    patterns = [rf"(?<![\w.,:-])(?:{each.replace('{month}', months)})(?!\w)" for each in rules.patterns]
    return pattern_of(_WRITTEN, *patterns, any_of(rules.words), weekday)
