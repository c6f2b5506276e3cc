"""Sentences with optional parts, alternatives and slots, matched as they are written: nothing is ever multiplied out.

`[please] (play|start) {song}`: brackets may be left out, bars separate alternatives, braces name a slot that takes one
word or more. How long a match takes grows with the length of a template and of an utterance, never with the number of
sentences that a template stands for.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from turnkeeper.bus.pipeline.words import Words, folded

MOST_CHARACTERS = 1000
MOST_DEPTH = 16
MOST_SPELLINGS = 64
MOST_SLOTS = 8
MOST_WORDS = 64
"""An utterance with more words than this is no command, and is matched by no template."""

_TOKEN = re.compile(r"\{\s*([\w.-]+)\s*\}|([()\[\]|])|(\s+)|([^()\[\]|{}\s]+)|([{}])")


class MalformedTemplate(ValueError):
    """A template that cannot be read, or that anything at all would match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a template fits: how many words it names itself, and which its slots took, as (slot, first word, end)."""

    literal: int = 0
    slots: tuple[tuple[str, int, int], ...] = ()

    def then(self, other: "Found") -> "Found":
        return Found(literal=self.literal + other.literal, slots=(*self.slots, *other.slots))


Ends = dict[int, Found]
"""Where a part may end, with the best way to get there: the one that leaves the fewest words to slots."""


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    parts: "tuple[Part, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    parts: "tuple[Part, ...]"


Part = Word | Slot | Sequence | Choice
NOTHING = Sequence(())


@dataclass(frozen=True, kw_only=True)
class Template:
    """Raises MalformedTemplate."""

    text: str
    part: Part = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.text) > MOST_CHARACTERS:
            raise MalformedTemplate(f"a template has {MOST_CHARACTERS} characters at most")
        object.__setattr__(self, "part", _Reader(self.text).whole())
        if sum(1 for _ in _slots_in(self.part)) > MOST_SLOTS:
            raise MalformedTemplate(f"a template has {MOST_SLOTS} slots at most")
        if not _words_needed(self.part):
            raise MalformedTemplate("a template needs a word that must be said, or it would match anything")

    @cached_property
    def slots(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_slots_in(self.part)))

    @cached_property
    def needed(self) -> frozenset[str]:
        """Words without which it cannot match; empty if it depends."""
        return _always(self.part)

    def match(self, words: Words) -> Found | None:
        """How it fits the whole of what was said, or None."""
        count = len(words.folded)
        if count > MOST_WORDS or not self.needed <= words.known:
            return None
        return _Matching(words).ends(self.part, 0).get(count)

    def occurs_in(self, words: Words) -> tuple[int, int] | None:
        """Where it stands in what was said: the longest first occurrence, as (first word, end)."""
        if len(words.folded) > MOST_WORDS or not self.needed <= words.known:
            return None
        matching = _Matching(words)
        for start in range(len(words.folded)):
            if ends := matching.ends(self.part, start):
                return start, max(ends)
        return None


def values(found: Found, words: Words) -> dict[str, str]:
    """What the slots hold, as it was said; of two with one name the first counts."""
    taken: dict[str, str] = {}
    for name, first, end in found.slots:
        taken.setdefault(name, words.between(first, end))
    return taken


class _Matching:
    """One template against one utterance; no part is tried twice at one place."""

    def __init__(self, words: Words) -> None:
        self._words = words.folded
        self._known: dict[tuple[int, int], Ends] = {}

    def ends(self, part: Part, start: int) -> Ends:
        key = id(part), start
        if key not in self._known:
            self._known[key] = self._ends(part, start)
        return self._known[key]

    def _ends(self, part: Part, start: int) -> Ends:
        if isinstance(part, Word):
            fits = start < len(self._words) and self._words[start] == part.text
            return {start + 1: Found(literal=1)} if fits else {}
        if isinstance(part, Slot):
            ends = range(start + 1, len(self._words) + 1)
            return {end: Found(slots=((part.name, start, end),)) for end in ends}
        if isinstance(part, Choice):
            found: Ends = {}
            for each in part.parts:
                _keep_best(found, self.ends(each, start))
            return found
        reached: Ends = {start: Found()}
        for each in part.parts:
            further: Ends = {}
            for place, before in reached.items():
                _keep_best(further, {end: before.then(after) for end, after in self.ends(each, place).items()})
            reached = further
        return reached


def _keep_best(found: Ends, more: Mapping[int, Found]) -> None:
    for end, way in more.items():
        if end not in found or way.literal > found[end].literal:
            found[end] = way


def _words_needed(part: Part) -> int:
    """How many words must be said at least, besides those in slots."""
    if isinstance(part, Word):
        return 1
    if isinstance(part, Slot):
        return 0
    counts = [_words_needed(each) for each in part.parts]
    return min(counts) if isinstance(part, Choice) else sum(counts)


def _always(part: Part) -> frozenset[str]:
    if isinstance(part, Word):
        return frozenset({part.text})
    if isinstance(part, Slot):
        return frozenset()
    inside = [_always(each) for each in part.parts]
    return frozenset.intersection(*inside) if isinstance(part, Choice) else frozenset().union(*inside)


def _slots_in(part: Part) -> Iterator[str]:
    if isinstance(part, Slot):
        yield part.name
    elif not isinstance(part, Word):
        for each in part.parts:
            yield from _slots_in(each)


class _Reader:
    """Reads a template. Where text touches a group, as in `light[s]`, the spellings of that one word are listed."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_TOKEN.finditer(text))
        self._next = 0

    def whole(self) -> Part:
        part = self._choice(closing="", depth=0)
        if self._next < len(self._tokens):
            raise MalformedTemplate("a bracket is closed that was never opened")
        return part

    def _choice(self, *, closing: str, depth: int) -> Part:
        if depth > MOST_DEPTH:
            raise MalformedTemplate(f"groups are nested {MOST_DEPTH} deep at most")
        options = [self._sequence(depth)]
        while self._peek() == "|" and closing:
            self._next += 1
            options.append(self._sequence(depth))
        if closing:
            if self._peek() != closing:
                raise MalformedTemplate("a bracket is never closed")
            self._next += 1
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _peek(self) -> str:
        return self._tokens[self._next].group() if self._next < len(self._tokens) else ""

    def _sequence(self, depth: int) -> Part:
        parts: list[Part] = []
        touching: list[Part | str] = []
        while self._next < len(self._tokens):
            slot, bracket, space, text, stray = self._tokens[self._next].groups()
            if stray or (bracket == "|" and depth == 0):
                raise MalformedTemplate(f"{stray or bracket!r} stands alone")
            if bracket in (")", "]", "|"):
                break
            self._next += 1
            if space:
                parts.extend(_together(touching))
                touching = []
            elif text:
                touching.append(text)
            elif slot:
                parts.extend(_together(touching))
                parts.append(Slot(slot))
                touching = []
            elif bracket == "(":
                touching.append(self._choice(closing=")", depth=depth + 1))
            else:
                touching.append(Choice((self._choice(closing="]", depth=depth + 1), NOTHING)))
        parts.extend(_together(touching))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _together(touching: list[Part | str]) -> list[Part]:
    if not any(isinstance(each, str) for each in touching):
        return [each for each in touching if not isinstance(each, str)]
    if len(touching) == 1:
        return _spelled(str(touching[0]))
    spellings = [""]
    for each in touching:
        endings = [each] if isinstance(each, str) else _spellings(each)
        spellings = [f"{start}{ending}" for start in spellings for ending in endings]
        if len(spellings) > MOST_SPELLINGS:
            raise MalformedTemplate(f"a word is spelled in {MOST_SPELLINGS} ways at most; set groups apart by spaces")
    return [Choice(tuple(Sequence(tuple(_spelled(each))) for each in dict.fromkeys(spellings)))]


def _spelled(text: str) -> list[Part]:
    return [Word(each) for each in folded(text)]


def _spellings(part: Part) -> list[str]:
    if isinstance(part, Word):
        return [part.text]
    if isinstance(part, Slot):
        raise MalformedTemplate("a slot in a group that touches a word cannot be told from it; use a space")
    if isinstance(part, Choice):
        found = [each for option in part.parts for each in _spellings(option)]
    else:
        found = [""]
        for each in part.parts:
            found = [f"{start} {ending}".strip() for start in found for ending in _spellings(each)]
            if len(found) > MOST_SPELLINGS:
                break
    if len(found) > MOST_SPELLINGS:
        raise MalformedTemplate(f"a word is spelled in {MOST_SPELLINGS} ways at most; set groups apart by spaces")
    return found
