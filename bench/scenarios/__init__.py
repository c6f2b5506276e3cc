"""What is measured; each runs in a process of its own and gives numbers by name."""

import importlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.contenders import Entry
from bench.work import Place

Numbers = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One scenario for one contender. `given` holds the sizes; `against` names who is timed in the same process."""

    scenario: str
    contender: Entry
    place: Place
    against: tuple[Entry, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)


SCENARIOS = ("one_turn", "at_once", "writers", "growth", "length", "counted", "create", "cold_open")


def measure(task: Task) -> Awaitable[Numbers]:
    found: Callable[[Task], Awaitable[Numbers]] = importlib.import_module(f"bench.scenarios.{task.scenario}").measure
    return found(task)
