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
    """An effect by its key, which is unique in its run. `result` is what it gave, once it is done.

    `result_lost`: it is done, and what it gave could not be kept.
    """

    key: str
    status: EffectStatus
    attempts: int
    started_at: datetime
    ended_at: datetime | None = None
    result: Any = None
    result_lost: bool = False

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("an Effect has been tried at least once")
        if self.result_lost and (self.status is not EffectStatus.DONE or self.result is not None):
            raise ValueError("only an Effect that is done can have lost its result")
