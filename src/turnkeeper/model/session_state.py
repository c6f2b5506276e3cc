"""What the Compiler is told of a session: where it stands, and all Events in reach with the new ones at the end."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.event import Attachment, Event, EventType, EventWarning, Severity
from turnkeeper.model.ids import RunId, SessionId, TenantId
from turnkeeper.model.message import Message, Speaker
from turnkeeper.model.mode import Mode
from turnkeeper.model.pack import Classification, PackPin


class Origin(StrEnum):
    LIVE = "live"
    HISTORY = "history"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedEvent:
    """An Event at its place in the session: whose it is, in which turn, and when."""

    id: str
    event: Event
    role: Speaker
    turn: int
    at: datetime
    origin: Origin

    def document(self) -> dict[str, Any]:
        """The published shape of an Event."""
        event = self.event
        said = event.text if event.type is EventType.TEXT_MESSAGE else event.payload
        return {
            "event_id": self.id,
            "type": event.type.value,
            "role": self.role.value,
            "turn": self.turn,
            "ts": self.at.isoformat(),
            _SAID_AS[event.type]: said,
            "confidence": event.confidence,
            "locale": event.locale,
            "attachments": [asdict(each) for each in event.attachments],
            "metadata": {"channel": {"name": "app_chat"}, **event.metadata},
            "warnings": [{**asdict(each), "severity": each.severity.value} for each in event.warnings],
            "origin": self.origin.value,
            "truncated": False,
        }


_SAID_AS = {
    EventType.TEXT_MESSAGE: "text",
    EventType.STRUCTURED_REQUEST: "payload",
    EventType.EVENT_ENVELOPE: "envelope",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """`history` is what is in reach of this turn, oldest first, and `live` what it is about."""

    session_id: SessionId
    tenant: TenantId
    run_id: RunId
    turn: int
    mode: Mode
    channel: str
    locale: str | None
    packs: tuple[PackPin, ...]
    classification: Classification | None
    history: tuple[Message, ...]
    live: tuple[Event, ...]
    received_at: datetime
    deadline: datetime
    warnings: tuple[str, ...] = ()

    @property
    def events(self) -> tuple[PlacedEvent, ...]:
        """Each Event once: those of earlier turns in their order, then those of this one."""
        name = self.run_id.removeprefix("run_")
        live = (
            PlacedEvent(
                id=f"evt_{name}{place:02d}",
                event=event,
                role=Speaker.USER,
                turn=self.turn,
                at=self.received_at,
                origin=Origin.LIVE,
            )
            for place, event in enumerate(self.live)
        )
        return (*(_remembered(message) for message in self.history if message.content), *live)


def _remembered(message: Message) -> PlacedEvent:
    return PlacedEvent(
        id=f"evt_{message.id.removeprefix('msg_')}",
        event=event_of(message),
        role=message.role,
        turn=message.turn,
        at=message.created_at,
        origin=Origin.HISTORY,
    )


def event_of(message: Message) -> Event:
    """The Event that a message was made from."""
    beyond: Mapping[str, Any] = message.event or {}
    attachments = tuple(Attachment(**each) for each in beyond.get("attachments", ()))
    wordless = bool(attachments) and message.content == Event(attachments=attachments).as_text
    has_text = "payload" not in beyond and not wordless
    return Event(
        type=EventType(beyond.get("type", EventType.TEXT_MESSAGE)),
        text=message.content if has_text else "",
        payload=beyond.get("payload"),
        confidence=beyond.get("confidence"),
        locale=beyond.get("locale"),
        attachments=attachments,
        metadata=beyond.get("metadata", {}),
        warnings=tuple(
            EventWarning(code=each["code"], severity=Severity(each["severity"]), detail=each["detail"])
            for each in beyond.get("warnings", ())
        ),
    )
