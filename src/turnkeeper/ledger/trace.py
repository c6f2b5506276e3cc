"""Noting what each step of a run decided and how long it took."""

from collections.abc import Mapping
from time import perf_counter_ns
from typing import Any

from turnkeeper.ledger.notes import RunNotes
from turnkeeper.model.explanation import Stage

_NOTHING: Mapping[str, Any] = {}


class Trace:
    """The stages of one run so far; becomes part of its Explanation, whatever its end."""

    __slots__ = ("_began", "_stages", "_step", "_step_began", "notes")

    def __init__(self, *, keeps_details: bool = True) -> None:
        self._began = perf_counter_ns()
        self._stages: list[Stage] = []
        self._step: str | None = None
        self._step_began = 0
        self.notes = RunNotes(self._began, keeps_details=keeps_details)

    def begin(self, step: str) -> None:
        self._step, self._step_began = step, perf_counter_ns()

    def end(self, data: Mapping[str, Any] = _NOTHING) -> None:
        """The step that began last is over."""
        if self._step is not None:
            began, now = self._step_began, perf_counter_ns()
            took = (now - began) // 1000
            self._stages.append(Stage(name=self._step, began_us=(began - self._began) // 1000, took_us=took, data=data))
            self._step = None

    def note(self, name: str, data: Mapping[str, Any] = _NOTHING) -> None:
        """A decision inside a step."""
        at = (perf_counter_ns() - self._began) // 1000
        self._stages.append(Stage(name=name, began_us=at, took_us=0, data=data))

    @property
    def step(self) -> str | None:
        """Where the run is now; the `stage` of an error that happens here."""
        return self._step

    def stages(self) -> tuple[Stage, ...]:
        """What is over, and how far the step that is not over has come."""
        if self._step is None:
            return tuple(self._stages)
        began, now = self._step_began, perf_counter_ns()
        running = Stage(name=self._step, began_us=(began - self._began) // 1000, took_us=(now - began) // 1000)
        return (*self._stages, running)
