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
ALL = 1_000_000


async def settle(
    staged: Sequence[Unit],
    place: UnitPlace,
    units: UnitReader,
    view: UnitView,
    *,
    most: int,
    forgotten: Sequence[UnitId] = (),
) -> UnitChanges:
    """What keeping these units, and losing those, changes in a session that holds `most` units at once."""
    lasting = [unit for unit in staged if unit.lifetime is Lifetime.SESSION]
    fleeting = [DroppedUnit(unit=unit, reason=FOR_THE_TURN) for unit in staged if unit.lifetime is Lifetime.TURN]
    if not lasting:
        return UnitChanges(forgotten=tuple(forgotten), dropped=tuple(fleeting))
    known = await units.known(
        view,
        hashes=[content_hash(unit) for unit in lasting],
        slots=[name_key(unit.slot) for unit in lasting if unit.slot],
        ids=[*(unit.supersedes for unit in lasting if unit.supersedes), *forgotten],
        oldest=ALL,
    )
    batch = _Batch(_without(known, set(forgotten)))
    for index, unit in enumerate(lasting):
        batch.add(unit.id, replace(place.put(unit, index), hash=content_hash(unit)))
    settled = batch.within(most)
    return replace(settled, forgotten=tuple(forgotten), dropped=settled.dropped + tuple(fleeting))


def _without(known: KnownUnits, forgotten: set[UnitId]) -> KnownUnits:
    """What is forgotten in the same turn is not known any more."""
    gone = forgotten & set(known.oldest)
    return KnownUnits(
        same=[unit for unit in known.same if unit.id not in gone],
        count=known.count - len(gone),
        oldest=[id for id in known.oldest if id not in gone],
    )


class _Batch:
    """The units that are kept together, each looked at beside those before it: what is said last holds."""

    def __init__(self, known: KnownUnits) -> None:
        self._known = known
        self._known_ids = {unit.id for unit in known.same}
        self._holding = {content_hash(unit): unit.id for unit in known.same}
        self._in_slot = {name_key(unit.slot): unit.id for unit in known.same if unit.slot}
        self._added: dict[UnitId, Unit] = {}
        self._superseded: dict[UnitId, UnitId] = {}
        self._dropped: list[DroppedUnit] = []
        self._kept_as: dict[UnitId, UnitId] = {}

    def add(self, staged_as: UnitId, unit: Unit) -> None:
        assert unit.hash is not None, "a unit has its hash once it is put in its place"
        if unit.supersedes in self._known_ids:
            self._holds_no_more(unit.supersedes)
        kept_as = self._kept_as[staged_as] = self._holding.get(unit.hash, unit.id)
        if unit.supersedes in self._known_ids:
            self._superseded[unit.supersedes] = kept_as
        if kept_as != unit.id:
            self._dropped.append(DroppedUnit(unit=unit, reason=KNOWN))
            return
        if unit.slot:
            older = self._in_slot.get(name_key(unit.slot))
            if older is not None:
                self._take_the_place_of(older, unit)
            self._in_slot[name_key(unit.slot)] = unit.id
        self._added[unit.id] = unit
        self._holding[unit.hash] = unit.id

    def _take_the_place_of(self, older: UnitId, unit: Unit) -> None:
        self._holds_no_more(older)
        if older not in self._added:
            self._superseded[older] = unit.id
            return
        # Said and corrected in one breath: it was never true, and what it would have superseded still is.
        self._dropped.append(DroppedUnit(unit=self._added.pop(older), reason=CORRECTED))
        for old, new in self._superseded.items():
            if new == older:
                self._superseded[old] = unit.id

    def _holds_no_more(self, unit: UnitId) -> None:
        """Who says it again says something new."""
        self._holding = {hash: id for hash, id in self._holding.items() if id != unit}

    def within(self, most: int) -> UnitChanges:
        """At most so many units in the session: of too many new ones the first are kept, of known ones the newest."""
        new = tuple(self._added.values())
        kept = new[:most]
        holding = {unit.id for unit in kept} | self._known_ids
        superseded = {old: by for old, by in self._superseded.items() if by in holding}
        too_many = self._known.count - len(superseded) + len(kept) - most
        giving_way = [id for id in self._known.oldest if id not in superseded][: max(0, too_many)]
        kept_as = {staged: id for staged, id in self._kept_as.items() if id in holding}
        return UnitChanges(
            added=tuple(unit.with_relatives(kept_as) for unit in kept),
            superseded=tuple(superseded.items()),
            pushed_out=tuple(giving_way),
            dropped=(*self._dropped, *(DroppedUnit(unit=unit, reason=TOO_MANY) for unit in new[most:])),
            kept_as=kept_as,
        )
