"""What a run may still spend: calls of a model, depth, and whatever else has a limit."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock


class Resource(StrEnum):
    """What can be spent. Time is not: it passes by itself, and the deadline of a run stands for it.

    A step is a call of a tool or of a model; they are counted where they have a limit.
    """

    TOKENS = "tokens"
    TOOL_CALLS = "tool_calls"
    COST_CENTS = "cost_cents"
    PAYLOAD_BYTES = "payload_bytes"
    RETRIES = "retries"
    REPLANS = "replans"
    STEPS = "steps"


class Overdrawn(Exception):
    """Something would cost more than is left of it. Nothing was spent."""

    def __init__(self, resource: str, *, wanted: float, left: float, limit: float) -> None:
        super().__init__(f"{wanted:g} {resource} are wanted, and of {limit:g} only {left:g} are left")
        self.resource, self.wanted, self.left, self.limit = resource, wanted, left, limit


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    model_calls: int = 5
    depth: int = 3
    plugins_per_stage: int = 4
    parallel_frames: int = 4


class Reservation:
    """Calls of a model that one plugin may make. What it makes is spent; what is left over is released at its end."""

    __slots__ = ("_budgets", "_held")

    def __init__(self, budget: "Budget", held: int) -> None:
        self._budgets = tuple(budget.line())
        self._held = held
        for each in self._budgets:
            each.reserved += held

    def take(self) -> bool:
        """One call is made now. False, and nothing spent, when all that was reserved has been used.

        Raises Overdrawn when it would be one step too many.
        """
        if self._held == 0:
            return False
        self._budgets[0].step()
        self._held -= 1
        for each in self._budgets:
            each.reserved -= 1
            each.model_calls += 1
        return True

    def release(self) -> None:
        for each in self._budgets:
            each.reserved -= self._held
        self._held = 0


class Budget:
    """Calls are reserved before a plugin runs and released when it ends, so that two at once cannot overspend.

    The one part of a RunContext that changes. All child frames of a run share it. `most` names the limit of each
    resource; one without a limit is counted all the same. A narrowed budget spends from the one that it came from too.
    """

    __slots__ = ("_lock", "_parent", "limits", "model_calls", "most", "reserved", "used")

    def __init__(
        self,
        limits: BudgetLimits,
        most: Mapping[str, float] | None = None,
        *,
        used: Mapping[str, float] | None = None,
        parent: "Budget | None" = None,
    ) -> None:
        self.limits = limits
        self.model_calls = 0
        self.reserved = 0
        self.most: Mapping[str, float] = most or {}
        self.used: dict[str, float] = dict(used or {})
        self._parent = parent
        # Sync agents spend from their own threads; one lock for the whole family keeps a debit whole.
        self._lock: Lock = parent._lock if parent else Lock()

    @property
    def remaining(self) -> int:
        own = self.limits.model_calls - self.model_calls - self.reserved
        return own if self._parent is None else min(own, self._parent.remaining)

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

    def debit(self, resource: Resource | str, amount: float = 1) -> None:
        """Spend this much, or raise Overdrawn before the limit is crossed."""
        name = Resource(resource).value
        if not 0 <= amount < float("inf"):
            raise ValueError("what is spent is a number, and not less than nothing")
        spent = {name: amount, Resource.STEPS.value: amount} if self._counts_steps_for(name) else {name: amount}
        with self._lock:
            for budget in self.line():
                for each in spent:
                    left = budget._left(each)
                    if amount > left:
                        raise Overdrawn(each, wanted=amount, left=left, limit=budget.most[each])
            for budget in self.line():
                for each in spent:
                    budget.used[each] = budget.used.get(each, 0) + amount

    def step(self) -> None:
        """One more call of a model. Raises Overdrawn where that is one step too many."""
        if self._has_steps:
            self.debit(Resource.STEPS)

    def _counts_steps_for(self, name: str) -> bool:
        return name == Resource.TOOL_CALLS and self._has_steps

    @property
    def _has_steps(self) -> bool:
        return any(Resource.STEPS in budget.most for budget in self.line())

    def left(self, resource: Resource | str) -> float | None:
        """None where there is no limit."""
        name = Resource(resource).value
        with self._lock:
            least = min(budget._left(name) for budget in self.line())
        return None if least == float("inf") else least

    def narrowed(self, *, model_calls: int | None = None, **most: float) -> "Budget":
        """A budget for a part of the run: never more than is left here, and what it spends is spent here."""
        limits = {name.value: limit for name in Resource if (limit := self.left(name)) is not None}
        limits |= {Resource(name).value: min(limit, limits.get(name, limit)) for name, limit in most.items()}
        calls = self.remaining if model_calls is None else min(model_calls, self.remaining)
        own = BudgetLimits(
            model_calls=calls,
            depth=self.limits.depth,
            plugins_per_stage=self.limits.plugins_per_stage,
            parallel_frames=self.limits.parallel_frames,
        )
        return Budget(own, limits, parent=self)

    def _left(self, name: str) -> float:
        limit = self.most.get(name)
        return float("inf") if limit is None else limit - self.used.get(name, 0)

    def line(self) -> Iterator["Budget"]:
        """This one, then all that it was narrowed from."""
        budget: Budget | None = self
        while budget is not None:
            yield budget
            budget = budget._parent
