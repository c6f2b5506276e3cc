"""All pieces of a message that can be values, none of them over another."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from turnkeeper.intent.form import Kind
from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.contacts import emails_in, phones_in, uris_in
from turnkeeper.intent.reading.dates import dates_in
from turnkeeper.intent.reading.numbers import numbers_in
from turnkeeper.intent.reading.said import Piece, Said
from turnkeeper.intent.reading.times import times_in

MOST_FOUND = 60
_DATES = (Kind.DATE, Kind.DATE_TIME)
_TIMES = (Kind.TIME, Kind.CLOCK_TIME)


def pieces_in(
    said: Said, language: Language, *, now: datetime, region: str | None, asked: Kind | None
) -> tuple[Piece, ...]:
    """In their order. What shows itself most clearly comes first: a telephone number is no number, nor is a date."""
    kept: list[Piece] = []
    for piece in islice(_found(said, language, now, region, asked), MOST_FOUND):
        if not any(piece.overlaps(other.start, other.end) for other in kept):
            kept.append(piece)
    return tuple(sorted(kept, key=lambda piece: piece.start))


def _found(said: Said, language: Language, now: datetime, region: str | None, asked: Kind | None) -> Iterator[Piece]:
    yield from emails_in(said)
    yield from uris_in(said, asked=asked is Kind.URI)
    dates: Iterable[Piece] = dates_in(said, language, now, region, asked=asked in _DATES)
    phones = phones_in(said, region, asked=asked is Kind.PHONE)
    yield from (*phones, *dates) if asked is Kind.PHONE else (*dates, *phones)
    yield from times_in(said, language, asked=asked in _TIMES)
    yield from numbers_in(said, language)
