"""Reading JSON that cannot be read in two ways.

What other readers forgive is refused: bytes that are not UTF-8, NaN and Infinity, numbers that no store can keep, a key
that stands twice in one object, and nesting that is deep enough to exhaust a stack.
"""

import json
import math
import re
from typing import Any

from turnkeeper.errors import MalformedJson

_LARGEST_INTEGER = 2**63 - 1
_STRINGS_AND_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def read_json(body: bytes, *, most_depth: int) -> Any:
    """Raises MalformedJson, which says what is wrong and never what was sent."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedJson(f"The body is not UTF-8 at byte {error.start}.") from None
    if not text.strip():
        raise MalformedJson("The body is empty. Send a JSON object.")
    if is_deeper_than(text, most_depth):
        raise MalformedJson(f"The body is nested more than {most_depth} levels deep.", limit_depth=most_depth)
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise MalformedJson(f"The body is not JSON at line {error.lineno}, column {error.colno}.") from None


def is_deeper_than(text: str, most_depth: int) -> bool:
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
        raise MalformedJson("An object in the body has the same key twice.")
    return read


def _integer(digits: str) -> int:
    # Longer ones are never turned into a number: that would take time in the square of their length.
    if len(digits) > 20 or not -_LARGEST_INTEGER - 1 <= (number := int(digits)) <= _LARGEST_INTEGER:
        raise MalformedJson("A whole number in the body does not fit into 64 bits. Send it as a string.")
    return number


def _real(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise MalformedJson("A number in the body is too large. Send it as a string.")
    return number


def _constant(name: str) -> float:
    raise MalformedJson(f"{name} is not a JSON number.")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant, strict=True
)
