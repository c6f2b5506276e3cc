"""Runs the Python blocks of a Markdown page: `python -m tests.documents PAGE`.

The blocks of one page share their names and one event loop, and may await at the top level, so that a page can tell
one story from its first line to its last.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[\w-]*)")
_NO_RUN = re.compile(r"<!--\s*no-run:\s*\S.*-->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of Python; `line` is where its first line stands in the page."""

    line: int
    text: str
    runs: bool

    def compiled(self, page: str) -> CodeType:
        """Errors point at the line of the page."""
        source = "\n" * (self.line - 1) + self.text
        code: CodeType = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        return code


def python_blocks(page: str) -> list[Block]:
    blocks: list[Block] = []
    fence: re.Match[str] | None = None
    start = 0
    runs = True
    lines = page.splitlines()
    for number, line in enumerate(lines, start=1):
        found = _FENCE.match(line)
        if fence is None:
            if found:
                fence, start = found, number
                runs = not _NO_RUN.search(_line_before(lines, number))
        elif found and len(found["fence"]) >= len(fence["fence"]) and not found["language"]:
            if fence["language"] in ("python", "py"):
                text = textwrap.dedent("\n".join(lines[start : number - 1]))
                blocks.append(Block(line=start + 1, text=text, runs=runs))
            fence = None
    return blocks


def _line_before(lines: list[str], number: int) -> str:
    """The nearest line above that is not empty."""
    return next((line for line in reversed(lines[: number - 1]) if line.strip()), "")


def run_page(path: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    with asyncio.Runner() as runner:
        for block in python_blocks(path.read_text(encoding="utf-8")):
            code = block.compiled(str(path))
            if not block.runs:
                continue
            result = eval(code, names)
            if inspect.iscoroutine(result):
                runner.run(result)


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
