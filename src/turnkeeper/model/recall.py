"""Asking what is known: a query over units, and what it found."""

from dataclasses import dataclass

from turnkeeper.model.unit import Act, PhaseScope, Unit

SESSION_PLACE = "session"
"""Where a unit of the session itself was found; a unit of a knowledge base is found in the id of that base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitQuery:
    """Which units speak of these words. `acts` favour the roles that answer such acts; they exclude nothing."""

    words: str
    acts: tuple[Act, ...] = ()
    scope: PhaseScope = PhaseScope.KNOWLEDGE
    limit: int = 10

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError("a UnitQuery wants at least one unit")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundUnit:
    """`score` is 1 for the best of one search and lies above 0 for all others; it compares within that search only."""

    unit: Unit
    place: str
    score: float
