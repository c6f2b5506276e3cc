"""Finding units among those that a client carries, with the search engine of SQLite and no file."""

import sqlite3
from collections.abc import Collection, Sequence

from turnkeeper.model.ids import UnitId
from turnkeeper.model.names import content_hash, name_key
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit
from turnkeeper.model.unit import PhaseScope, Unit
from turnkeeper.ports.units import KnownUnits, UnitView


class CarriedUnits:
    """A UnitReader over units that are at hand, oldest first. It knows no knowledge bases and no other sessions."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = tuple(units)

    async def search(
        self, view: UnitView, words: Sequence[str], *, scope: PhaseScope, limit: int
    ) -> Sequence[FoundUnit]:
        places = {place: unit for place, unit in enumerate(self._units) if scope in unit.phase_scopes}
        if not places or not words:
            return ()
        database = sqlite3.connect(":memory:")
        try:
            database.execute(
                "CREATE VIRTUAL TABLE found USING fts5 (topic, said, more, "
                "tokenize = 'porter unicode61 remove_diacritics 2')"
            )
            database.executemany(
                "INSERT INTO found (rowid, topic, said, more) VALUES (?, ?, ?, ?)",
                [(place, unit.topic, unit.content, unit.more) for place, unit in places.items()],
            )
            rows = database.execute(
                "SELECT rowid, -bm25(found, 1.5, 1.0, 0.6) FROM found WHERE found MATCH ? ORDER BY 2 DESC LIMIT ?",
                (any_of(words), limit),
            ).fetchall()
        finally:
            database.close()
        return [FoundUnit(unit=places[place], place=SESSION_PLACE, score=score) for place, score in rows]

    async def guidance(self, view: UnitView, scope: PhaseScope, *, limit: int) -> Sequence[FoundUnit]:
        guiding = [unit for unit in reversed(self._units) if unit.guides(scope)]
        return [FoundUnit(unit=unit, place=SESSION_PLACE, score=1.0) for unit in guiding[:limit]]

    async def about(self, view: UnitView, keys: Collection[str], *, limit: int) -> Sequence[FoundUnit]:
        found = [
            unit
            for unit in self._units
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


def any_of(words: Sequence[str]) -> str:
    """A query of FTS5 for any of these words. In quotes no word is taken for an operator."""
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
