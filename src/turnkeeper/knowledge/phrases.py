"""Phrases of a language as patterns over words, so that a rule reads like the words it finds.

A pattern is words with spaces between. `a|b` is one word or the other, `<name>` any word of that class, `!<name>` any
other word, `word?` may be missing, `un*` is any word that begins so. `~3` stands for up to three words without
punctuation between, `...` for any words of the same sentence. `^` is the begin of the text and `$` its end; what stands
behind `>` must follow and is not part of what was found. A pattern starts at a word and looks a bounded number of words
ahead, so the time to search a text grows with its length alone, whatever the text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

MARKS = ",;:?!."
NUMBER = "number"
_MOST_SKIPPED = 12
_FARTHEST = 25
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
    def line(self) -> str:
        """The words as patterns see them: each with one space before it, and one behind the last."""
        return "".join(f" {token.norm}" for token in self.tokens) + " "

    @cached_property
    def offsets(self) -> list[int]:
        offsets, at = [], 0
        for token in self.tokens:
            offsets.append(at)
            at += len(token.norm) + 1
        return offsets

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> str:
        return self.tokens[index].norm if 0 <= index < len(self.tokens) else ""

    def part(self, first: int, last: int | None = None) -> "Words":
        return Words(text=self.text, tokens=self.tokens[first:last])

    @property
    def said(self) -> str:
        """As they were written."""
        return self.text[self.tokens[0].start : self.tokens[-1].end] if self.tokens else ""

    def is_capital(self, index: int) -> bool:
        return self.text[self.tokens[index].start].isupper()

    def index_at(self, offset: int) -> int:
        """Which word stands at this place of `line`."""
        return bisect_left(self.offsets, offset)


class Phrases:
    """Some patterns, looked for at once."""

    def __init__(self, patterns: Iterable[str], classes: Mapping[str, Iterable[str]]) -> None:
        compiled = [_compiled(pattern, classes) for pattern in patterns]
        # Without patterns, one that never matches.
        self._pattern = re.compile("|".join(f"(?:{each})" for each in compiled) if compiled else r"(?!)")

    def found_in(self, words: Words) -> bool:
        return self._pattern.search(words.line) is not None

    def span(self, words: Words, start: int = 0) -> tuple[int, int] | None:
        """The first words found at or after this place: which is the first of them, and which comes behind the last."""
        if start >= len(words):
            return None
        found = self._pattern.search(words.line, words.offsets[start])
        return (words.index_at(found.start()), words.index_at(found.end())) if found else None

    def begin_of(self, words: Words) -> int:
        """How many words at the begin are one of these phrases; 0 for none."""
        found = self._pattern.match(words.line)
        return words.index_at(found.end()) if found else 0


def _compiled(pattern: str, classes: Mapping[str, Iterable[str]]) -> str:
    """Raises ValueError with the pattern, when it cannot be read."""
    parts = pattern.split()
    anchored_end = bool(parts) and parts[-1] == "$"
    anchored_begin = bool(parts) and parts[0] == "^"
    parts = parts[anchored_begin : len(parts) - anchored_end]
    if not parts:
        raise ValueError(f"the pattern {pattern!r} has no words")
    taken, _, followed = " ".join(parts).partition(" > ")
    made = "".join(_compiled_word(part, pattern, classes) for part in taken.split())
    ahead = "".join(_compiled_word(part, pattern, classes) for part in followed.split())
    end = r"(?= $)" if anchored_end else "(?= )"
    return ("^" if anchored_begin else "") + made + (f"(?={ahead}{end})" if ahead else end)


def _compiled_word(part: str, pattern: str, classes: Mapping[str, Iterable[str]]) -> str:
    if part == "...":
        return rf"(?: [^ ]+){{0,{_FARTHEST}}}?"
    if part.startswith("~"):
        if not part[1:].isdigit() or not 0 < int(part[1:]) <= _MOST_SKIPPED:
            raise ValueError(f"{part!r} in the pattern {pattern!r} must be ~1 to ~{_MOST_SKIPPED}")
        return rf"(?: (?![,;:?!] )[^ ]+){{0,{part[1:]}}}"
    optional = len(part) > 1 and part.endswith("?")
    choices = [_choice(choice, pattern, classes) for choice in part[: len(part) - optional].split("|")]
    return f"(?: (?:{'|'.join(choices)})(?= )){'?' if optional else ''}"


def _choice(choice: str, pattern: str, classes: Mapping[str, Iterable[str]]) -> str:
    if not choice:
        raise ValueError(f"the pattern {pattern!r} has an empty choice")
    if choice.startswith("!<"):
        return rf"(?!(?:{_choice(choice[1:], pattern, classes)}) )(?![,;:?!] )[^ ]+"
    if choice == f"<{NUMBER}>":
        return r"[^ ]?\d[^ ]*"
    if choice.startswith("<") and choice.endswith(">"):
        if choice[1:-1] not in classes:
            raise ValueError(f"the pattern {pattern!r} names the class {choice}, which the language does not have")
        # Longest first, so that "can not" is not taken for "can".
        return "|".join(re.escape(word) for word in sorted(classes[choice[1:-1]], key=lambda word: (-len(word), word)))
    return "[^ ]*".join(re.escape(piece) for piece in choice.split("*"))


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
