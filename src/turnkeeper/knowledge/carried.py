"""Finding units among those that a client carries."""

from collections.abc import Collection, Sequence

from turnkeeper.model.ids import UnitId
from turnkeeper.model.names import content_hash, name_key
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit
from turnkeeper.model.unit import PhaseScope, Unit
from turnkeeper.ports.units import KnownUnits, UnitView
from turnkeeper.wording import asked_words, weighed_words


class CarriedUnits:
    """A UnitReader over units that are at hand, oldest first. It knows no knowledge bases and no other sessions."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = tuple(units)

    async def search(
        self, view: UnitView, words: Sequence[str], *, scope: PhaseScope, limit: int
    ) -> Sequence[FoundUnit]:
        asked = asked_words(words)
        found: list[tuple[int, int, Unit]] = []
        for unit in reversed(self._units):
            if scope in unit.phase_scopes:
                weights = weighed_words(unit)
                counts = [weights[word] for word in asked if word in weights]
                found.append((sum(counts), len(counts), unit))
        # Sorting keeps the order of what is alike: the newest first.
        best = sorted(found, key=lambda each: (-each[0], -each[1]))[:limit]
        return [FoundUnit(unit=unit, place=SESSION_PLACE, score=score) for score, _, unit in best if score > 0]

    async def guidance(self, view: UnitView, scope: PhaseScope, *, limit: int) -> Sequence[FoundUnit]:
        guiding = [unit for unit in reversed(self._units) if unit.guides(scope)]
        return [FoundUnit(unit=unit, place=SESSION_PLACE, score=1.0) for unit in guiding[:limit]]

    async def about(self, view: UnitView, keys: Collection[str], *, limit: int) -> Sequence[FoundUnit]:
        found = [
            unit
            for unit in reversed(self._units)
            if unit.subject and unit.object and (name_key(unit.subject) in keys or name_key(unit.object) in keys)
        ]
        return [FoundUnit(unit=unit, place=SESSION_PLACE, score=1.0) for unit in found[:limit]]

    async def newest(self, view: UnitView, *, limit: int) -> Sequence[Unit]:
        return self._units[::-1][:limit]

    async def known(
        self,
        view: UnitView,
        *,
        hashes: Collection[str],
        slots: Collection[str],
        ids: Collection[UnitId],
        oldest: int,
    ) -> KnownUnits:
        same = [
            unit
            for unit in self._units
            if (unit.hash or content_hash(unit)) in hashes
            or (unit.slot and name_key(unit.slot) in slots)
            or unit.id in ids
        ]
        return KnownUnits(same=same, count=len(self._units), oldest=[unit.id for unit in self._units[:oldest]])
