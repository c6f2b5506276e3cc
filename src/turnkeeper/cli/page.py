"""Lines on a terminal that go on below themselves where it is too narrow."""

import sys

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

NARROWEST = 16


class Page:
    """As wide as the terminal, or as long as the lines are when nobody looks at them on one."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = console.width if console.is_terminal else sys.maxsize

    @property
    def is_on_a_terminal(self) -> bool:
        return self._console.is_terminal

    def hanging(self, first: Text, others: str, value: str, style: str) -> None:
        """A value behind `first` that goes on below itself, behind `others`."""
        room = max(self._width - cell_len(others), NARROWEST)
        for place, part in enumerate(Text(value, style=style).wrap(self._console, room)):
            part.rstrip()
            self.line(Text.assemble(first if place == 0 else (others, "dim"), part))

    def line(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)
