"""An utterance as words: where each stands, and how it reads without case."""

import re
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class Words:
    """What was said, cut into words. What lies between two of them is in no word, but in the text of both."""

    text: str

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        return tuple(found.span() for found in _WORD.finditer(self.text))

    @cached_property
    def folded(self) -> tuple[str, ...]:
        return tuple(self.text[start:end].casefold() for start, end in self.spans)

    @cached_property
    def known(self) -> frozenset[str]:
        return frozenset(self.folded)

    def between(self, first: int, end: int) -> str:
        """The text from one word up to another, as it was said."""
        return self.text[self.spans[first][0] : self.spans[end - 1][1]]


MOST_CHARACTERS = 4_096
"""Whoever says more than this says it to nobody who looks for words."""


def folded(text: str) -> tuple[str, ...]:
    return Words(text=text).folded
