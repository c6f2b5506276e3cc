"""Which words of a message are spoken for, so that none is used twice."""


class Claims:
    """Changed while a message is read; `take` what is used, ask whether something `holds` a place."""

    def __init__(self) -> None:
        self._taken: list[tuple[int, int, str]] = []

    def take(self, start: int, end: int, field: str) -> None:
        self._taken.append((start, end, field))

    def holds(self, start: int, end: int) -> bool:
        return any(start < taken_end and taken_start < end for taken_start, taken_end, _ in self._taken)

    def spans(self) -> tuple[tuple[int, int], ...]:
        return tuple(sorted((start, end) for start, end, _ in self._taken))

    def fields_within(self, start: int, end: int) -> frozenset[str]:
        """The fields that words between these places were taken for."""
        return frozenset(field for begin, stop, field in self._taken if start < stop and begin < end)
