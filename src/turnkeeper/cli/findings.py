"""What an examination finds: that something is well, or what is wrong with it and how to mend it."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    about: str
    level: Level
    said: str
    mend: str | None = None


def well(about: str, said: str) -> Finding:
    return Finding(about=about, level=Level.OK, said=said)


def warning(about: str, said: str, mend: str) -> Finding:
    return Finding(about=about, level=Level.WARNING, said=said, mend=mend)


def fault(about: str, said: str, mend: str) -> Finding:
    return Finding(about=about, level=Level.FAULT, said=said, mend=mend)
