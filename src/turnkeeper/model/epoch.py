"""The part of a session since its last reset."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Messages before `first_seq` belong to earlier epochs and are out of reach of every later turn."""

    number: int
    started_at: datetime
    first_seq: int

    def __post_init__(self) -> None:
        if self.number < 1 or self.first_seq < 1:
            raise ValueError("an Epoch and its first message count from 1")

    def next(self, *, at: datetime, last_seq: int) -> "Epoch":
        """The epoch that a reset opens, when `last_seq` is the newest message so far."""
        return Epoch(number=self.number + 1, started_at=at, first_seq=last_seq + 1)
