"""Which field a date, a time, a number or an address in a message belongs to."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from operator import itemgetter
from typing import Any

from turnkeeper.intent.form import Field, Kind
from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.claims import Claims
from turnkeeper.intent.reading.mentions import Mention
from turnkeeper.intent.reading.message import Message
from turnkeeper.intent.reading.number_lists import lists_numbers
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.said import Piece, PieceKind
from turnkeeper.intent.reading.times import Clock
from turnkeeper.intent.schemas import EARLIEST

_TAKES = {
    Kind.DATE: PieceKind.DATE,
    Kind.TIME: PieceKind.TIME,
    Kind.CLOCK_TIME: PieceKind.TIME,
    Kind.PHONE: PieceKind.PHONE,
    Kind.EMAIL: PieceKind.EMAIL,
    Kind.URI: PieceKind.URI,
    Kind.INTEGER: PieceKind.NUMBER,
    Kind.NUMBER: PieceKind.NUMBER,
}
# How sure it is that a piece belongs to a field. Named right behind it, named before it, asked for, the only one.
_BEHIND, _BEFORE, _REPLACES, _ASKED, _ONLY, _NEXT = 100.0, 90.0, 80.0, 50.0, 30.0, 20.0
_LONGEST_GAP = 24
_ONE_WORD = re.compile(r" ?(?:[^\W\d]+ )?")
_FEW_WORDS = re.compile(r"(?: ?[=:] ?| (?:[\w'$€£]+ ){0,3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    score: float
    piece: Piece
    field: Field
    mention: Mention | None = None


def assigned(message: Message, claims: Claims) -> dict[str, Any]:
    """The surest first; a piece belongs to one field, and a field takes one piece."""
    found = dict(_moments(message, claims))
    found |= dict(_none_of(message, claims))
    matches = [match for piece in _free(message, claims) for match in _matches(piece, message)]
    for match in sorted(matches, key=lambda each: (-each.score, each.piece.start)):
        piece = match.piece
        if match.field.name in found or claims.holds(piece.start, piece.end):
            continue
        found[match.field.name] = _value(piece, match.field, message)
        claims.take(piece.start, piece.end, match.field.name)
        if match.mention is not None:
            claims.take(match.mention.start, match.mention.end, match.field.name)
    return found


def _free(message: Message, claims: Claims) -> list[Piece]:
    """Without what is not meant, what is claimed already, and the second of two that are offered."""
    return [
        piece
        for number, piece in enumerate(message.pieces)
        if not claims.holds(piece.start, piece.end)
        and piece not in message.unwanted
        and not (number and _is_alternative(message, message.pieces[number - 1], piece))
    ]


def _is_alternative(message: Message, one: Piece, other: Piece) -> bool:
    between = message.said.text[one.end : other.start].strip().lower()
    return one.kind is other.kind and between in message.language.names.alternatives


def _matches(piece: Piece, message: Message) -> Iterator[_Match]:
    able = [field for field in message.form.fields if takes(field, piece)]
    for place, field in enumerate(able):
        names = [_named(piece, each, message) for each in (*message.mentions_of(field), *message.hints_of(field))]
        score, mention = max(names, key=itemgetter(0), default=(0.0, None))
        score = max(score, _unnamed(piece, field, able, message))
        if score:
            further_in = field.name.count(".") / 100
            yield _Match(score=score - further_in - place / 1000, piece=piece, field=field, mention=mention)


def takes(field: Field, piece: Piece) -> bool:
    if field.kind is Kind.INTEGER and not isinstance(piece.value, int):
        return False
    return _TAKES.get(field.kind) is piece.kind


def _named(piece: Piece, mention: Mention, message: Message) -> tuple[float, Mention | None]:
    text = message.said.text
    if piece.overlaps(mention.start, mention.end):
        return _BEHIND, mention
    behind = text[piece.end : mention.start]
    before = text[mention.end : piece.start]
    if piece.end <= mention.start and len(behind) <= _LONGEST_GAP and _ONE_WORD.fullmatch(behind):
        return _BEHIND - len(behind), mention
    if mention.end <= piece.start and len(before) <= _LONGEST_GAP and _FEW_WORDS.fullmatch(before):
        return _BEFORE - len(before), mention
    return 0.0, None


def _unnamed(piece: Piece, field: Field, able: list[Field], message: Message) -> float:
    if _replaces(piece, field, message):
        return _REPLACES
    if message.asked is not None and message.asked.name == field.name:
        return _ASKED
    if piece.kind is PieceKind.NUMBER:
        wants_list = message.asked is not None and lists_numbers(message.asked)
        return _ONLY if len(able) == 1 and message.corrects and not wants_list else 0.0
    if len(able) == 1:
        return _ONLY
    return _NEXT if message.holds(field) is None else 0.0


def _replaces(piece: Piece, field: Field, message: Message) -> bool:
    """Whether the message takes back just what the field holds: not 4 but 5."""
    return any(
        other.kind is piece.kind and _value(other, field, message) == message.holds(field) for other in message.unwanted
    )


def _value(piece: Piece, field: Field, message: Message) -> Any:
    if isinstance(piece.value, date):
        return piece.value.isoformat()
    if isinstance(piece.value, Clock):
        at = piece.value.at(field.schema.get(EARLIEST))
        if field.kind is Kind.CLOCK_TIME:
            return at.strftime("%H:%M")
        return datetime.combine(message.now.date(), at, message.now.tzinfo).isoformat().partition("T")[2]
    return piece.value


def _moments(message: Message, claims: Claims) -> Iterator[tuple[str, Any]]:
    """A date and a time together answer the field that takes both."""
    for field in message.form.fields:
        if field.kind is not Kind.DATE_TIME:
            continue
        pieces = _free(message, claims)
        at = next((piece for piece in pieces if piece.kind is PieceKind.TIME), None)
        on = next((piece for piece in pieces if piece.kind is PieceKind.DATE), None)
        wanted = field == message.asked or message.mentions_of(field) or on is not None
        if at is None or not wanted:
            continue
        for piece in filter(None, (at, on)):
            claims.take(piece.start, piece.end, field.name)
        clock = at.value.at(field.schema.get(EARLIEST))
        yield field.name, _moment(on.value if on else None, clock, message.now)


def _moment(on: date | None, at: Any, now: datetime) -> str:
    """The next such time, where no day was said."""
    moment = datetime.combine(on or now.date(), at, now.tzinfo)
    if on is None and moment <= now:
        moment = datetime.combine(now.date() + timedelta(days=1), at, now.tzinfo)
    return moment.isoformat()


def _none_of(message: Message, claims: Claims) -> Iterator[tuple[str, Any]]:
    """No children are 0 children."""
    for mention in message.mentions:
        if mention.field.kind in (Kind.INTEGER, Kind.NUMBER):
            found = _none(message.language).search(message.said.text[: mention.start])
            if found is not None and not claims.holds(found.start(), mention.end):
                claims.take(found.start(), mention.end, mention.field.name)
                yield mention.field.name, 0


@cache
def _none(language: Language) -> re.Pattern[str]:
    return pattern_of(rf"{any_of(language.answers.none_of)} $")
