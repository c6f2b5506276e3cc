"""Numbers of several rounds, and their medians."""

import statistics
from typing import Any


class Results:
    """By scenario and contender: what each round gave."""

    def __init__(self) -> None:
        self._rounds: dict[str, dict[str, list[dict[str, Any]]]] = {}

    def add(self, scenario: str, contender: str, numbers: dict[str, Any]) -> None:
        self._rounds.setdefault(scenario, {}).setdefault(contender, []).append(numbers)

    def medians(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {
            scenario: {contender: median_of(rounds) for contender, rounds in contenders.items()}
            for scenario, contenders in self._rounds.items()
        }


def median_of(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Number by number, also inside objects; anything else as it was last."""
    return {name: _median([numbers[name] for numbers in rounds if name in numbers]) for name in rounds[-1]}


def _median(values: list[Any]) -> Any:
    if isinstance(values[-1], dict):
        return median_of(values)
    if isinstance(values[-1], int | float) and not isinstance(values[-1], bool):
        return statistics.median(values)
    return values[-1]
