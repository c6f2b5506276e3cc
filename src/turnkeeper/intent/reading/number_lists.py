"""Several numbers for a field that holds a list of them."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from turnkeeper.intent.form import Field, Kind
from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.claims import Claims
from turnkeeper.intent.reading.counting import NUMBERS
from turnkeeper.intent.reading.message import Message
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.said import Piece, PieceKind

_BESIDE = re.compile(r" ?[=:]? ?(?:[\w'$€£]+ ){0,3}")
_LONGEST_GAP = 24


def number_lists(message: Message, claims: Claims) -> dict[str, Any]:
    """For a field that is named, or else was asked for: "50 and 25", "the amounts are 50, 25 and 10"."""
    fields = [field for field in message.form.fields if lists_numbers(field)]
    found: dict[str, Any] = {}
    for field in fields:
        named = [row for row in _rows(message, claims) if _is_named(field, row, message)]
        found |= _taken(field, max(named, key=len, default=[]), claims)
    for field in fields:
        if field == message.asked and field.name not in found:
            rows = list(_rows(message, claims))
            longest = max(rows, key=len, default=[])
            # Without a row they are told one by one: "50 for Ann, 25 for Bob".
            found |= _taken(field, longest if len(longest) > 1 else [piece for row in rows for piece in row], claims)
    return found


def lists_numbers(field: Field) -> bool:
    return field.kind is Kind.LIST and field.item is not None and field.item.kind in NUMBERS


def _taken(field: Field, row: list[Piece], claims: Claims) -> dict[str, Any]:
    for piece in row:
        claims.take(piece.start, piece.end, field.name)
    return {field.name: [piece.value for piece in row]} if row else {}


def _rows(message: Message, claims: Claims) -> Iterator[list[Piece]]:
    """Numbers with nothing but a comma or an "and" between them."""
    row: list[Piece] = []
    for piece in message.pieces:
        is_free = piece not in message.unwanted and not claims.holds(piece.start, piece.end)
        if piece.kind is not PieceKind.NUMBER or not is_free:
            continue
        if row and not _joint(message.language).fullmatch(message.said.text, row[-1].end, piece.start):
            yield row
            row = []
        row.append(piece)
    if row:
        yield row


def _is_named(field: Field, row: list[Piece], message: Message) -> bool:
    text, start, end = message.said.text, row[0].start, row[-1].end
    for mention in (*message.mentions_of(field), *message.hints_of(field)):
        between = text[mention.end : start] if mention.end <= start else text[end : mention.start]
        if len(between) <= _LONGEST_GAP and _BESIDE.fullmatch(between):
            return True
    return False


@cache
def _joint(language: Language) -> re.Pattern[str]:
    joints = any_of(language.texts.list_joints)
    return pattern_of(rf" ?{joints} ?(?:{joints} ?)?| ?\n ?")
