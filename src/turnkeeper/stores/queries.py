"""SQL kept as SQL: the named statements of a backend, read once from its `queries.sql`."""

import re
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)")


class Queries:
    """`queries.advance_session` is the statement of that name; an unknown name is an AttributeError."""

    def __init__(self, package: str) -> None:
        self._by_name = named_statements(files(package).joinpath("queries.sql").read_text(encoding="utf-8"))

    def __getattr__(self, name: str) -> str:
        try:
            return self._by_name[name]
        except KeyError:
            raise AttributeError(f"queries.sql has no statement named {name!r}") from None


def named_statements(text: str) -> dict[str, str]:
    parts = _NAME.split(text)
    names = parts[1::2]
    if len(names) != len(set(names)):
        raise ValueError("queries.sql names a statement twice")
    return {name: _COMMENT.sub("", body).strip().rstrip(";") for name, body in zip(names, parts[2::2], strict=True)}


def numbered(statement: str) -> tuple[str, tuple[str, ...]]:
    """The statement with `$1`-style parameters, and their names in that order."""
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        name = match[1]
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return _PARAMETER.sub(number, statement), tuple(names)
