"""E-mail addresses, web addresses and telephone numbers in a message."""

import re
from collections.abc import Iterator

from turnkeeper.intent.reading.said import Piece, PieceKind, Said

MOST_PHONES = 10
_FEWEST_DIGITS = 6
_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_URI = re.compile(r"(?<!\w)(?:https?://|www\.)[^\s<>\"']{2,}", re.IGNORECASE)
_BARE_URI = re.compile(r"(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?:[/?#]\S*)?", re.IGNORECASE)
# A telephone number shows itself by a plus, a zero or a bracket in front, or by being asked for.
_PHONE = re.compile(r"(?<![\w.+/-])(?:\+|00?|\()[0-9 ()/.\-]{5,24}[0-9](?!\w)")
_ANY_DIGITS = re.compile(r"(?<![\w.+/-])[+(]?[0-9][0-9 ()/.\-]{4,24}[0-9](?!\w)")


def emails_in(said: Said) -> Iterator[Piece]:
    for found in _EMAIL.finditer(said.text):
        yield Piece(start=found.start(), end=found.end(), kind=PieceKind.EMAIL, value=found[0])


def uris_in(said: Said, *, asked: bool) -> Iterator[Piece]:
    for found in _URI.finditer(said.text):
        address = found[0].rstrip(".,;:!?)")
        yield Piece(
            start=found.start(), end=found.start() + len(address), kind=PieceKind.URI, value=_with_scheme(address)
        )
    bare = said.text.strip()
    if asked and _BARE_URI.fullmatch(bare) and not bare.lower().startswith("www."):
        yield Piece(start=0, end=len(said.text), kind=PieceKind.URI, value=_with_scheme(bare))


def phones_in(said: Said, region: str | None, *, asked: bool) -> Iterator[Piece]:
    for number, found in enumerate((_ANY_DIGITS if asked else _PHONE).finditer(said.text)):
        if number == MOST_PHONES:
            return
        if phone := phone_of(found[0], region):
            yield Piece(start=found.start(), end=found.end(), kind=PieceKind.PHONE, value=phone)


def phone_of(text: str, region: str | None) -> str | None:
    """As of E.164. Without a country code it is read as one of the region."""
    import phonenumbers

    if sum(letter.isdigit() for letter in text) < _FEWEST_DIGITS:
        return None
    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    possible = phonenumbers.is_possible_number(number)
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164) if possible else None


def _with_scheme(address: str) -> str:
    return address if "://" in address else f"https://{address}"
