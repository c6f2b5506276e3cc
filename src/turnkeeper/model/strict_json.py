"""JSON that cannot be read in two ways.

What other readers forgive is refused: bytes that are not UTF-8, NaN and Infinity, numbers that no store can keep, a key
that stands twice in one object, and nesting that is deep enough to exhaust a stack.
"""

import json
import math
import re
from typing import Any

_LARGEST_INTEGER = 2**63 - 1
_STRINGS_AND_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)


class NotStrictJson(ValueError):
    """`reason` goes on after "The body", and never tells what was sent."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the body {reason}")
        self.reason = reason


class NestedTooDeep(NotStrictJson):
    pass


class NumberTooLarge(NotStrictJson):
    """What could have been sent as a string."""


def read_strictly(body: bytes, *, most_depth: int, encoding: str = "utf-8") -> Any:
    """Raises NotStrictJson. With the encoding `utf-8-sig` a mark of the byte order is passed over."""
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotStrictJson(f"is not UTF-8 at byte {error.start}") from None
    if _is_deeper_than(text, most_depth):
        raise NestedTooDeep(f"is nested more than {most_depth} levels deep")
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise NotStrictJson(f"is not JSON at line {error.lineno}, column {error.colno}") from None


def _is_deeper_than(text: str, most_depth: int) -> bool:
    """Whether brackets are nested deeper than this, without going down into them."""
    if text.count("[") + text.count("{") <= most_depth:
        return False
    depth = 0
    for found in _STRINGS_AND_BRACKETS.finditer(text):
        match found[0]:
            case "[" | "{":
                depth += 1
                if depth > most_depth:
                    return True
            case "]" | "}":
                depth -= 1
    return False


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise NotStrictJson("has the same key twice in one object")
    return read


def _integer(digits: str) -> int:
    # Longer ones are never turned into a number: that would take time in the square of their length.
    if len(digits) > 20 or not -_LARGEST_INTEGER - 1 <= (number := int(digits)) <= _LARGEST_INTEGER:
        raise NumberTooLarge("has a whole number that does not fit into 64 bits")
    return number


def _real(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NumberTooLarge("has a number that is too large")
    return number


def _constant(name: str) -> float:
    raise NotStrictJson(f"has {name}, which is not a JSON number")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant, strict=True
)
