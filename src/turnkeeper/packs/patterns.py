"""Regular expressions of rules: whether they compile, and whether some message could keep them busy for ever."""

import itertools
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from turnkeeper.packs.faults import PackFaultCode

MOST_CHARS = 500
MOST_WIDE = 1
"""With two, a message of 2,000 characters took seconds; with one, a hundredth of a second."""
MOST_REPEATS = 12

_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_WIDE = ("ANY", "NOT_LITERAL")
_WIDE_CLASSES = ("CATEGORY_NOT_SPACE", "CATEGORY_NOT_DIGIT", "CATEGORY_NOT_WORD")
_FEW = 3
"""A repeat of at most so many is no danger around another one."""


def pattern_fault(pattern: str) -> tuple[PackFaultCode, str] | None:
    """What is wrong with a pattern, and the remedy."""
    if len(pattern) > MOST_CHARS:
        return PackFaultCode.TOO_LONG, f"A pattern has at most {MOST_CHARS} characters. Cut it into several rules."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern, re.IGNORECASE)
            parsed: Any = re._parser.parse(pattern, re.IGNORECASE)  # type: ignore[attr-defined]
    except (re.error, OverflowError, RecursionError, Warning) as error:
        message = f"This does not compile: {str(error) or 'it is too deep'}. Correct it, or use CONTAINS."
        return PackFaultCode.UNFIT_PATTERN, message
    if re.compile(pattern).search("") is not None:
        message = "This matches every message, the empty one too. Write what must be in the message."
        return PackFaultCode.UNFIT_PATTERN, message
    slow = next(_slow_parts(parsed), None)
    return None if slow is None else (PackFaultCode.SLOW_PATTERN, f"A long message could keep this busy: {slow}")


def _slow_parts(parsed: Any) -> Iterator[str]:
    repeats = [argument for name, argument in _walk(parsed) if _varies(name, argument)]
    for _, most, body in repeats:
        if most > _FEW and any(_varies(*each) for each in _walk(body)):
            yield "a repeat (* + ? {,}) stands inside another one. Take one of them away."
        elif most > _FEW and any(name == "BRANCH" and _overlap(argument[1]) for name, argument in _walk(body)):
            yield "what is repeated can be read in two ways. Let the alternatives begin with different letters."
    if any(map(_has_alike_neighbours, _sequences(parsed))):
        yield "two repeats of the same stand side by side. Make one of them."
    if sum(1 for _, _, body in repeats if _is_wide(body)) > MOST_WIDE or len(repeats) > MOST_REPEATS:
        yield f"there is more than one repeat of anything (.*), or {MOST_REPEATS} repeats in all. Use fewer of them."
    if any(name in ("GROUPREF", "GROUPREF_EXISTS") for name, _ in _walk(parsed)):
        yield "it refers back to a group. Write out what it should find."


def _varies(name: str, argument: Any) -> bool:
    return name in _REPEATS and bool(argument[0] != argument[1])


def _overlap(ways: Iterable[Any]) -> bool:
    firsts = [_first_letter(way) for way in ways]
    return None in firsts or len(set(firsts)) < len(firsts)


def _first_letter(way: Any) -> str | None:
    first = next(iter(_named(way)), None)
    return chr(first[1]).lower() if first and first[0] == "LITERAL" else None


def _has_alike_neighbours(sequence: Any) -> bool:
    items = list(_named(sequence))
    return any(
        _varies(*one) and _varies(*next_one) and (str(one[1][2]) == str(next_one[1][2]) or _is_wide(next_one[1][2]))
        for one, next_one in itertools.pairwise(items)
    )


def _sequences(parsed: Any) -> Iterator[Any]:
    yield parsed
    for name, argument in _walk(parsed):
        yield from _inner(name, argument)


def _is_wide(body: Any) -> bool:
    for name, argument in _walk(body):
        if name in _WIDE or (name == "IN" and any(_is_wide_class(each) for each in _named(argument))):
            return True
    return False


def _is_wide_class(item: tuple[str, Any]) -> bool:
    return item[0] == "NEGATE" or (item[0] == "CATEGORY" and str(item[1]) in _WIDE_CLASSES)


def _walk(parsed: Any) -> Iterator[tuple[str, Any]]:
    for name, argument in _named(parsed):
        yield name, argument
        for below in _inner(name, argument):
            yield from _walk(below)


def _inner(name: str, argument: Any) -> Iterable[Any]:
    match name:
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return (argument[2],)
        case "SUBPATTERN":
            return (argument[3],)
        case "ATOMIC_GROUP":
            return (argument,)
        case "ASSERT" | "ASSERT_NOT":
            return (argument[1],)
        case "BRANCH":
            return tuple(argument[1])
        case "GROUPREF_EXISTS":
            return tuple(way for way in argument[1:] if way is not None)
    return ()


def _named(parsed: Any) -> Iterator[tuple[str, Any]]:
    return ((str(name), argument) for name, argument in parsed)
