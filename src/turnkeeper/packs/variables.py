"""Names in braces that a response is filled in with. They name; they never index, call or format."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]")
_PATH = re.compile(r"\w[\w-]*(\.\w[\w-]*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """`path` holds the names between the dots; it is empty where the braces hold nothing that can be a name."""

    written: str
    path: tuple[str, ...]
    at: int


def variables_of(text: str) -> Iterator[Variable]:
    """Every brace that is not doubled, in the order of the text."""
    for token in _TOKEN.finditer(text):
        written = token[0]
        if written in ("{{", "}}"):
            continue
        name = written[1:-1].strip()
        is_name = len(written) > 1 and _PATH.fullmatch(name) is not None
        yield Variable(written=written, path=tuple(name.split(".")) if is_name else (), at=token.start())
