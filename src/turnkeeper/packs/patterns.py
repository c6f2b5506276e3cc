"""Regular expressions of rules: whether they compile, and whether some message could keep them busy for ever."""

import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from turnkeeper.packs.faults import PackFaultCode

MOST_CHARS = 500
MOST_WIDE = 2
MANY = 20
"""A repeat of more than this counts as one without an end."""

_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_WIDE = ("ANY", "NOT_LITERAL")
_WIDE_CLASSES = ("CATEGORY_NOT_SPACE", "CATEGORY_NOT_DIGIT", "CATEGORY_NOT_WORD")


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
    yield from _nested(parsed, inside_repeat=False)
    if sum(1 for body in _repeated_bodies(parsed) if _is_wide(body)) > MOST_WIDE:
        yield f"there are more than {MOST_WIDE} repeats of nearly anything, such as .* here. Use fewer of them."
    if any(name in ("GROUPREF", "GROUPREF_EXISTS") for name, _ in _walk(parsed)):
        yield "it refers back to a group. Write out what it should find."


def _nested(parsed: Any, *, inside_repeat: bool) -> Iterator[str]:
    for name, argument in _named(parsed):
        repeats = name in _REPEATS and _is_endless(argument)
        if repeats and inside_repeat:
            yield "a repeat (* + {,}) stands inside another one. Take one of them away."
        if repeats and _has_overlapping_ways(argument[2]):
            yield "what is repeated can be read in two ways. Let the alternatives begin with different letters."
        for below in _inner(name, argument):
            yield from _nested(below, inside_repeat=inside_repeat or repeats)


def _is_endless(argument: Any) -> bool:
    return bool(argument[1] > MANY and argument[0] != argument[1])


def _has_overlapping_ways(body: Any) -> bool:
    for name, argument in _walk(body):
        if name == "BRANCH":
            firsts = [_first_letter(way) for way in argument[1]]
            if None in firsts or len(set(firsts)) < len(firsts):
                return True
        elif name in _REPEATS and argument[0] != argument[1]:
            return True  # Also a small one: (a?a)* and (a{1,9})* have many ways to read aaaa.
    return False


def _first_letter(way: Any) -> str | None:
    first = next(iter(_named(way)), None)
    return chr(first[1]).lower() if first and first[0] == "LITERAL" else None


def _repeated_bodies(parsed: Any) -> Iterator[Any]:
    return (argument[2] for name, argument in _walk(parsed) if name in _REPEATS and _is_endless(argument))


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
