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
    def reserve(self, model_calls: int) -> Iterator[bool]:
        """Yields False, and holds nothing, when there is not that much left."""
        granted = model_calls <= self.remaining
        held = model_calls if granted else 0
        self.reserved += held
        try:
            yield granted
        finally:
            self.reserved -= held

    def spend(self, model_calls: int) -> None:
        self.model_calls += model_calls

    @property
    def is_overspent(self) -> bool:
        return self.model_calls > self.limits.model_calls
