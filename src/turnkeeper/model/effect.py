"""What a run did to the world: a mail sent, a table booked, a card charged."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class EffectStatus(StrEnum):
    """`unknown`: it was begun, and nobody can tell whether it happened. It is not tried again by itself."""

    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """An effect by its key, which is unique in its run. `result` is what it gave, once it is done."""

    key: str
    status: EffectStatus
    attempts: int
    started_at: datetime
    ended_at: datetime | None = None
    result: Any = None

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("an Effect has been tried at least once")
