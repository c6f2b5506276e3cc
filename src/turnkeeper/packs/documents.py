"""A YAML or JSON text as plain values that still know where they stand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.packs.faults import START, PackFaultCode, Place

MOST_DEPTH = 64
LARGEST_NUMBER = 2**53
"""Beyond this whole numbers are no longer the same in every language that reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`values` and `keys` say where the value, and the key, of a JSON pointer stand.

    `letters` has the first letter of every text that stands in one line as it is read, without escapes.
    """

    value: Any
    values: Mapping[str, Place] = field(default_factory=dict)
    keys: Mapping[str, Place] = field(default_factory=dict)
    letters: Mapping[str, Place] = field(default_factory=dict)

    def place(self, pointer: str) -> Place:
        """Where the value stands; for a value that is not there, what it would stand in."""
        while pointer not in self.values and pointer:
            pointer = pointer.rpartition("/")[0]
        return self.values.get(pointer, START)

    def key_place(self, pointer: str) -> Place:
        return self.keys.get(pointer) or self.place(pointer)

    def letter_place(self, pointer: str, at: int) -> Place:
        """Where this letter of a text stands, or else the text."""
        first = self.letters.get(pointer)
        return Place(line=first.line, column=first.column + at) if first else self.place(pointer)


class DocumentFault(Exception):
    """Why a text cannot be read as a document. There is only one: what comes behind it is guesswork."""

    def __init__(self, code: PackFaultCode, message: str, place: Place) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place


def below(pointer: str, key: str | int) -> str:
    """The JSON pointer of a member (RFC 6901)."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def repeated_key(key: str, *, first: Place, again: Place) -> DocumentFault:
    message = f"{key!r} stands here and in line {first.line}. Keep one of the two."
    return DocumentFault(PackFaultCode.REPEATED_KEY, message, again)


def too_deep(place: Place) -> DocumentFault:
    message = f"Lists and mappings stand in each other more than {MOST_DEPTH} deep. Make it flatter."
    return DocumentFault(PackFaultCode.TOO_DEEP, message, place)


def unfit_number(place: Place) -> DocumentFault:
    message = "This number is too large, or none at all. Write a smaller one, or put it in quotes as a text."
    return DocumentFault(PackFaultCode.UNFIT_NUMBER, message, place)


def fit_number(text: str, place: Place) -> int | float:
    """The number that a text is; whole ones may be written as 10, 0x1f or 0o17."""
    # Long before it is converted: what takes minutes to convert is refused in no time.
    if len(text) > 40:
        raise unfit_number(place)
    based = {"0x": 16, "0o": 8}.get(text[:2])
    number: int | float
    if based is not None:
        number = int(text[2:], based)
    elif text.lstrip("+-").isdecimal():
        number = int(text)
    else:
        number = float(text)
    if abs(number) > LARGEST_NUMBER:
        raise unfit_number(place)
    return number
