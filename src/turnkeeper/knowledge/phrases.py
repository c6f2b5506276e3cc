"""Phrases of a language as patterns over words, so that a rule reads like the words it finds.

A pattern is words with spaces between. `a|b` is one word or the other, `<name>` any word of that class, `!<name>` any
other word, `word?` may be missing, `un*` is any word that begins so. `~3` stands for up to three words without
punctuation between, `...` for any words of the same sentence. `^` is the begin of the text and `$` its end, also as one
of several choices; what stands behind `>` must follow and is not part of what was found. A pattern starts at a word and
looks a bounded number of words ahead, so the time to search a text grows with its length alone, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

MARKS = ",;:?!."
NUMBER = "number"
_MOST_SKIPPED = 12
_FARTHEST = 25
# How many rare words a common one weighs, when a pattern is filed under its most telling words.
_RARITY = 30
# A mark inside a token has a letter or digit behind it; everything else that is no punctuation belongs to the token.
_TOKEN = re.compile(
    r"[^\s,;:?!.\"()\[\]{}\u201c\u201d\u2026]+(?:[.,:][^\W_][^\s,;:?!.\"()\[\]{}\u201c\u201d\u2026]*)*|[,;:?!]"
)
_EDGES = "'\u2018\u2019`*_-\u2013\u2014"
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "`": "'"})


@dataclass(frozen=True, slots=True)
class Token:
    """A word as it is compared, and where it stands in the text."""

    norm: str
    start: int
    end: int

    @property
    def is_mark(self) -> bool:
        return self.norm in MARKS


@dataclass(frozen=True, kw_only=True)
class Words:
    """Some words of a text, in order."""

    text: str
    tokens: Sequence[Token]

    @cached_property
    def norms(self) -> list[str]:
        """The words as patterns see them."""
        return [token.norm for token in self.tokens]

    @cached_property
    def distinct(self) -> frozenset[str]:
        return frozenset(self.norms)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> str:
        return self.tokens[index].norm if 0 <= index < len(self.tokens) else ""

    def part(self, first: int, last: int | None = None) -> Words:
        return Words(text=self.text, tokens=self.tokens[first:last])

    @property
    def said(self) -> str:
        """As they were written."""
        return self.text[self.tokens[0].start : self.tokens[-1].end] if self.tokens else ""

    def is_title(self, index: int) -> bool:
        """Whether it is written with one capital, as in a name, and not in capitals for stress."""
        token = self.tokens[index]
        return self.text[token.start].isupper() and self.text[token.start + 1 : token.start + 2].islower()

    def is_capital(self, index: int) -> bool:
        return self.text[self.tokens[index].start].isupper()


class Phrases:
    """Some patterns, looked for at once. What starts first is found; of two that start there, the first in the list.

    Only patterns that share a telling word with the text are tried, so that hundreds of them cost little.
    """

    def __init__(
        self, patterns: Iterable[str], classes: Mapping[str, frozenset[str]], common: frozenset[str] = frozenset()
    ) -> None:
        """`common` are words that tell little. Raises ValueError with the pattern, when one cannot be read."""
        self._patterns = [_Pattern.read(pattern, classes) for pattern in patterns]
        self._by_word: dict[str, list[int]] = {}
        self._always: list[int] = []
        for number, pattern in enumerate(self._patterns):
            words = pattern.telling_words(common)
            for word in words:
                self._by_word.setdefault(word, []).append(number)
            if not words:
                self._always.append(number)

    def found_in(self, words: Words) -> bool:
        return any(
            pattern.end(words.norms, start) is not None
            for pattern in self._candidates(words)
            for start in range(1 if pattern.at_begin else len(words))
        )

    def span(self, words: Words, start: int = 0) -> tuple[int, int] | None:
        """The first words found at or after this place: which is the first of them, and which comes behind the last."""
        candidates = self._candidates(words)
        for first in range(start, len(words)) if candidates else ():
            for pattern in candidates:
                if not (pattern.at_begin and first) and (end := pattern.end(words.norms, first)) is not None:
                    return first, end
        return None

    def begin_of(self, words: Words) -> int:
        """How many words at the begin are one of these phrases; 0 for none."""
        for pattern in self._candidates(words):
            if (end := pattern.end(words.norms, 0)) is not None:
                return end
        return 0

    def _candidates(self, words: Words) -> list[_Pattern]:
        if not len(words):
            return []
        numbers = set(self._always)
        by_word = self._by_word
        for word in words.distinct:
            if word in by_word:
                numbers.update(by_word[word])
        return [self._patterns[number] for number in sorted(numbers)]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The steps of a pattern. `ahead` must follow and is not taken."""

    steps: tuple[_Step, ...]
    ahead: tuple[_Step, ...]
    at_begin: bool
    at_end: bool

    @classmethod
    def read(cls, pattern: str, classes: Mapping[str, frozenset[str]]) -> _Pattern:
        parts = pattern.split()
        at_end = bool(parts) and parts[-1] == "$"
        at_begin = bool(parts) and parts[0] == "^"
        parts = parts[at_begin : len(parts) - at_end]
        if not parts:
            raise ValueError(f"the pattern {pattern!r} has no words")
        cut = parts.index(">") if ">" in parts else len(parts)
        taken, followed = (
            tuple(_step(part, pattern, classes) for part in each) for each in (parts[:cut], parts[cut + 1 :])
        )
        return cls(taken, followed, at_begin, at_end)

    def telling_words(self, common: frozenset[str]) -> frozenset[str]:
        """Few and rare words, one of which is in every text that has this; none where any text may have it."""
        known = [words for step in (*self.steps, *self.ahead) if (words := step.needed)]
        return min(known, key=lambda words: len(words) + _RARITY * len(words & common), default=frozenset())

    def end(self, norms: Sequence[str], start: int) -> int | None:
        """Behind which word it ends, if it starts here."""
        size = len(norms)
        for position in _walk(self.steps, norms, start):
            if not self.ahead:
                if not self.at_end or position == size:
                    return position
            elif any(not self.at_end or last == size for last in _walk(self.ahead, norms, position)):
                return position
        return None


