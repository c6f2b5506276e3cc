"""What every store can keep: JSON without NUL, half characters, and numbers that are none."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.channels.shapes import below
from turnkeeper.errors import ChannelPayloadInvalid

MOST_DEPTH = 64
_NOT_PLAIN = re.compile("[\x00\ud800-\udfff]")


def plain_text(text: str) -> str:
    """With a replacement character for each that no store can keep."""
    return _NOT_PLAIN.sub("\ufffd", text)


def plain(value: Any, pointer: str) -> Any:
    """A copy that every store can keep. Raises ChannelPayloadInvalid for what is no JSON, or is nested too deep."""
    try:
        return _plain(value, 0)
    except _Unfit as unfit:
        for part in reversed(unfit.path):
            pointer = below(pointer, part)
        raise ChannelPayloadInvalid.at(pointer, unfit.reason) from None


class _Unfit(Exception):
    """`path` grows on the way out, so that the many that are fit pay nothing for it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str | int] = []


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return plain_text(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _Unfit("is not a number that JSON has")
        return value
    if not isinstance(value, Mapping | list | tuple):
        raise _Unfit("is not JSON")
    if depth >= MOST_DEPTH:
        raise _Unfit(f"is nested more than {MOST_DEPTH} levels deep")
    return _plain_object(value, depth + 1) if isinstance(value, Mapping) else _plain_list(value, depth + 1)


def _plain_object(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    name = ""
    read = {}
    try:
        for key, each in value.items():
            name = plain_text(str(key))
            read[name] = _plain(each, depth)
    except _Unfit as unfit:
        unfit.path.append(name)
        raise
    return read


def _plain_list(value: Sequence[Any], depth: int) -> list[Any]:
    read: list[Any] = []
    try:
        for each in value:
            read.append(_plain(each, depth))
    except _Unfit as unfit:
        unfit.path.append(len(read))
        raise
    return read
