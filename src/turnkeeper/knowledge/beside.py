"""Finding units among those that a client carries, and in the knowledge bases beside them."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from turnkeeper.knowledge.carried import CarriedUnits
from turnkeeper.model.ids import SessionId
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.unit import PhaseScope, Unit
from turnkeeper.ports.units import UnitReader, UnitView

NO_SESSION = SessionId("")


class CarriedBesideBases(CarriedUnits):
    """Of our own store only knowledge bases are read: a session of the same id there is none of the client's."""

    def __init__(self, units: Sequence[Unit], kept: UnitReader) -> None:
        super().__init__(units)
        self._kept = kept

    async def search(
        self, view: UnitView, words: Sequence[str], *, scope: PhaseScope, limit: int
    ) -> Sequence[FoundUnit]:
        carried = await super().search(view, words, scope=scope, limit=limit)
        if not view.bases:
            return carried
        found = await self._kept.search(replace(view, session_id=NO_SESSION), words, scope=scope, limit=limit)
        # Sorting keeps the order of what is alike: what the client carries comes first.
        return sorted((*carried, *found), key=lambda each: -each.score)[:limit]

    async def guidance(self, view: UnitView, scope: PhaseScope, *, limit: int) -> Sequence[FoundUnit]:
        carried = await super().guidance(view, scope, limit=limit)
        if not view.bases or len(carried) == limit:
            return carried
        beside = await self._kept.guidance(replace(view, session_id=NO_SESSION), scope, limit=limit - len(carried))
        return (*carried, *beside)

    async def about(self, view: UnitView, keys: Collection[str], *, limit: int) -> Sequence[FoundUnit]:
        carried = await super().about(view, keys, limit=limit)
        if not view.bases or len(carried) == limit:
            return carried
        beside = await self._kept.about(replace(view, session_id=NO_SESSION), keys, limit=limit - len(carried))
        return (*carried, *beside)
