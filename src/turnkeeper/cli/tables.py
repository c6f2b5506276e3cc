"""Rows and facts as text: aligned, and folded where a terminal is too narrow for them."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

INDENT = 4
GAP = "  "


def table(rows: Sequence[Sequence[str]], columns: int | None) -> str:
    """One line a row. Where it does not fit into `columns` it goes on below; nothing is cut off, ids least of all."""
    clean = [[" ".join(cell.split()) for cell in row] for row in rows]
    used = [place for place in range(max(map(len, clean), default=0)) if any(row[place] for row in clean)]
    widths = {place: max(len(row[place]) for row in clean) for place in used}
    return "".join(
        f"{line}\n" for row in clean for line in _packed([(row[place], widths[place]) for place in used], columns)
    )


def facts(named: Mapping[str, object] | Sequence[tuple[str, object]], columns: int | None) -> str:
    """One line a fact, its name in front; those that say nothing are left out."""
    pairs = named.items() if isinstance(named, Mapping) else named
    told = [(name, str(value)) for name, value in pairs if value not in (None, "")]
    margin = max((len(name) for name, _ in told), default=0) + len(GAP)
    return "".join(f"{line}\n" for name, value in told for line in _hanging(f"{name:<{margin}}", value, columns))


def terminal_columns() -> int | None:
    """How wide the terminal is; None when nobody looks at one."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def moment(text: str | None) -> str:
    """A moment as people read it, to the second, in UTC."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S}" if text else ""


def _packed(cells: Sequence[tuple[str, int]], columns: int | None) -> Iterator[str]:
    line = ""
    for place, (cell, width) in enumerate(cells):
        if columns is not None and len(line) + len(cell) > columns:
            if place:
                yield line.rstrip()
                line = " " * INDENT
            first, *others = _wrapped(cell, columns - INDENT)
            if others:
                yield line + first
                yield from (" " * INDENT + each for each in others[:-1])
                line, first = " " * INDENT, others[-1]
            cell = first
        line += f"{cell:<{width}}{GAP}"
    yield line.rstrip()


def _hanging(first: str, value: str, columns: int | None) -> Iterator[str]:
    lines = value.split("\n")
    if columns is not None:
        lines = [part for line in lines for part in _wrapped(line, max(columns - len(first), 2 * INDENT))]
    for place, line in enumerate(lines):
        yield f"{first if place == 0 else ' ' * len(first)}{line}".rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
