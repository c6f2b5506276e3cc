"""Reading the JSON that is posted to a channel, and refusing what can be read in two ways."""

import json
import math
import re
from typing import Any

from turnkeeper.channels.plain import MOST_DEPTH, plain
from turnkeeper.errors import ChannelPayloadInvalid

MOST_BYTES = 8 * 1024 * 1024
_LARGEST_INTEGER = 2**63 - 1
_STRINGS_AND_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)


def read_object(body: bytes) -> dict[str, Any]:
    """Raises ChannelPayloadInvalid for what is no JSON object in UTF-8. Its texts are plain."""
    if len(body) > MOST_BYTES:
        raise _refused(f"has more than {MOST_BYTES} bytes")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(f"is not UTF-8 at byte {error.start}") from None
    if _is_too_deep(text):
        raise _refused(f"is nested more than {MOST_DEPTH} levels deep")
    try:
        read = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise _refused(f"is not JSON at line {error.lineno}, column {error.colno}") from None
    if not isinstance(read, dict):
        raise _refused("must be a JSON object")
    plain_read: dict[str, Any] = plain(read, "")
    return plain_read


def _refused(reason: str) -> ChannelPayloadInvalid:
    return ChannelPayloadInvalid(f"The body {reason}.", details=[{"pointer": "", "message": reason}])


def _is_too_deep(text: str) -> bool:
    """Whether brackets are nested too deep, without going down into them."""
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return False
    depth = 0
    for found in _STRINGS_AND_BRACKETS.finditer(text):
        match found[0]:
            case "[" | "{":
                depth += 1
                if depth > MOST_DEPTH:
                    return True
            case "]" | "}":
                depth -= 1
    return False


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise _refused("has the same key twice in one object")
    return read


def _integer(digits: str) -> int:
    # Longer ones are never turned into a number: that would take time in the square of their length.
    if len(digits) > 20 or not -_LARGEST_INTEGER - 1 <= (number := int(digits)) <= _LARGEST_INTEGER:
        raise _refused("has a whole number that does not fit into 64 bits")
    return number


def _real(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _refused("has a number that is too large")
    return number


def _constant(name: str) -> float:
    raise _refused(f"has {name}, which is not a JSON number")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant, strict=True
)
