"""One value of a pack's file at a time, asked for what it should be; what it is instead is told at its place."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar

from turnkeeper.packs.documents import Document, below
from turnkeeper.packs.faults import PackFault, PackFaultCode, fault_at, meant_instead, shown

MOST_TEXT_CHARS = 20_000
MOST_NAME_CHARS = 200
ENOUGH_FAULTS = 3_000

_Choice = TypeVar("_Choice", bound=StrEnum)
_Read = TypeVar("_Read")

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (int, "a number"),
    (float, "a number"),
    (str, "a text"),
    (list, "a list"),
    (dict, "a mapping"),
)


class EnoughFaults(Exception):
    """So much is wrong that looking for more would only take time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Every question about a value is answered with it, or with None once its fault is told in `faults`."""

    file: str
    document: Document
    faults: list[PackFault]
    pointer: str = ""
    value: Any

    def refuse(
        self,
        code: PackFaultCode,
        message: str,
        *,
        is_warning: bool = False,
        at_key: bool = False,
        at_letter: int | None = None,
    ) -> None:
        """`at_letter` counts from the beginning of a text; without it the fault is told at the value, or at its key."""
        if len(self.faults) >= ENOUGH_FAULTS:
            raise EnoughFaults
        place = self.document.key_place(self.pointer) if at_key else self.document.place(self.pointer)
        if at_letter is not None:
            place = self.document.letter_place(self.pointer, at_letter)
        fault = fault_at(self.file, place, code, message, pointer=self.pointer, is_warning=is_warning)
        self.faults.append(fault)

    def warn(self, code: PackFaultCode, message: str) -> None:
        self.refuse(code, message, is_warning=True)

    @property
    def line(self) -> int:
        return self.document.place(self.pointer).line

    def inside(self, key: str | int) -> "Part":
        """The member of this name; of a value that has no such member, the value itself stands in for its place."""
        value = self.value
        has_it = key in value if isinstance(value, dict) else isinstance(value, list) and int(key) < len(value)
        return replace(self, pointer=below(self.pointer, key), value=value[key] if has_it else None)

    def fields(self, known: Collection[str], *, required: Collection[str] = ()) -> dict[str, "Part"]:
        """The members of a mapping by their keys. Unknown keys, and required ones that are missing, are told."""
        if not self._is_a(dict):
            return {}
        for key in [key for key in self.value if key not in known]:
            message = f"There is no key {shown(key)} here. {meant_instead(key, known)}"
            self.inside(key).refuse(PackFaultCode.UNKNOWN_KEY, message, at_key=True)
        for key in sorted(set(required) - self.value.keys()):
            message = f"{key!r} is missing. Write `{key}: ...` here."
            self.refuse(PackFaultCode.MISSING_KEY, message)
        return {key: self.inside(key) for key in self.value if key in known}

    def members(self) -> dict[str, "Part"]:
        """The members of a mapping with keys of the writer's own."""
        return {key: self.inside(key) for key in self.value} if self._is_a(dict) else {}

    def items(self) -> list["Part"]:
        return [self.inside(at) for at in range(len(self.value))] if self._is_a(list) else []

    def text(self, *, most: int = MOST_TEXT_CHARS) -> str | None:
        """A text that says something."""
        if not self._is_a(str):
            return None
        if not self.value.strip():
            self.refuse(PackFaultCode.BLANK, "This is blank. Write something, or leave it out.")
            return None
        if len(self.value) > most:
            self.refuse(PackFaultCode.TOO_LONG, f"This is longer than {most:,} characters. Make it shorter.")
            return None
        text: str = self.value
        return text

    def name(self, shape: re.Pattern[str], remedy: str, code: PackFaultCode = PackFaultCode.UNFIT_VALUE) -> str | None:
        """A text of this shape; `remedy` says what it looks like."""
        text = self.text(most=MOST_NAME_CHARS)
        if text is not None and not shape.fullmatch(text):
            self.refuse(code, f"{shown(text)} does not fit. {remedy}")
            return None
        return text

    def names(self, shape: re.Pattern[str], remedy: str) -> tuple[str, ...]:
        return self.each(lambda part: part.name(shape, remedy))

    def each(self, read: Callable[["Part"], _Read | None]) -> tuple[_Read, ...]:
        """The items of a list, each of them once."""
        found: dict[_Read, int] = {}
        for part in self.items():
            item = read(part)
            if item is None:
                continue
            if item in found:
                message = f"{shown(part.value)} stands in line {found[item]} already. Keep one of the two."
                part.refuse(PackFaultCode.REPEATED_VALUE, message)
            found.setdefault(item, part.line)
        return tuple(found)

    def whole(self, *, least: int, most: int) -> int | None:
        if not self._is_a(int):
            return None
        if not least <= self.value <= most:
            message = f"{self.value} does not fit. Write a whole number from {least:,} to {most:,}."
            self.refuse(PackFaultCode.UNFIT_VALUE, message)
            return None
        number: int = self.value
        return number

    def truth(self) -> bool | None:
        return self.value if self._is_a(bool) else None

    def one_of(self, choices: type[_Choice]) -> _Choice | None:
        if not self._is_a(str):
            return None
        if self.value not in {choice.value for choice in choices}:
            known = [choice.value for choice in choices]
            message = f"{shown(self.value)} is none of {', '.join(known)}. {meant_instead(self.value, known)}"
            self.refuse(PackFaultCode.UNFIT_VALUE, message)
            return None
        return choices(self.value)

    def _is_a(self, kind: type) -> bool:
        fits = isinstance(self.value, kind) and not (kind is int and isinstance(self.value, bool))
        if not fits:
            message = f"This is {_kind_of(self.value)}, and it should be {_named(kind)}. {_remedy(kind)}"
            self.refuse(PackFaultCode.WRONG_TYPE, message)
        return fits


def given(read: Mapping[str, _Read | None]) -> Mapping[str, _Read]:
    """Without what was not written, or could not be read: there the default counts."""
    return {name: value for name, value in read.items() if value is not None}


def repeated(parts: Iterator[tuple[_Read, Part]]) -> Iterator[tuple[_Read, Part, Part]]:
    """Each thing that was written before, where it stands now, and where it stood first."""
    first: dict[_Read, Part] = {}
    for thing, part in parts:
        if thing in first:
            yield thing, part, first[thing]
        first.setdefault(thing, part)


def _kind_of(value: Any) -> str:
    return next((said for kind, said in _KINDS if isinstance(value, kind)), "empty")


def _named(kind: type) -> str:
    return "a whole number" if kind is int else dict(_KINDS)[kind]


def _remedy(kind: type) -> str:
    return {
        bool: "Write true or false, without quotes.",
        int: "Write digits only, without quotes.",
        str: "Put it in quotes, or leave the key out.",
        list: "Write its items on lines of their own that begin with '- '.",
        dict: "Write its members as `key: value`, each on a line of its own.",
    }[kind]
