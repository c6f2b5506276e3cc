"""Cutting a text into statements, one a line: an id, a command and its arguments.

Lines end at LF and nowhere else, and white space is space and tab: U+2028, U+0085 or a no-break space are letters like
any other, so that a text means the same whichever editor or language reads it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from turnkeeper.knowledge.text_form.faults import Fault, FaultCode, clipped, refusal_of, shown

WHITE = " \t"
_ID = re.compile(r"@[A-Za-z0-9_:-]+")
_NEXT = re.compile(
    r"""[ \t]*+(?:
        (?P<string> "[^"\\]*+(?:\\.[^"\\]*+)*+" )
      | (?P<bracket> [\[\]] )
      | (?P<word> [^ \t\[\]"][^ \t\[\]]*+ )
      | (?P<open_string> " )
    )""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")
_MEANT = {"n": "\n", "t": "\t", "r": "\r"}
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r"})


class Written(StrEnum):
    """How an argument is written."""

    ATOM = "a bare word"
    STRING = "a text in quotes"
    REFERENCE = "a reference such as $k1"
    LIST = "a list in brackets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """`text` is what it says: of a string without quotes and escapes, of a reference without the dollar."""

    written: Written
    text: str
    column: int
    items: tuple["Argument", ...] = ()


_NO_COMMAND = Argument(written=Written.STRING, text="", column=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    name: str
    command: str
    arguments: tuple[Argument, ...]
    line: int
    column: int
    command_column: int


def statements_in(text: str) -> Iterator[Statement]:
    """Raises UnitTextInvalid at the first line that is no statement."""
    for number, line in enumerate(text.replace("\r", "").split("\n"), start=1):
        if line.strip(WHITE):
            yield _statement_in(line, number)


def quoted(text: str) -> str:
    """A text as a string of the language; reading it gives the same text again."""
    return f'"{text.translate(_ESCAPES)}"'


def _statement_in(line: str, number: int) -> Statement:
    start = len(line) - len(line.lstrip(WHITE))
    word = re.split(r"[ \t]", line[start:], maxsplit=1)[0]
    if not _ID.fullmatch(word):
        raise _refused(
            FaultCode.INVALID_STATEMENT_ID,
            number,
            start,
            f"A line begins with a statement id such as @k1 (letters, digits, _ - :), not with {shown(word)}.",
        )
    command, *arguments = _arguments_in(line, number, start + len(word)) or [_NO_COMMAND]
    if command.written is not Written.ATOM:
        at = max(command.column - 1, start + len(word))
        message = f"After {clipped(word)} comes a command, such as ku or set."
        raise _refused(FaultCode.MALFORMED_LINE, number, at, message)
    return Statement(
        name=word[1:],
        command=command.text,
        arguments=tuple(arguments),
        line=number,
        column=start + 1,
        command_column=command.column,
    )


def _arguments_in(line: str, number: int, start: int) -> list[Argument]:
    arguments: list[Argument] = []
    items: list[Argument] = []
    opened: int | None = None
    while found := _NEXT.match(line, start):
        at, start = found.start(found.lastgroup or 0), found.end()
        if found["open_string"]:
            raise _refused(
                FaultCode.MALFORMED_LINE,
                number,
                at,
                r"This text in quotes has no end on its line. Write a line break as \n and a quote as \".",
            )
        if not found["bracket"]:
            (arguments if opened is None else items).append(_argument(found, number, at))
        elif (found["bracket"] == "[") != (opened is None):
            wrong = "A list cannot hold a list." if opened is not None else "This bracket closes no list."
            raise _refused(FaultCode.MALFORMED_LINE, number, at, f"{wrong} Put text with brackets in quotes.")
        elif opened is None:
            opened = at
        else:
            arguments.append(Argument(written=Written.LIST, text="", column=opened + 1, items=tuple(items)))
            items, opened = [], None
    if opened is not None:
        raise _refused(FaultCode.MALFORMED_LINE, number, opened, "This list has no end. Close it with ] on its line.")
    return arguments


def _argument(found: re.Match[str], number: int, at: int) -> Argument:
    if found["string"]:
        text = found["string"][1:-1]
        if "\\" in text:
            text = _ESCAPED.sub(lambda escape: _MEANT.get(escape[1], escape[1]), text)
        return Argument(written=Written.STRING, text=text, column=at + 1)
    word = found["word"]
    if word.startswith("@"):
        raise _refused(
            FaultCode.INVALID_ARGUMENT_KIND,
            number,
            at,
            f"{shown(word)} is an argument here. Refer to a statement as ${clipped(word[1:])}, or "
            " put the text in quotes.",
        )
    if word.startswith("$"):
        return Argument(written=Written.REFERENCE, text=word[1:], column=at + 1)
    return Argument(written=Written.ATOM, text=word, column=at + 1)


def _refused(code: FaultCode, line: int, at: int, message: str) -> Exception:
    return refusal_of([Fault(code=code, line=line, column=at + 1, message=message)])