def _walk(steps: tuple[_Step, ...], norms: Sequence[str], start: int) -> list[int]:
    """Where the steps may end, the best first. Each place is kept once, so that no text makes this slow."""
    positions = [start]
    for step in steps:
        positions = step.walk(norms, positions)
        if not positions:
            break
    return positions


@dataclass(frozen=True, slots=True)
class _Word:
    """One word of some, or any that fits a form. `or_end` takes the end of the text for a word."""

    choices: tuple[frozenset[str], ...]
    forms: tuple[tuple[str, str], ...]
    other_than: tuple[frozenset[str], ...]
    number: bool
    optional: bool
    or_end: bool

    @property
    def needed(self) -> frozenset[str]:
        if self.optional or self.or_end or self.number or self.forms or self.other_than:
            return frozenset()
        return self.choices[0] if len(self.choices) == 1 else frozenset().union(*self.choices)

    def walk(self, norms: Sequence[str], positions: list[int]) -> list[int]:
        found: list[int] = []
        for position in positions:
            if position < len(norms):
                if self._fits(norms[position]) and position + 1 not in found:
                    found.append(position + 1)
            elif self.or_end and position not in found:
                found.append(position)
            if self.optional and position not in found:
                found.append(position)
        return found

    def _fits(self, word: str) -> bool:
        for choice in self.choices:
            if word in choice:
                return True
        if self.number and (word[0].isdigit() or word[1:2].isdigit()):
            return True
        for begin, end in self.forms:
            if word.startswith(begin) and word.endswith(end) and len(word) >= len(begin) + len(end):
                return True
        return any(word not in choice and word not in MARKS for choice in self.other_than)


