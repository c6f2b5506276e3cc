"""What every store can keep: JSON without NUL, half characters, and numbers that are none."""

import math
import re
from collections.abc import Mapping
from typing import Any

from turnkeeper.channels.shapes import below
from turnkeeper.errors import ChannelPayloadInvalid

MOST_DEPTH = 64
_NOT_PLAIN = re.compile("[\x00\ud800-\udfff]")


def plain_text(text: str) -> str:
    """With a replacement character for each that no store can keep."""
    return _NOT_PLAIN.sub("\ufffd", text)


def plain(value: Any, pointer: str, *, depth: int = 0) -> Any:
    """A copy that every store can keep. Raises ChannelPayloadInvalid for what is no JSON, or is nested too deep."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return plain_text(value)
        case float() if math.isfinite(value):
            return value
        case float():
            raise ChannelPayloadInvalid.at(pointer, "is not a number that JSON has")
        case Mapping() | list() | tuple() if depth >= MOST_DEPTH:
            raise ChannelPayloadInvalid.at(pointer, f"is nested more than {MOST_DEPTH} levels deep")
        case Mapping():
            return {
                plain_text(str(name)): plain(each, below(pointer, str(name)), depth=depth + 1)
                for name, each in value.items()
            }
        case list() | tuple():
            return [plain(each, below(pointer, number), depth=depth + 1) for number, each in enumerate(value)]
    raise ChannelPayloadInvalid.at(pointer, "is not JSON")
