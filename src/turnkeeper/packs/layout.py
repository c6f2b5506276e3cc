"""Where the files of a pack stand, and what is said to one that stands elsewhere."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

from turnkeeper.packs.faults import START, PackFault, PackFaultCode, Place, fault_at

MANIFEST = "pack.yaml"


class Section(StrEnum):
    MANIFEST = "manifest"
    INTENTS = "intents"
    SCHEMAS = "schemas"
    RESPONSES = "responses"
    KNOWLEDGE = "knowledge"
    PROMPTS = "prompts"
    IGNORED = "ignored"


_NAME = r"[A-Za-z0-9_][A-Za-z0-9_. -]*"
_PLACES: tuple[tuple[Section, re.Pattern[str]], ...] = (
    (Section.MANIFEST, re.compile(re.escape(MANIFEST))),
    (Section.INTENTS, re.compile(rf"intents/{_NAME}\.yaml")),
    (Section.SCHEMAS, re.compile(rf"schemas/{_NAME}\.json")),
    (Section.RESPONSES, re.compile(rf"responses/{_NAME}\.yaml")),
    (Section.KNOWLEDGE, re.compile(rf"knowledge/{_NAME}\.(md|txt|units)")),
    (Section.PROMPTS, re.compile(rf"prompts/{_NAME}")),
    (Section.IGNORED, re.compile(r"(README|LICENSE|CHANGELOG|NOTICE)(\.md|\.txt)?")),
)
_WHERE = (
    "Files stand in pack.yaml, intents/*.yaml, schemas/*.json, responses/*.yaml, knowledge/*.md|.txt|.units and "
    "prompts/*; README and LICENSE are left alone."
)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def section_of(path: str) -> Section | None:
    return next((section for section, shape in _PLACES if shape.fullmatch(path)), None)


def layout_faults(files: Mapping[str, str]) -> Iterator[PackFault]:
    if MANIFEST not in files:
        message = f"There is no {MANIFEST}. Write one with at least `id` and `version`; `turnkeeper packs init` does."
        yield fault_at(MANIFEST, START, PackFaultCode.MISSING_FILE, message)
    for path, text in files.items():
        section = section_of(path)
        if section is None:
            message = f"Nothing is read from here. {_remedy(path)}"
            yield fault_at(path, START, PackFaultCode.MISPLACED_FILE, message)
        elif section is not Section.IGNORED:
            yield from _text_faults(path, text)


def is_readable(text: str) -> bool:
    return bool(text.strip()) and not _CONTROLS.search(text)


def place_in(text: str, at: int) -> Place:
    return Place(line=text.count("\n", 0, at) + 1, column=at - text.rfind("\n", 0, at))


def _text_faults(path: str, text: str) -> Iterator[PackFault]:
    if not text.strip("\ufeff \t\r\n"):
        yield fault_at(path, START, PackFaultCode.EMPTY_FILE, "This file is empty. Fill it, or take it away.")
    if found := _CONTROLS.search(text):
        message = f"Here stands the control character U+{ord(found[0]):04X}. Take it away."
        yield fault_at(path, place_in(text, found.start()), PackFaultCode.CONTROL_CHARACTER, message)


def _remedy(path: str) -> str:
    renamed = re.sub(r"\.yml$", ".yaml", path)
    if renamed != path and section_of(renamed):
        return f"Name it {renamed}."
    return _WHERE
