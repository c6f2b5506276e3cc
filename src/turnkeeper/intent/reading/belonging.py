"""Values that stand beside the name of a field: they belong to that field, or to none."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from turnkeeper.intent.form import Field, Kind
from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.assigning import takes
from turnkeeper.intent.reading.corrections import doubts
from turnkeeper.intent.reading.free_text import is_text
from turnkeeper.intent.reading.mentions import Mention
from turnkeeper.intent.reading.number_lists import lists_numbers
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.said import Piece, PieceKind, Said
from turnkeeper.intent.reading.times import time_at

_LONGEST_GAP = 24
_TIMES = (Kind.TIME, Kind.CLOCK_TIME, Kind.DATE_TIME)
_MOMENTS = (PieceKind.DATE, PieceKind.TIME)


def belonging(
    pieces: Sequence[Piece], said: Said, mentions: Sequence[Mention], language: Language
) -> tuple[Piece, ...]:
    """The pieces without those that stand beside a field which cannot take them: "change the phone to 12".

    A number beside the name of a time is an hour. A text takes what it is followed by as it stands.
    """
    kept: list[Piece] = []
    for piece in pieces:
        if kept and piece.overlaps(kept[-1].start, kept[-1].end):
            continue
        kept += _kept(piece, said, mentions, language)
    return tuple(kept)


def _kept(piece: Piece, said: Said, mentions: Sequence[Mention], language: Language) -> Iterator[Piece]:
    owners = [each.field for each in mentions if _is_beside(each, piece, said, language)]
    if not owners or any(_can_have(field, piece) for field in owners) or _counts(piece, said, mentions):
        yield piece
    elif piece.kind is PieceKind.NUMBER and any(field.kind in _TIMES for field in owners):
        at = time_at(said, piece.start, language)
        if at is not None:
            yield at


def _is_beside(mention: Mention, piece: Piece, said: Said, language: Language) -> bool:
    """A number right behind the name or a link; anything else only where the field is to be changed to it."""
    if not 0 < piece.start - mention.end <= _LONGEST_GAP or is_text(mention.field):
        return False
    between = said.text[mention.end : piece.start]
    if piece.kind is PieceKind.NUMBER:
        return between == " " or _linked(language).fullmatch(between) is not None
    is_changed = doubts(said, mention.start, mention.end, language)
    return is_changed and _linked(language).fullmatch(between) is not None


def _can_have(field: Field, piece: Piece) -> bool:
    if piece.kind in _MOMENTS and field.kind in (Kind.DATE, *_TIMES):
        return True
    return takes(field, piece) or (piece.kind is PieceKind.NUMBER and lists_numbers(field))


def _counts(piece: Piece, said: Said, mentions: Sequence[Mention]) -> bool:
    """Whether a field that takes it is named right behind it: "the time for 4 people"."""
    return any(said.text[piece.end : each.start] == " " and takes(each.field, piece) for each in mentions)


@cache
def _linked(language: Language) -> re.Pattern[str]:
    return pattern_of(rf" ?{any_of(language.names.text_links)} ?")
