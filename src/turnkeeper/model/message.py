"""What was said, in the order of the session."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import MessageId


class Speaker(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One line of the conversation. `seq` counts from 1 and never repeats, also across resets.

    `event` is what its Event held beyond the text: channel, attachments, warnings and the like.
    """

    id: MessageId
    seq: int
    turn: int
    epoch: int
    role: Speaker
    content: str
    created_at: datetime
    event: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.seq < 1 or self.turn < 0 or self.epoch < 1:
            raise ValueError("seq and epoch of a Message count from 1; turn 0 was taken over from another session")
