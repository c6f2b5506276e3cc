"""YAML with its places. Only the core of YAML 1.2: `no` and `on` are texts, and nothing is written by reference."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from turnkeeper.packs.documents import (
    MOST_DEPTH,
    Document,
    DocumentFault,
    below,
    fit_number,
    repeated_key,
    too_deep,
    unfit_number,
)
from turnkeeper.packs.faults import START, PackFaultCode, Place
from turnkeeper.packs.yaml_slips import ESCAPES, slip

# The parser in C is twenty times as fast, and tells the same places.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0x[0-9a-fA-F]+|0o[0-7]+")
# What `\b` and its like are in double quotes; whoever writes them there means a regular expression.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def read_yaml(text: str) -> Document:
    """Raises DocumentFault for the first thing that is wrong."""
    builder = _Builder()
    for event in _events(text):
        builder.take(event)
    return builder.document()


def _events(text: str) -> Iterator[Event]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise slip(text, error) from None
    except yaml.YAMLError:
        message = "This is no YAML: it holds a character that may not be there. Write it as \\u and its number."
        raise DocumentFault(PackFaultCode.SYNTAX, message, START) from None


@dataclass(slots=True)
class _Open:
    """A list or a mapping whose end has not come yet; `key` is one that still waits for its value."""

    pointer: str
    value: dict[str, Any] | list[Any]
    key: str | None = None


@dataclass(slots=True)
class _Builder:
    """Puts values together as their events come, without recursion, so that depth cannot exhaust anything."""

    open: list[_Open] = field(default_factory=list)
    values: dict[str, Place] = field(default_factory=dict)
    keys: dict[str, Place] = field(default_factory=dict)
    letters: dict[str, Place] = field(default_factory=dict)
    roots: list[Any] = field(default_factory=list)
    documents: int = 0

    def document(self) -> Document:
        root = self.roots[0] if self.roots else None
        return Document(value=root, values=self.values, keys=self.keys, letters=self.letters)

    def take(self, event: Event) -> None:
        place = _place(event.start_mark)
        _refuse_what_is_written_by_reference(event, place)
        match event:
            case DocumentStartEvent():
                self._count_document(place)
            case ScalarEvent():
                self._take_scalar(event, place)
            case MappingStartEvent():
                self._begin({}, place)
            case SequenceStartEvent():
                self._begin([], place)
            case MappingEndEvent() | SequenceEndEvent():
                self.open.pop()

    def _count_document(self, place: Place) -> None:
        self.documents += 1
        if self.documents > 1:
            message = "A second document begins here. Put it into a file of its own, or write a list."
            raise DocumentFault(PackFaultCode.SEVERAL_DOCUMENTS, message, place)

    def _begin(self, value: dict[str, Any] | list[Any], place: Place) -> None:
        if self._awaits_key():
            raise _no_key(place)
        pointer = self._put(value, place)
        self.open.append(_Open(pointer, value))
        if len(self.open) > MOST_DEPTH:
            raise too_deep(place)

    def _take_scalar(self, event: ScalarEvent, place: Place) -> None:
        value = _value_of(event, place)
        if self._awaits_key():
            self._take_key(value, place)
            return
        pointer = self._put(value, place)
        if first := _first_letter(event):
            self.letters[pointer] = first

    def _awaits_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1].value, dict) and self.open[-1].key is None

    def _take_key(self, key: Any, place: Place) -> None:
        if not isinstance(key, str):
            raise _no_key(place)
        inside = self.open[-1]
        pointer = below(inside.pointer, key)
        if pointer in self.keys:
            raise repeated_key(key, first=self.keys[pointer], again=place)
        self.keys[pointer] = place
        inside.key = key

    def _put(self, value: Any, place: Place) -> str:
        """Where in the document the value is now."""
        pointer = ""
        if not self.open:
            self.roots.append(value)
        elif isinstance(inside := self.open[-1].value, list):
            pointer = below(self.open[-1].pointer, len(inside))
            inside.append(value)
        else:
            key = self.open[-1].key
            assert key is not None, "a value of a mapping comes behind its key"
            pointer = below(self.open[-1].pointer, key)
            inside[key] = value
            self.open[-1].key = None
        self.values[pointer] = place
        return pointer


def _value_of(event: ScalarEvent, place: Place) -> Any:
    text: str = event.value
    if event.style == '"' and _CONTROL.search(text):
        raise DocumentFault(PackFaultCode.CONTROL_CHARACTER, f"This text holds a control character. {ESCAPES}", place)
    if not event.implicit[0]:  # It stands in quotes, or is a block of text.
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _NO_NUMBER.fullmatch(text):
        raise unfit_number(place)
    return fit_number(text, place) if _NUMBER.fullmatch(text) else text


def _first_letter(event: ScalarEvent) -> Place | None:
    """Where the text begins inside its quotes; None where its letters do not stand one for one in a single line."""
    start: Any = event.start_mark
    end: Any = event.end_mark
    quotes = 1 if event.style in ("'", '"') else 0
    is_as_written = start.line == end.line and end.column - start.column == len(event.value) + 2 * quotes
    return Place(line=start.line + 1, column=start.column + 1 + quotes) if is_as_written else None


def _refuse_what_is_written_by_reference(event: Event, place: Place) -> None:
    if isinstance(event, AliasEvent) or getattr(event, "anchor", None) is not None:
        message = "Anchors (&) and aliases (*) are not read. Write the value out; put a text that begins so in quotes."
        raise DocumentFault(PackFaultCode.ALIAS, message, place)
    if getattr(event, "tag", None) is not None:
        message = "Tags (!) are not read. Take it away; put a text that begins so in quotes."
        raise DocumentFault(PackFaultCode.TAG, message, place)


def _no_key(place: Place) -> DocumentFault:
    message = "This key is no text. Put it in quotes."
    return DocumentFault(PackFaultCode.KEY_NOT_TEXT, message, place)


def _place(mark: Any) -> Place:
    return Place(line=mark.line + 1, column=mark.column + 1)
