"""Where a message is cut: into passages, and these into sentences.

Code blocks and quoted lines are not what the writer says, and are left out. Under a heading such as "Questions:" every
line is a question. Steps of a numbered list that are all orders belong together.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from turnkeeper.knowledge.grammar import Grammar

_FENCE = re.compile(r"\s*(?:```|~~~)")
_BULLET = re.compile(r"\s*(?:[-*\u2022\u2013]|(?P<number>\d{1,3}[.)]|\(\d{1,3}\)))[ \t]+")
# Possessive, and begun only where no mark stands before, so that a long row of marks is looked at once.
_END = re.compile(r"(?<![.!?\u2026])[.!?\u2026]++[\"')\]\u201d\u2019]*+(?=\s|$)")
_LONGEST_ABBREVIATION = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A piece of the message. `mark` is what it ends with. `heads` is true where more lines hang below it."""

    start: int
    end: int
    mark: str = ""
    asked: bool = False
    heads: bool = False
    steps: bool = False
    passage: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """One or several lines that are read as one; `number` is set for an item of a numbered list."""

    start: int
    end: int
    bullet: bool = False
    number: bool = False
    steps: bool = False


def sentences(text: str, grammar: Grammar) -> Iterator[Sentence]:
    asked = False
    for index, passage in enumerate(_with_steps_joined(text, passages(text), grammar)):
        start = passage.start
        if passage.steps and not asked:
            yield Sentence(start=start, end=passage.end, steps=True, passage=index)
            continue
        if not asked and (header := _question_header(text, passage, grammar)):
            asked, start = True, header
        for first, last, mark in _pieces(text, start, passage.end, grammar):
            heads = text[last - 1] == ":" if last > first else False
            yield Sentence(start=first, end=last, mark=mark, asked=asked, heads=heads, passage=index)


def passages(text: str) -> Iterator[Passage]:
    """Lines, and lines that go on in the next one."""
    fenced = False
    open_: Passage | None = None
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        said = line.strip()
        is_fence = _FENCE.match(line) is not None
        fenced ^= is_fence
        if fenced or is_fence or not said or said[0] == ">":
            if open_ is not None:
                yield open_
            open_ = None
            continue
        bullet = _BULLET.match(line)
        begin = start + (bullet.end() if bullet else len(line) - len(line.lstrip()))
        end = start + len(line.rstrip())
        if open_ is not None and not bullet and said[0].islower() and text[open_.end - 1] not in ".!?:":
            open_ = Passage(open_.start, end, open_.bullet, open_.number)
            continue
        if open_ is not None:
            yield open_
        open_ = Passage(begin, end, bullet is not None, bullet is not None and bullet["number"] is not None)
    if open_ is not None:
        yield open_


def _with_steps_joined(text: str, lines: Iterator[Passage], grammar: Grammar) -> Iterator[Passage]:
    """Numbered items in a row that all begin with an order become one passage."""
    row: list[Passage] = []
    for passage in lines:
        if passage.number and grammar.read(text, passage.start, min(passage.end, passage.start + 40))[
            0
        ] in grammar.words("order"):
            row.append(passage)
            continue
        yield from _joined(row)
        row = []
        yield passage
    yield from _joined(row)


def _joined(row: list[Passage]) -> list[Passage]:
    return [Passage(row[0].start, row[-1].end, steps=True)] if len(row) > 1 else row


def _question_header(text: str, passage: Passage, grammar: Grammar) -> int:
    """Where the questions begin, when this passage says that questions follow; 0 otherwise."""
    colon = text.find(":", passage.start, min(passage.end, passage.start + 80))
    if colon < 0:
        return 0
    return colon + 1 if grammar.question_header.begin_of(grammar.read(text, passage.start, colon)) else 0


def _pieces(text: str, start: int, end: int, grammar: Grammar) -> Iterator[tuple[int, int, str]]:
    for found in _END.finditer(text, start, end):
        if found.end() < end and _is_abbreviation(text, start, found.start(), found[0], found.end(), grammar):
            continue
        yield from _piece(text, start, found.end(), _mark(found[0]))
        start = found.end()
    yield from _piece(text, start, end, "")


def _piece(text: str, start: int, end: int, mark: str) -> Iterator[tuple[int, int, str]]:
    kept = text[start:end]
    start += len(kept) - len(kept.lstrip())
    if kept.strip():
        yield start, start + len(kept.strip()), mark


def _mark(ending: str) -> str:
    return "?" if "?" in ending else "!" if "!" in ending else "."


def _is_abbreviation(text: str, start: int, point: int, ending: str, behind: int, grammar: Grammar) -> bool:
    """Whether the point belongs to the word before it rather than to the sentence."""
    if ending[0] != "." or len(ending) > 1:
        return False
    before = text[max(start, point - _LONGEST_ABBREVIATION) : point].split()
    word = before[-1].lstrip("(\"'") if before else ""
    norm = word.casefold()
    if norm in grammar.ending_abbreviations:
        return not text[behind : behind + 2].strip()[:1].isupper()
    return norm in grammar.abbreviations or (
        len(word) == 1 and word.isupper() and word.casefold() not in grammar.words("speaker")
    )
