"""Dates in a message: cut out by the patterns of its language, then read by dateparser."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import cache
from itertools import islice

from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.corrections import is_unwanted
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.said import Piece, PieceKind, Said

MOST_DATES = 8
MOST_WORDS = 60
_WORD = re.compile(r"(?<![\w@.])[^\W\d_]{5,12}(?![\w@])")
_SHORT, _LONG = 6, 8
_MONTH_FIRST = frozenset(("US",))
_YEAR = "(?:[0-9]{4}|[0-9]{2})"
_WRITTEN = (
    r"(?<![\w.])(?P<written>[0-9]{4}-[0-9]{2}-[0-9]{2}"
    rf"|[0-9]{{1,2}}\.[0-9]{{1,2}}\.{_YEAR}?|[0-9]{{1,2}}/[0-9]{{1,2}}(?:/{_YEAR})?)(?![\w/])"
)


def dates_in(
    said: Said, language: Language, now: datetime, region: str | None, *, asked: bool = False
) -> Sequence[Piece]:
    """In their order. A weekday that follows another date is meant after it: leaving on Monday, back on Friday."""
    pieces: list[Piece] = []
    for found in _dates(language).finditer(said.text):
        if len(pieces) == MOST_DATES:
            break
        meant = _meant(found, language, now, region, _latest(pieces, said, language))
        if meant is not None:
            pieces.append(Piece(start=found.start(), end=found.end(), kind=PieceKind.DATE, value=meant))
    return pieces or list(_with_typo(said, language, now, region, asked=asked))


def _meant(
    found: re.Match[str], language: Language, now: datetime, region: str | None, after: date | None
) -> date | None:
    if found["day"] is not None:
        return _weekday(found, language, now.date(), after)
    if found["written"] is not None:
        return _written(found["written"], now.date(), region)
    return _read(found[0], language, now, region)


def _with_typo(said: Said, language: Language, now: datetime, region: str | None, *, asked: bool) -> Iterator[Piece]:
    """The first word that is nearly one of a date. A short one only where a date was asked for: a sundae is no day."""
    for word in islice(_WORD.finditer(said.text), MOST_WORDS):
        right = _nearest(word[0].lower(), language, shortest=_SHORT if asked else _LONG)
        if right is None:
            continue
        text = said.text[: word.start()] + right + said.text[word.end() :]
        for found in _dates(language).finditer(text):
            meant = _meant(found, language, now, region, None)
            if found.start() <= word.start() < found.end() and meant is not None:
                end = found.end() - len(right) + len(word[0])
                yield Piece(start=found.start(), end=end, kind=PieceKind.DATE, value=meant)
                return


def _nearest(said: str, language: Language, *, shortest: int) -> str | None:
    from rapidfuzz.distance import OSA

    rules = language.dates
    words = (*rules.with_typo, *(name for day in rules.weekdays for name in day))
    near = {
        word
        for word in words
        if len(word) >= shortest
        and word[0] == said[0]
        and 0 < OSA.distance(said, word) <= (2 if word in rules.with_typo else 1)
        and said not in (f"{word}s", *words)
    }
    return near.pop() if len(near) == 1 else None


def _latest(pieces: Sequence[Piece], said: Said, language: Language) -> date | None:
    return max((piece.value for piece in pieces if not is_unwanted(said, piece.start, language)), default=None)


def _weekday(found: re.Match[str], language: Language, today: date, after: date | None) -> date:
    said = found["day"].lower()
    day = next(number for number, names in enumerate(language.dates.weekdays) if said in names)
    if (found["which"] or "").strip().lower() in language.dates.next:
        return today + timedelta(days=7 - today.weekday() + day)
    later = (found["which"] or "").strip().lower() in language.dates.week_after
    base = max(today, after) if after else today
    return base + timedelta(days=(day - base.weekday() - 1) % 7 + 1 + (7 if later else 0))


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
    weekday = rf"(?:(?P<which>{any_of((*rules.next, *rules.this, *rules.week_after))}) )?(?P<day>{names})"
    patterns = [rf"(?<![\w.,:-])(?:{each.replace('{month}', months)})(?!\w)" for each in rules.patterns]
    return pattern_of(_WRITTEN, *patterns, any_of(rules.words), weekday)
