"""What the runs of a tenant spent, span by span."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from turnkeeper.model.ids import AgentId


class Span(StrEnum):
    """Whole hours or days, in UTC."""

    HOUR = "hour"
    DAY = "day"

    @property
    def length(self) -> timedelta:
        return timedelta(hours=1) if self is Span.HOUR else timedelta(days=1)

    @property
    def longest(self) -> timedelta:
        """How much is told at once."""
        return timedelta(days=31 if self is Span.HOUR else 366)

    @property
    def usual(self) -> timedelta:
        """How much is told unless somebody asks for more."""
        return timedelta(days=1 if self is Span.HOUR else 30)

    def begin_of(self, moment: datetime) -> datetime:
        day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return day + (moment - day) // self.length * self.length

    def end_of(self, moment: datetime) -> datetime:
        """The first moment that is not in the span any more; of one that begins then, that moment itself."""
        begin = self.begin_of(moment)
        return begin if begin == moment else begin + self.length


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """`failed` are those that failed, ran out of time or were abandoned."""

    runs: int = 0
    completed: int = 0
    failed: int = 0
    tokens: float = 0.0
    cost_cents: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0

    def plus(self, other: "Spent") -> "Spent":
        return Spent(
            runs=self.runs + other.runs,
            completed=self.completed + other.completed,
            failed=self.failed + other.failed,
            tokens=self.tokens + other.tokens,
            cost_cents=self.cost_cents + other.cost_cents,
            model_calls=self.model_calls + other.model_calls,
            tool_calls=self.tool_calls + other.tool_calls,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentBy:
    """What the runs of one agent spent that were accepted in the span that begins at `at`."""

    at: datetime
    agent: AgentId
    spent: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Spans in which nothing ran are left out. `since` is the begin of the first span, `until` the end of the last."""

    by: Span
    since: datetime
    until: datetime
    items: tuple[SpentBy, ...]
    total: Spent
