"""What can be wrong with a pack, each with a stable code, the place where it stands and what to do about it."""

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

MOST_SHOWN_CHARS = 60
MOST_COMPARED = 1_000
MOST_FAULTS = 1_000
"""A pack of nothing but faults must not be answered with more than was sent."""


class PackFaultCode(StrEnum):
    """A released code never changes."""

    # The files of a pack.
    CANNOT_READ = "cannot_read"
    NOT_AN_ARCHIVE = "not_an_archive"
    BROKEN_ARCHIVE = "broken_archive"
    UNSAFE_NAME = "unsafe_name"
    LINK = "link"
    REPEATED_FILE = "repeated_file"
    TOO_MANY_FILES = "too_many_files"
    TOO_LARGE = "too_large"
    NOT_TEXT = "not_text"
    CONTROL_CHARACTER = "control_character"
    MISPLACED_FILE = "misplaced_file"
    MISSING_FILE = "missing_file"
    EMPTY_FILE = "empty_file"
    UNUSED_FILE = "unused_file"
    # YAML and JSON.
    SYNTAX = "syntax"
    REPEATED_KEY = "repeated_key"
    KEY_NOT_TEXT = "key_not_text"
    ALIAS = "alias"
    TAG = "tag"
    SEVERAL_DOCUMENTS = "several_documents"
    TOO_DEEP = "too_deep"
    UNFIT_NUMBER = "unfit_number"
    # Values.
    WRONG_TYPE = "wrong_type"
    UNKNOWN_KEY = "unknown_key"
    MISSING_KEY = "missing_key"
    BLANK = "blank"
    TOO_LONG = "too_long"
    UNFIT_VALUE = "unfit_value"
    REPEATED_VALUE = "repeated_value"
    UNFIT_CONFIG = "unfit_config"
    # Intents.
    UNFIT_CODE = "unfit_code"
    RESERVED_CODE = "reserved_code"
    REPEATED_INTENT = "repeated_intent"
    REPEATED_STATE = "repeated_state"
    REPEATED_NAME = "repeated_name"
    REPEATED_RULE = "repeated_rule"
    REPEATED_EXAMPLE = "repeated_example"
    UNFIT_CONFIRMATION = "unfit_confirmation"
    UNFIT_PATTERN = "unfit_pattern"
    UNRESOLVABLE = "unresolvable"
    RESET_INTENT = "reset_intent"
    # What refers to something else.
    UNKNOWN_INTENT = "unknown_intent"
    UNKNOWN_STATE = "unknown_state"
    UNKNOWN_FIELD = "unknown_field"
    UNKNOWN_LOCALE = "unknown_locale"
    # Schemas, responses, knowledge.
    UNFIT_SCHEMA = "unfit_schema"
    RESERVED_FIELD = "reserved_field"
    REPEATED_SCHEMA = "repeated_schema"
    REPEATED_RESPONSE = "repeated_response"
    UNFIT_RESPONSE = "unfit_response"
    UNFIT_VARIABLE = "unfit_variable"
    UNKNOWN_VARIABLE = "unknown_variable"
    MAY_BE_EMPTY = "may_be_empty"
    UNFIT_UNITS = "unfit_units"
    MORE_FAULTS = "more_faults"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Line and column count from 1."""

    line: int = 1
    column: int = 1


START = Place()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackFault:
    """`message` says what is wrong and what to do about it. A warning keeps no pack from being used."""

    file: str
    line: int
    column: int
    pointer: str = ""
    code: PackFaultCode
    message: str
    is_warning: bool = False

    def as_detail(self) -> dict[str, Any]:
        return {**asdict(self), "code": self.code.value}

    def __str__(self) -> str:
        kind = "warning: " if self.is_warning else ""
        return f"{self.file}:{self.line}:{self.column}: {kind}{self.message} [{self.code}]"


def fault_at(
    file: str,
    place: Place,
    code: PackFaultCode,
    message: str,
    *,
    pointer: str = "",
    is_warning: bool = False,
) -> PackFault:
    return PackFault(
        file=file,
        line=place.line,
        column=place.column,
        pointer=pointer,
        code=code,
        message=message,
        is_warning=is_warning,
    )


def in_order(faults: Iterable[PackFault]) -> tuple[PackFault, ...]:
    """By file and place, each once. Where there are too many the warnings are left out first."""
    every = sorted(dict.fromkeys(faults), key=_place)
    if len(every) <= MOST_FAULTS:
        return tuple(every)
    kept = sorted(sorted(every, key=lambda fault: fault.is_warning)[:MOST_FAULTS], key=_place)
    return (*kept, _more_after(kept[-1], len(every) - MOST_FAULTS))


def _place(fault: PackFault) -> tuple[str, int, int, str, str]:
    return fault.file, fault.line, fault.column, fault.code, fault.message


def _more_after(last: PackFault, count: int) -> PackFault:
    message = f"There are at least {count:,} more. Correct those that are told, then check again."
    place = Place(line=last.line, column=last.column)
    return fault_at(last.file, place, PackFaultCode.MORE_FAULTS, message, is_warning=True)


def shown(value: object) -> str:
    """Somebody else's word inside a message: in quotes, and not all of it when it is long."""
    text = value if isinstance(value, str) else repr(value)
    cut = text if len(text) <= MOST_SHOWN_CHARS else f"{text[:MOST_SHOWN_CHARS]}..."
    return repr(cut) if isinstance(value, str) else cut


def meant_instead(word: str, known: Collection[str]) -> str:
    """A sentence that names what was probably meant, or else everything that there is."""
    from rapidfuzz import fuzz, process

    if len(known) > MOST_COMPARED:
        return f"There are {len(known):,} others."
    names = sorted(known)

    # Only so much of a word is compared: what is longer is no slip of the fingers.
    start = word[:MOST_SHOWN_CHARS]
    near = process.extractOne(start, names, scorer=fuzz.ratio, processor=str.casefold, score_cutoff=60)
    if near:
        return f"Did you mean {near[0]!r}?"
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"There are {listed}." if names else "There are none yet."
