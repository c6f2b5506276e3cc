"""How far a caller may go right now, and what is left of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLeft:
    """So many at once and so many a second in the long run; `left` can be asked for now, all of it at `full_at`."""

    name: str
    per_second: float
    burst: int
    left: float
    full_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What there may be at most of something, and how much of it there is."""

    name: str
    limit: int
    used: int

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsLeft:
    """`sizes` are those of one request or one session, each by the name of its setting."""

    rates: tuple[RateLeft, ...]
    allowances: tuple[Allowance, ...]
    sizes: Mapping[str, float]
