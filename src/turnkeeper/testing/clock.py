"""A clock that stands still until it is told to move."""

from datetime import UTC, datetime, timedelta
from itertools import count

from turnkeeper.model.ids import sortable_id

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class SteppedClock:
    """Its ids are numbered in the order in which they were asked for."""

    def __init__(self, now: datetime = NOON) -> None:
        self._now = now
        self._numbers = count(1)

    def now(self) -> datetime:
        return self._now

    def step(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)

    def new_id(self, prefix: str) -> str:
        return sortable_id(prefix, int(self._now.timestamp() * 1000), next(self._numbers))