@dataclass(frozen=True, slots=True)
class _Skip:
    """Up to so many words. `far` passes marks too and takes as few as it can, otherwise as many as it can."""

    most: int
    far: bool

    @property
    def needed(self) -> frozenset[str]:
        return frozenset()

    def walk(self, norms: Sequence[str], positions: list[int]) -> list[int]:
        found: dict[int, None] = {}
        for position in positions:
            last = min(len(norms), position + self.most)
            if self.far:
                found.update(dict.fromkeys(range(position, last + 1)))
                continue
            end = position
            while end < last and norms[end] not in MARKS:
                end += 1
            found.update(dict.fromkeys(range(end, position - 1, -1)))
        return list(found)


_Step = _Word | _Skip


def _step(part: str, pattern: str, classes: Mapping[str, frozenset[str]]) -> _Step:
    if part == "...":
        return _Skip(_FARTHEST, far=True)
    if part.startswith("~"):
        if not part[1:].isdigit() or not 0 < int(part[1:]) <= _MOST_SKIPPED:
            raise ValueError(f"{part!r} in the pattern {pattern!r} must be ~1 to ~{_MOST_SKIPPED}")
        return _Skip(int(part[1:]), far=False)
    optional = len(part) > 1 and part.endswith("?")
    plain: list[str] = []
    named: list[frozenset[str]] = []
    forms: list[tuple[str, str]] = []
    other_than: list[frozenset[str]] = []
    number = or_end = False
    for choice in part[: len(part) - optional].split("|"):
        if not choice:
            raise ValueError(f"the pattern {pattern!r} has an empty choice")
        if choice == f"<{NUMBER}>":
            number = True
        elif choice == "$":
            or_end = True
        elif choice.startswith("!<"):
            other_than.append(_class(choice[1:], pattern, classes))
        elif choice.startswith("<") and choice.endswith(">"):
            named.append(_class(choice, pattern, classes))
        elif "*" in choice:
            begin, _, end = choice.partition("*")
            forms.append((begin, end))
        else:
            plain.append(choice)
    choices = (frozenset(plain), *named) if plain else tuple(named)
    return _Word(choices, tuple(forms), tuple(other_than), number, optional, or_end)


def _class(choice: str, pattern: str, classes: Mapping[str, frozenset[str]]) -> frozenset[str]:
    if choice[1:-1] not in classes:
        raise ValueError(f"the pattern {pattern!r} names the class {choice}, which the language does not have")
    return classes[choice[1:-1]]


class Tokenizer:
    """Cuts a text into words: short forms are taken apart ("it's" is two words), sloppy ones are mended."""

    def __init__(self, endings: Iterable[str], spellings: Mapping[str, str]) -> None:
        self._endings = tuple(sorted(endings, key=len, reverse=True))
        self._spellings = {word: tuple(meant.split()) for word, meant in spellings.items()}

    def words(self, text: str, start: int = 0, end: int | None = None) -> Words:
        tokens: list[Token] = []
        for found in _TOKEN.finditer(text, start, len(text) if end is None else end):
            tokens += self._tokens(found[0], found.start())
        return Words(text=text, tokens=tokens)

    def _tokens(self, written: str, start: int) -> list[Token]:
        kept = written.lstrip(_EDGES)
        start += len(written) - len(kept)
        kept = kept.rstrip(_EDGES)
        if not kept:
            return []
        norm = kept.casefold().translate(_APOSTROPHES)
        end = start + len(kept)
        if norm in self._spellings:
            return [Token(each, start, end) for each in self._spellings[norm]]
        ending = next((each for each in self._endings if norm.endswith(each) and len(norm) > len(each)), None)
        # Folding may change the length of a word; then its parts have no place of their own.
        if ending is None or len(norm) != len(kept):
            return [Token(norm, start, end)]
        cut = end - len(ending)
        return [Token(norm[: -len(ending)], start, cut), Token(ending, cut, end)]
