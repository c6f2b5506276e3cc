"""Filling the names in an exact response with what is known.

A name stands in braces: {date}, {guest.name}, {params.city}, {missing}. Two braces, {{ and }}, stand for one. Nothing
else is read: a response cannot reach into a value, count in it or format it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnkeeper.intent.language import Language, language_of

_NAME = re.compile(r"\w[\w-]*(?:\.\w[\w-]*)*")
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """`path` holds the names between the dots; it is empty where the braces hold nothing that can be a name."""

    written: str
    path: tuple[str, ...]
    at: int


def render(text: str, *, fields: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
    """The text with every name filled in. Variables come before fields; what is not known leaves nothing behind.

    Braces that are not understood stay as they are: what was checked when the pack was pushed has none of them.
    """
    return _PIECE.sub(lambda piece: _filled(piece, fields, variables), text)


def variables_of(text: str) -> Iterator[Variable]:
    """Every brace that is not doubled, in the order of the text."""
    for piece in _PIECE.finditer(text):
        if piece[0] not in ("{{", "}}"):
            name = (piece[1] or "").strip()
            path = tuple(name.split(".")) if _NAME.fullmatch(name) else ()
            yield Variable(written=piece[0], path=path, at=piece.start())


def as_words(value: Any, language: Language | None = None) -> str:
    """A value as people write it: lists with commas, nothing as nothing."""
    match value:
        case None:
            return ""
        case bool():
            asking = (language or language_of()).asking
            return asking.yes if value else asking.no
        case float() if value.is_integer():
            return str(int(value))
        case str():
            return value
        case Mapping():
            return _joined([as_words(each, language) for each in value.values()])
        case list() | tuple():
            return _joined([as_words(each, language) for each in value])
    return str(value)


def value_at(fields: Mapping[str, Any], name: str) -> Any:
    """What stands under a dotted name; None where nothing does."""
    value: Any = fields
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _filled(piece: re.Match[str], fields: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
    if piece[0] in ("{{", "}}"):
        return piece[0][0]
    name = (piece[1] or "").strip()
    if not _NAME.fullmatch(name):
        return piece[0]
    return as_words(value_at(variables if name.split(".")[0] in variables else fields, name))


def _joined(words: Sequence[str]) -> str:
    return ", ".join(filter(None, words))
