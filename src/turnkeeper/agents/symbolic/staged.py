"""Units of this turn: they count as known at once, and what they correct no longer does."""

from collections.abc import Iterable, Sequence

from turnkeeper.model.names import content_hash, name_key
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit
from turnkeeper.model.unit import Unit


def as_found(units: Iterable[Unit]) -> list[FoundUnit]:
    return [FoundUnit(unit=unit, place=SESSION_PLACE, score=1.0) for unit in units if unit.is_evidence]


def still_true(found: Iterable[FoundUnit], staged: Sequence[Unit]) -> list[FoundUnit]:
    """Without what this turn corrects or says again."""
    gone = {unit.supersedes for unit in staged if unit.supersedes}
    slots = {name_key(unit.slot) for unit in staged if unit.slot}
    hashes = {unit.hash or content_hash(unit) for unit in staged}
    return [
        each
        for each in found
        if each.unit.id not in gone
        and not (each.place == SESSION_PLACE and each.unit.slot and name_key(each.unit.slot) in slots)
        and (each.unit.hash or content_hash(each.unit)) not in hashes
    ]
