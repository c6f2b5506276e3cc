"""One message on the bus, and the three ways to derive another from it."""

import json
import math
import re
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

MOST_DEPTH = 128

_TOPIC = re.compile(r"[A-Za-z0-9_-]+(?:[.:][A-Za-z0-9_-]+)*")
RESPONSE = ".response"

Json = TypeVar("Json")


class Malformed(ValueError):
    """A frame that is no message; whoever meets it drops it and goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """`data` belongs to the topic, `context` travels with whatever is derived: routing, the session, and what others
    put there. Neither is ever shared between two messages."""

    type: str
    data: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.type:
            raise ValueError("a Message needs a type")

    @property
    def is_dispatch(self) -> bool:
        """Whether it asks one handler to do something: `<skill_id>:<intent_name>`."""
        return self.type.count(":") == 1

    @property
    def session(self) -> Any:
        """The carrier as it came: maybe absent, maybe no object at all. See `carrier`."""
        return self.context.get("session")

    @property
    def utterance_id(self) -> str | None:
        """Which round it belongs to."""
        value = self.context.get("utterance_id")
        return value if isinstance(value, str) and value else None

    @property
    def skill_id(self) -> str | None:
        value = self.context.get("skill_id")
        return value if isinstance(value, str) and value else None

    def forward(self, type: str, data: dict[str, Any] | None = None) -> "Message":
        """Goes on in the same direction, with the same context."""
        return Message(type=type, data=data or {}, context=copied(self.context))

    def reply(self, type: str, data: dict[str, Any] | None = None) -> "Message":
        """Goes back to where this one came from. What was broadcast keeps its source, so that it is not lost.

        There is one addressee at most, and what is empty names nobody.
        """
        derived = self.forward(type, data)
        source, destination = _identifier(self.context.get("source")), _first(self.context.get("destination"))
        for key, party in (("source", destination or source), ("destination", source or destination)):
            derived.context.pop(key, None)
            if party is not None:
                derived.context[key] = party
        return derived

    def response(self, data: dict[str, Any] | None = None) -> "Message":
        """Answers a query under its own name. Raises ValueError for what has no response."""
        if self.type.endswith(RESPONSE) or ":" in self.type:
            raise ValueError(f"{self.type!r} has no response")
        return self.reply(self.type + RESPONSE, data)

    def carrying(self, session: dict[str, Any], **context: Any) -> "Message":
        """The same with this session, and with these keys of the context."""
        return replace(self, context={**self.context, **context, "session": copied(session)})

    def encoded(self) -> str:
        """As it goes over the wire. Raises ValueError for what is not JSON."""
        whole = {"type": self.type, "data": self.data, "context": self.context}
        text = json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        try:
            text.encode()
        except UnicodeEncodeError:
            # Half a surrogate pair is JSON as long as it is written with a backslash.
            text = json.dumps(whole, allow_nan=False, separators=(",", ":"))
        return text


def decoded(frame: str | bytes) -> Message:
    """Raises Malformed. Keys beside the three are ignored, and old topics that bend the rules are let pass."""
    try:
        whole = json.loads(frame, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"this is not JSON: {error}") from None
    if not isinstance(whole, dict):
        raise Malformed("a message is an object")
    type = whole.get("type")
    if not isinstance(type, str) or not _TOPIC.fullmatch(type):
        raise Malformed("`type` is no topic")
    data, context = whole.get("data"), whole.get("context")
    data, context = {} if data is None else data, {} if context is None else context
    if not isinstance(data, dict) or not isinstance(context, dict):
        raise Malformed("`data` and `context` are objects")
    if not is_finite(whole):
        raise Malformed("a number is finite, and nothing is nested without end")
    return Message(type=type, data=data, context=context)


def is_finite(value: Any, depth: int = MOST_DEPTH) -> bool:
    """Whether this can be written down again: no number without end, no nesting that nobody can follow."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return depth > 0 and all(is_finite(each, depth - 1) for each in value.values())
    if isinstance(value, list):
        return depth > 0 and all(is_finite(each, depth - 1) for each in value)
    return True


def copied(value: Json) -> Json:
    """A copy of what is JSON, all the way down; many times quicker than one that must reckon with anything."""
    whole: Any = value
    if isinstance(whole, dict):
        whole = {key: copied(each) for key, each in whole.items()}
    elif isinstance(whole, list | tuple):
        whole = [copied(each) for each in whole]
    return cast(Json, whole)


def is_json(value: Any) -> bool:
    """Whether something that was made in this process can go over the wire."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return is_finite(value)


def is_topic(text: str) -> bool:
    """Whether a new topic may be called so: one colon at most, which stands between a skill and its intent."""
    return bool(_TOPIC.fullmatch(text)) and text.count(":") <= 1


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _identifier(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _first(value: Any) -> str | None:
    """The one addressee, or the first of several; empty ones are none."""
    if isinstance(value, list):
        return next((each for each in value if _identifier(each)), None)
    return _identifier(value)
