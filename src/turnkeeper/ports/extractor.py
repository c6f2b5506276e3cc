"""Reading a message for what is worth remembering."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from turnkeeper.model.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """`units` have provisional ids `staged::unit-NNN`. `asked` are the questions and requests, as they were said."""

    units: tuple[Unit, ...] = ()
    asked: tuple[str, ...] = ()


class Extractor(Protocol):
    def corrects(self, text: str) -> bool:
        """Whether the text seems to take back something said before, so that `known` is needed to read it."""

    def extract(self, text: str, *, known: Sequence[Unit] = ()) -> Extraction:
        """What the message says and what it asks. `known` are units that it may correct, the newest first.

        A unit that takes the place of a known one names it in `supersedes`. Reads the same text the same way always.
        """
