"""JSON with its places, and without what JSON does not have: NaN, repeated keys, text behind the end."""

import json
import re
from bisect import bisect_right
from typing import Any

from turnkeeper.packs.documents import MOST_DEPTH, Document, DocumentFault, below, fit_number, repeated_key, too_deep
from turnkeeper.packs.faults import PackFaultCode, Place

_BLANKS = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_DECODER = json.JSONDecoder()
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile("|".join(_WORDS))


def read_json(text: str) -> Document:
    """Raises DocumentFault for the first thing that is wrong."""
    reader = _Reader(text)
    value = reader.value("", 0)
    reader.end()
    return Document(value=value, values=reader.values, keys=reader.keys)


class _Reader:
    """Walks once through a text; `at` is the letter that comes next."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._at = 0
        self.values: dict[str, Place] = {}
        self.keys: dict[str, Place] = {}

    def value(self, pointer: str, depth: int) -> Any:
        self._skip()
        self.values[pointer] = self._place()
        if depth > MOST_DEPTH:
            raise too_deep(self._place())
        match self._next():
            case "{":
                return self._object(pointer, depth)
            case "[":
                return self._array(pointer, depth)
            case '"':
                return self._string()
        return self._word_or_number()

    def end(self) -> None:
        self._skip()
        if self._next():
            raise self._fault("Something stands behind the end of the document. Take it away.")

    def _object(self, pointer: str, depth: int) -> dict[str, Any]:
        read: dict[str, Any] = {}
        self._at += 1
        if self._takes("}"):
            return read
        while True:
            self._skip()
            member = self._key(pointer)
            if not self._takes(":"):
                raise self._fault('A colon is missing behind the key. Write it as "key": value.')
            read[member[0]] = self.value(member[1], depth + 1)
            if self._ends("}"):
                return read

    def _key(self, pointer: str) -> tuple[str, str]:
        place = self._place()
        if self._next() != '"':
            self._refuse_foreign_sign()
            is_behind_comma = self._text[: self._at].rstrip().endswith(",")
            remedy = "Write one, or take away the comma before it." if is_behind_comma else 'Write "key": value.'
            raise self._fault(f"A key in double quotes is missing here. {remedy}")
        key = self._string()
        member = below(pointer, key)
        if member in self.keys:
            raise repeated_key(key, first=self.keys[member], again=place)
        self.keys[member] = place
        return key, member

    def _array(self, pointer: str, depth: int) -> list[Any]:
        read: list[Any] = []
        self._at += 1
        if self._takes("]"):
            return read
        while True:
            read.append(self.value(below(pointer, len(read)), depth + 1))
            if self._ends("]"):
                return read

    def _ends(self, bracket: str) -> bool:
        if self._takes(bracket):
            return True
        if not self._takes(","):
            self._refuse_foreign_sign()
            raise self._fault(f"A comma or {bracket} is missing here. Write it, and look at the quotes just above.")
        return False

    def _string(self) -> str:
        try:
            text, self._at = _DECODER.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            self._at = min(error.pos, len(self._text))
            raise self._fault(
                f"This is no text in JSON: {error.msg}. Close its quotes, escape what needs it."
            ) from None
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise self._fault("The text before this holds half a character (\\ud800 to \\udfff). Write all of it.")
        return str(text)

    def _word_or_number(self) -> Any:
        place = self._place()
        if word := _WORD.match(self._text, self._at):
            self._at = word.end()
            return _WORDS[word[0]]
        if number := _NUMBER.match(self._text, self._at):
            self._at = number.end()
            return fit_number(number[0], place)
        self._refuse_foreign_sign()
        raise self._fault("This is no value of JSON. Write a text in double quotes, a number, true, false or null.")

    def _refuse_foreign_sign(self) -> None:
        """What other languages allow, and JSON does not."""
        if self._text.startswith(("//", "/*", "#"), self._at):
            raise self._fault('JSON has no comments. Take it away, or write "$comment": "..." as a member.')
        if self._next() == "'":
            raise self._fault("JSON knows no single quotes. Write double ones.")

    def _takes(self, sign: str) -> bool:
        self._skip()
        if self._next() != sign:
            return False
        self._at += 1
        return True

    def _skip(self) -> None:
        blanks = _BLANKS.match(self._text, self._at)
        self._at = blanks.end() if blanks else self._at

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _place(self) -> Place:
        line = bisect_right(self._lines, self._at)
        return Place(line=line, column=self._at - self._lines[line - 1] + 1)

    def _fault(self, message: str) -> DocumentFault:
        return DocumentFault(PackFaultCode.SYNTAX, message, self._place())
