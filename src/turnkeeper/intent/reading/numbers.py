"""Numbers in a message, in digits by now, with thousands, decimals and money."""

import re
from collections.abc import Iterator
from functools import cache

from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.phrases import any_of, pattern_of
from turnkeeper.intent.reading.said import Piece, PieceKind, Said, said_in

_NUMBER = (
    r"(?<![\w.,/:-])(?P<sign>-)?(?P<digits>"
    r"[0-9]{1,3}(?:,[0-9]{3}){1,4}(?:\.[0-9]{1,6})?(?![0-9,])"
    r"|[0-9]{1,3}(?:\.[0-9]{3}){1,4},[0-9]{1,6}(?![0-9])"
    r"|[0-9]{1,15},[0-9]{1,2}(?![0-9])"
    r"|[0-9]{1,15}(?:\.[0-9]{1,6})?(?![0-9])"
    r")(?P<many>{many})?(?![\w/:]|[.,][0-9])"
)


def numbers_in(said: Said, language: Language) -> Iterator[Piece]:
    for found in _numbers(language).finditer(said.text):
        yield Piece(start=found.start(), end=found.end(), kind=PieceKind.NUMBER, value=_value(found, language))


def number_of(text: str, language: Language) -> int | float | None:
    """The number that the whole text is."""
    said = said_in(text, language)
    found = _numbers(language).fullmatch(said.text.strip())
    return None if found is None else _value(found, language)


@cache
def _numbers(language: Language) -> re.Pattern[str]:
    numbers = language.numbers
    money = any_of(numbers.currencies)
    return pattern_of(f"(?:{money} ?)?{_NUMBER.replace('{many}', _any_letter(numbers.multipliers))}(?: ?{money})?")


def _any_letter(letters: dict[str, int]) -> str:
    return "|".join(map(re.escape, letters)) or "(?!)"


def _value(found: re.Match[str], language: Language) -> int | float:
    digits = found["digits"]
    if "," in digits and "." in digits:
        decimal = max(",.", key=digits.rindex)
        digits = digits.replace("," if decimal == "." else ".", "").replace(decimal, ".")
    elif "," in digits:
        thousands = len(digits) - digits.rindex(",") == 4
        digits = digits.replace(",", "" if thousands else ".")
    number = float(digits) * language.numbers.multipliers.get((found["many"] or "").lower(), 1)
    number = -number if found["sign"] else number
    return int(number) if number.is_integer() else number
