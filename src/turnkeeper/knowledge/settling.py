"""Deciding which staged units are new, which take the place of known ones, and which must give way."""

from collections.abc import Sequence
from dataclasses import replace

from turnkeeper.model.ids import UnitId
from turnkeeper.model.names import content_hash, name_key
from turnkeeper.model.unit import DroppedUnit, Lifetime, Unit, UnitChanges, UnitPlace
from turnkeeper.ports.units import KnownUnits, UnitReader, UnitView

KNOWN = "known"
CORRECTED = "corrected"
FOR_THE_TURN = "turn"
TOO_MANY = "too_many"


async def settle(
    staged: Sequence[Unit], place: UnitPlace, units: UnitReader, view: UnitView, *, most: int
) -> UnitChanges:
    """What keeping these units changes in a session that holds `most` units at once."""
    lasting = [unit for unit in staged if unit.lifetime is Lifetime.SESSION]
    fleeting = [DroppedUnit(unit=unit, reason=FOR_THE_TURN) for unit in staged if unit.lifetime is Lifetime.TURN]
    if not lasting:
        return UnitChanges(dropped=tuple(fleeting))
    known = await units.known(
        view,
        hashes=[content_hash(unit) for unit in lasting],
        slots=[name_key(unit.slot) for unit in lasting if unit.slot],
        ids=[unit.supersedes for unit in lasting if unit.supersedes],
        oldest=len(lasting),
    )
    settled = _settled(lasting, place, known, most)
    return replace(settled, dropped=settled.dropped + tuple(fleeting))


def _settled(staged: Sequence[Unit], place: UnitPlace, known: KnownUnits, most: int) -> UnitChanges:
    batch = _Batch(known)
    for index, unit in enumerate(staged):
        batch.add(unit.id, replace(place.put(unit, index), hash=content_hash(unit)))
    return batch.within(most)


class _Batch:
    """The units that are kept together, each looked at beside those before it."""

    def __init__(self, known: KnownUnits) -> None:
        self._known = known
        self._known_ids = {unit.id for unit in known.same}
        self._hashes = {content_hash(unit): unit.id for unit in known.same}
        self._in_slot = {name_key(unit.slot): unit.id for unit in known.same if unit.slot}
        self._added: dict[UnitId, Unit] = {}
        self._superseded: dict[UnitId, UnitId] = {}
        self._dropped: list[DroppedUnit] = []
        self._kept_as: dict[UnitId, UnitId] = {}

    def add(self, staged_as: UnitId, unit: Unit) -> None:
        assert unit.hash is not None, "a unit has its hash once it is put in its place"
        self._kept_as[staged_as] = self._hashes.get(unit.hash, unit.id)
        if unit.hash in self._hashes:
            self._dropped.append(DroppedUnit(unit=unit, reason=KNOWN))
            return
        slot = name_key(unit.slot) if unit.slot else None
        if unit.supersedes in self._known_ids:
            self._superseded[unit.supersedes] = unit.id
        if slot and (older := self._in_slot.get(slot)):
            self._take_the_place_of(older, unit)
        self._added[unit.id] = unit
        self._hashes[unit.hash] = unit.id
        if slot:
            self._in_slot[slot] = unit.id

    def _take_the_place_of(self, older: UnitId, unit: Unit) -> None:
        if older not in self._added:
            self._superseded[older] = unit.id
            return
        # Said and corrected in one breath: it was never true, and what it would have superseded still is.
        self._dropped.append(DroppedUnit(unit=self._added.pop(older), reason=CORRECTED))
        for old, new in self._superseded.items():
            if new == older:
                self._superseded[old] = unit.id

    def within(self, most: int) -> UnitChanges:
        """At most so many units in the session: of too many new ones the first are kept, of known ones the newest."""
        kept = tuple(self._added.values())[:most]
        ids = {unit.id for unit in kept}
        superseded = {old: new for old, new in self._superseded.items() if new in ids}
        too_many = self._known.count - len(superseded) + len(kept) - most
        giving_way = [id for id in self._known.oldest if id not in superseded][: max(0, too_many)]
        over = tuple(DroppedUnit(unit=unit, reason=TOO_MANY) for unit in tuple(self._added.values())[most:])
        return UnitChanges(
            added=kept,
            superseded=tuple(superseded.items()),
            pushed_out=tuple(giving_way),
            dropped=(*self._dropped, *over),
            kept_as=self._kept_as,
        )
