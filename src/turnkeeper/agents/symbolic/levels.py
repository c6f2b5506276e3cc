"""How hard a turn thinks: from taking the first answer to comparing several."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Answers of two `families` differ in who gave them or in what they rest on. `floor` is how strong one must be."""

    number: int
    closure: str
    candidates: int
    families: int
    comparisons: int
    floor: str


LEVELS = (
    Level(number=0, closure="first-valid", candidates=1, families=1, comparisons=0, floor="sufficient"),
    Level(number=1, closure="best-effort", candidates=2, families=1, comparisons=1, floor="sufficient"),
    Level(number=2, closure="comparative", candidates=4, families=2, comparisons=2, floor="sufficient"),
    Level(number=3, closure="scientific", candidates=6, families=2, comparisons=4, floor="strong"),
)
