"""One normalized piece of input, the same shape on every channel."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class EventType(StrEnum):
    TEXT_MESSAGE = "text_message"
    STRUCTURED_REQUEST = "structured_request"
    EVENT_ENVELOPE = "event_envelope"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    type: EventType = EventType.TEXT_MESSAGE
    text: str = ""
    payload: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def as_text(self) -> str:
        """What stands in the message log for this Event."""
        return self.text if self.payload is None else json.dumps(self.payload, ensure_ascii=False)

    def __post_init__(self) -> None:
        if self.type is EventType.TEXT_MESSAGE:
            if not self.text.strip():
                raise ValueError("a text_message Event needs text")
        elif self.payload is None:
            raise ValueError(f"a {self.type} Event needs a payload")
