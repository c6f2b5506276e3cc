"""What a run may still spend: calls of a model, time, and depth."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    model_calls: int = 5
    depth: int = 3
    plugins_per_stage: int = 4
    parallel_frames: int = 4


class Reservation:
    """Calls of a model that one plugin may make. What it makes is spent; what is left over is released at its end."""

    __slots__ = ("_budget", "_held")

    def __init__(self, budget: "Budget", held: int) -> None:
        self._budget = budget
        self._held = held
        budget.reserved += held

    def take(self) -> bool:
        """One call is made now. False, and nothing spent, when all that was reserved has been used."""
        if self._held == 0:
            return False
        self._held -= 1
        self._budget.reserved -= 1
        self._budget.model_calls += 1
        return True

    def release(self) -> None:
        self._budget.reserved -= self._held
        self._held = 0


class Budget:
    """Calls are reserved before a plugin runs and released when it ends, so that two at once cannot overspend.

    The one part of a RunContext that changes. All child frames of a run share it.
    """

    __slots__ = ("limits", "model_calls", "reserved")

    def __init__(self, limits: BudgetLimits) -> None:
        self.limits = limits
        self.model_calls = 0
        self.reserved = 0

    @property
    def remaining(self) -> int:
        return self.limits.model_calls - self.model_calls - self.reserved

    @contextmanager
    def reserve(self, model_calls: int) -> Iterator[Reservation | None]:
        """Yields None, and holds nothing, when there is not that much left."""
        if model_calls > self.remaining:
            yield None
            return
        reservation = Reservation(self, model_calls)
        try:
            yield reservation
        finally:
            reservation.release()
