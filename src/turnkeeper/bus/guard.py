"""The one thing that is judged about a frame before it is relayed: whether it would break those who hear it.

The relay knows nothing of this. It asks the guard, where there is one, what to send in place of a frame.
"""

import json
import logging
import re
from itertools import accumulate
from typing import Any

import msgspec

from turnkeeper.bus import topics
from turnkeeper.bus.carrier import wire_type
from turnkeeper.bus.message import MOST_DEPTH, Message

log = logging.getLogger(__name__)

MALFORMED_CARRIER = "malformed_carrier"


class _Object(msgspec.Struct):
    pass


class _Context(msgspec.Struct):
    session: _Object | None = None


class _Frame(msgspec.Struct):
    """Just enough to see that whatever must be an object is one, or is not there."""

    data: _Object | None = None
    context: _Context | None = None


_SOUND = msgspec.json.Decoder(_Frame)


def guarded(frame: bytes) -> bytes | None:
    """What to relay for it: the frame itself, the notice that it was rejected, or None for nothing at all."""
    if is_plainly_sound(frame):
        return frame
    return judged(frame)


def is_plainly_sound(frame: bytes) -> bool:
    """Whether the frame is good beyond doubt. Most are, and this costs a fraction of reading them."""
    try:
        _SOUND.decode(frame)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return frame.count(b"{") + frame.count(b"[") <= MOST_DEPTH or _depth(frame) <= MOST_DEPTH


def judged(frame: bytes) -> bytes | None:
    """The same by reading all of it, as those who listen will."""
    try:
        whole = json.loads(frame)
    except (ValueError, RecursionError):
        log.warning("frame left out", extra={"reason": "no JSON", "bytes": len(frame)})
        return None
    if not isinstance(whole, dict):
        log.warning("frame left out", extra={"reason": "no object", "bytes": len(frame)})
        return None
    if not _is_shallow(whole):
        log.warning("frame left out", extra={"reason": "nested too deep", "bytes": len(frame)})
        return None
    data, context = whole.get("data"), whole.get("context")
    if not isinstance(data, dict | None) or not isinstance(context, dict | None):
        log.warning("frame left out", extra={"reason": "data or context is no object", "bytes": len(frame)})
        return None
    session = (context or {}).get("session")
    if isinstance(session, dict | None):
        return frame
    log.warning("session rejected", extra={"wire_type": wire_type(session)})
    return rejection(whole).encoded().encode(errors="replace")


def rejection(whole: dict[str, Any]) -> Message:
    """What everybody is told of a message that was dropped for its session. It has none itself."""
    kind, utterance_id = whole.get("type"), whole["context"].get("utterance_id")
    return Message(
        type=topics.REJECTED,
        data={"msg_type": kind if isinstance(kind, str) else "", "reason": MALFORMED_CARRIER},
        context={"utterance_id": utterance_id} if isinstance(utterance_id, str) and utterance_id else {},
    )


def _is_shallow(value: Any, depth: int = MOST_DEPTH) -> bool:
    if isinstance(value, dict):
        return depth > 0 and all(_is_shallow(each, depth - 1) for each in value.values())
    if isinstance(value, list):
        return depth > 0 and all(_is_shallow(each, depth - 1) for each in value)
    return True


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_STEP = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_NO_BRACKETS = bytes(set(range(256)) - _STEP.keys())


def _depth(frame: bytes) -> int:
    """How deep a frame that is JSON is nested, without building it."""
    brackets = _STRING.sub(b"", frame).translate(None, _NO_BRACKETS)
    return max(accumulate(_STEP[bracket] for bracket in brackets))
