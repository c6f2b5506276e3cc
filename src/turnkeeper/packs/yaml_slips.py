"""What a slip in YAML was, in words of the writer, who has not read how YAML is parsed."""

import re
from typing import Any

import yaml

from turnkeeper.packs.documents import DocumentFault
from turnkeeper.packs.faults import START, PackFaultCode, Place

ESCAPES = (
    "In double quotes a backslash begins a sign of its own, such as \\n. Put the text in single quotes, or in none, "
    "where a backslash is a backslash."
)

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_KEY = re.compile(r"\s*(?:- +)*[^\s:'\"{\[][^:]*:\s+")
_OPEN_TEXT = "A text that begins with {sign} ends with its partner, and something stands behind that. "


def slip(text: str, error: yaml.MarkedYAMLError) -> DocumentFault:
    """Why this text is no YAML, at the place where it is put right."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return DocumentFault(PackFaultCode.SYNTAX, _in_general(error), START)
    lines = _BREAK.split(text)
    line = lines[mark.line] if mark.line < len(lines) else ""
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent:
        message = "There is a tab in the indent of this line. Use blanks."
        return _fault(message, mark.line, indent.index("\t"))
    told = _of_scanner(error, line, mark) or _of_parser(error, line, lines, mark)
    return told or _fault(_in_general(error), mark.line, mark.column)


def _of_scanner(error: yaml.MarkedYAMLError, line: str, mark: Any) -> DocumentFault | None:
    """What is wrong with single words and signs."""
    problem, begun = error.problem or "", error.context_mark
    if "escape" in problem:
        return _fault(f"This is no such sign. {ESCAPES}", mark.line, mark.column)
    if "cannot start any token" in problem:
        message = f"A text cannot begin with {line[mark.column : mark.column + 1]}. Put the text in quotes."
        return _fault(message, mark.line, mark.column)
    if "end of stream" in problem and begun:
        return _fault("The quotes that begin here are not closed. Close them.", begun.line, begun.column)
    if "expected ':'" in problem and begun:
        message = "There is no colon in this line. Write it as `key: value`; indent it further if it goes on a text."
        return _fault(message, begun.line, begun.column)
    return None


def _of_parser(error: yaml.MarkedYAMLError, line: str, lines: list[str], mark: Any) -> DocumentFault | None:
    """What is wrong with how lines, lists and mappings stand to each other."""
    problem, context = error.problem or "", error.context or ""
    is_first = not line[: mark.column].strip()
    key = _KEY.match(line[: mark.column])
    message = None
    if "flow" in context:
        message = (
            "The brackets here or just above are not closed, or lack a comma. Close them; put a text that begins with "
            "a bracket in quotes."
        )
    elif "mapping values" in problem:
        message = _of_colon(lines, mark, in_text=key is not None)
    elif "sequence entries" in problem:
        message = "A list begins in a line of its own, and a text cannot begin with '- '. Put the text in quotes."
    elif key and ("expected key" in problem or "mapping keys" in problem):
        message = _of_rest(line[key.end()])
    elif is_first and "expected '-'" in problem:
        message = "The lines above are a list. Begin this one with '- ', or give it the indent of what it belongs to."
    elif is_first and "expected key" in problem:
        message = "The indent of this line is that of no line above it that it can belong to. Give it the same."
    return _fault(message, mark.line, mark.column) if message else None


def _of_colon(lines: list[str], mark: Any, *, in_text: bool) -> str:
    if in_text:
        return "A colon with a blank behind it stands inside a text. Put the text in quotes."
    above = next((line for line in reversed(lines[: mark.line]) if line.strip()), "")
    if ":" not in above:
        return "There is no colon in the line above. Write it as `key: value`."
    return "This line is indented further than the one above, which has its value already. Give it the same indent."


def _of_rest(sign: str) -> str | None:
    """`sign` is what the value began with, before it ended too early."""
    if sign in "{[":
        return f"{_OPEN_TEXT.format(sign=sign)}Put the text in quotes, all of it."
    if sign in "'\"":
        return f"{_OPEN_TEXT.format(sign=sign)}Put all of it in other quotes" + (
            ", or write '' for a single one inside." if sign == "'" else ', or write \\" for one inside.'
        )
    return None


def _in_general(error: yaml.MarkedYAMLError) -> str:
    said = " ".join(part for part in (error.context, error.problem) if part)
    return f"This is no YAML: {said}. Look at the indent, colons, quotes and brackets here and just above."


def _fault(message: str, line: int, column: int) -> DocumentFault:
    return DocumentFault(PackFaultCode.SYNTAX, message, Place(line=line + 1, column=column + 1))
