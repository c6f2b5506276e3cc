"""The work that every contender is given: what one turn says, answers and remembers."""

import random
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WINDOW = 20
TEXT_CHARS = 400
STATE_BYTES = 500
TURN_CHARS = 2 * TEXT_CHARS


def _filler(seed: int, length: int) -> str:
    """Letters that no database can compress: text that repeats flatters whoever keeps it many times."""
    return "".join(random.Random(seed).choices(string.ascii_letters + "     ", k=length))


_ASKED = [_filler(seed, TEXT_CHARS) for seed in range(61)]
_ANSWERED = [_filler(1000 + seed, TEXT_CHARS) for seed in range(59)]
_NOTES = [_filler(2000 + seed, STATE_BYTES - 30) for seed in range(53)]


def saying(tag: str, number: int) -> str:
    """What the user says, 400 characters that begin with the tag."""
    return f"{tag}|{_ASKED[number % len(_ASKED)]}"[:TEXT_CHARS]


def answer_to(said: str) -> str:
    """400 characters that begin with the tag of what they answer."""
    return f"{tag_of(said)}|{_ANSWERED[len(said) * 7 % len(_ANSWERED)]}"[:TEXT_CHARS]


def tag_of(text: str) -> str:
    return text.split("|", 1)[0]


def state_after(counter: int) -> dict[str, Any]:
    """About 500 bytes as JSON, different in each turn."""
    return {"counter": counter + 1, "notes": _NOTES[counter % len(_NOTES)]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a contender keeps its data: a folder of its own, and an empty PostgreSQL database if it needs one.

    `quiet` asks for as little upkeep as possible, so that what is counted belongs to turns.
    """

    folder: Path
    dsn: str | None = None
    quiet: bool = False

    @property
    def file(self) -> Path:
        return self.folder / "sessions.db"

    @property
    def server(self) -> str:
        assert self.dsn is not None, "this contender needs a PostgreSQL server"
        return self.dsn
