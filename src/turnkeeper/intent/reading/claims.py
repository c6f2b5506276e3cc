"""Which words of a message are spoken for, so that none is used twice."""


class Claims:
    """Changed while a message is read; `take` what is used, ask whether something `hold`s a place."""

    def __init__(self) -> None:
        self._taken: list[tuple[int, int]] = []

    def take(self, start: int, end: int) -> None:
        self._taken.append((start, end))

    def hold(self, start: int, end: int) -> bool:
        return any(start < taken_end and taken_start < end for taken_start, taken_end in self._taken)

    def spans(self) -> tuple[tuple[int, int], ...]:
        return tuple(sorted(self._taken))
