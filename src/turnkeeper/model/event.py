"""One normalized piece of input, the same shape on every channel."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

MOST_ATTACHMENTS = 100
"""What goes with one message."""


class EventType(StrEnum):
    TEXT_MESSAGE = "text_message"
    STRUCTURED_REQUEST = "structured_request"
    EVENT_ENVELOPE = "event_envelope"


class Severity(StrEnum):
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventWarning:
    """What was odd about the input, for an agent or a critic to act on; never a reason to refuse it."""

    code: str
    severity: Severity = Severity.WARN
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Content that came along, by its hash; `uri` says where it lies."""

    artifact_id: str
    media_type: str
    sha256: str
    uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What its channel knows beyond the words is in `metadata["channel"]`; `confidence` is that of a transcript."""

    type: EventType = EventType.TEXT_MESSAGE
    text: str = ""
    payload: Mapping[str, Any] | None = None
    confidence: float | None = None
    locale: str | None = None
    attachments: tuple[Attachment, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[EventWarning, ...] = ()

    @property
    def as_text(self) -> str:
        """What stands in the message log for this Event."""
        if self.payload is not None:
            return json.dumps(self.payload, ensure_ascii=False)
        if self.text or not self.attachments:
            return self.text
        return "\n".join(f"[{each.media_type} {each.artifact_id}]" for each in self.attachments)

    @property
    def given(self) -> dict[str, Any]:
        """The fields that say something; most Events are nothing but a text."""
        return {name: value for name, plain in _PLAIN.items() if (value := getattr(self, name)) != plain}

    @property
    def beyond_text(self) -> dict[str, Any]:
        """What a message remembers of it beside its text, as plain values."""
        given = {name: value for name, value in self.given.items() if name != "text"}
        if self.attachments:
            given["attachments"] = [asdict(each) for each in self.attachments]
        if self.warnings:
            given["warnings"] = [{**asdict(each), "severity": each.severity.value} for each in self.warnings]
        if "type" in given:
            given["type"] = self.type.value
        return given

    @property
    def channel(self) -> Mapping[str, Any]:
        """What its channel told: `name`, and its signals."""
        told: Mapping[str, Any] = self.metadata.get("channel", {})
        return told

    def __post_init__(self) -> None:
        if self.type is EventType.TEXT_MESSAGE:
            if not self.text.strip() and not self.attachments:
                raise ValueError("a text_message Event needs text, or something that is attached")
        elif self.payload is None:
            raise ValueError(f"a {self.type} Event needs a payload")
        if self.confidence is not None and not 0 <= self.confidence <= 1:
            raise ValueError("the confidence of an Event lies between 0 and 1")


_PLAIN = {each.name: getattr(Event(text="-"), each.name) for each in fields(Event)} | {"text": ""}
