"""Whether a number that no field is named for is the one that the form asks for.

Most numbers in a message are not: a house, a room, an order, how many days. So it must be the only number that is left,
for the only field that can take one, within its limits, and between words that say how many or how much is wanted.
"""

import re
from functools import cache
from typing import Any

from turnkeeper.intent.form import Field, Kind
from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.claims import Claims
from turnkeeper.intent.reading.message import Message
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.said import Piece, PieceKind
from turnkeeper.intent.validators import validator_of

NUMBERS = (Kind.INTEGER, Kind.NUMBER)
_WINDOW = 40
_CLAUSE_ENDS = re.compile(r" ?(?:$|[,;\n]|[.!?](?: |\n|$))")


def counted(message: Message, claims: Claims) -> dict[str, Any]:
    """Nothing for a field that holds a number already: that one is replaced only by words that say so."""
    able = [field for field in message.form.fields if _can_take_a_number(field)]
    left = [
        piece for piece in message.pieces if piece.kind is PieceKind.NUMBER and not claims.holds(piece.start, piece.end)
    ]
    if len(able) != 1 or len(left) != 1:
        return {}
    field, piece = able[0], left[0]
    if field.kind not in NUMBERS or message.holds(field) is not None or piece in message.unwanted:
        return {}
    if not validator_of(field.schema).is_valid(piece.value) or not _is_wanted(piece, field, message):
        return {}
    claims.take(piece.start, piece.end, field.name)
    return {field.name: piece.value}


def _can_take_a_number(field: Field) -> bool:
    if field.kind is Kind.LIST and field.item is not None:
        return _can_take_a_number(field.item)
    return field.kind in NUMBERS or (
        field.kind is Kind.CHOICE and any(isinstance(choice, int | float) for choice in field.choices)
    )


def _is_wanted(piece: Piece, field: Field, message: Message) -> bool:
    text, language = message.said.text, message.language
    before = text[max(0, piece.start - _WINDOW) : piece.start]
    if _money(language).search(text, piece.start, piece.end):
        return field.kind is Kind.NUMBER and _before(language.numbers.money_before).search(before) is not None
    if _before(language.numbers.wanted_before).search(before) is None:
        return False
    ends = _CLAUSE_ENDS.match(text, piece.end) or _behind(language.numbers.wanted_behind).match(text, piece.end)
    return ends is not None or any(text[piece.end : other.start] == " " for other in message.pieces)


@cache
def _before(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return pattern_of(rf"{any_of(phrases)} $")


@cache
def _behind(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return pattern_of(rf" {any_of(phrases)}")


@cache
def _money(language: Language) -> re.Pattern[str]:
    return pattern_of(any_of(language.numbers.currencies))
