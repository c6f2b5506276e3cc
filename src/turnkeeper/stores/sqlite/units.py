"""Units in a SQLite file: what a session or a knowledge base knows, and finding it again."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from turnkeeper.errors import UnitNotFound
from turnkeeper.model.ids import RunId, SessionId, TenantId, UnitId
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.unit import KeptUnit, PhaseScope, Unit, UnitChanges, UnitStatus
from turnkeeper.ports.units import KnownUnits, UnitView
from turnkeeper.stores import units as rows
from turnkeeper.stores.rows import json_text
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.wording import asked_words


class SqliteUnits:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def search(
        self, view: UnitView, words: Sequence[str], *, scope: PhaseScope, limit: int
    ) -> Sequence[FoundUnit]:
        asked = {"words": json_text(asked_words(words)), "scope": scope.value, "limit": limit}
        found: list[tuple[str, int, int, str]] = []
        for sight in rows.sights_of(view):
            place = sight.params(view.tenant) | asked
            found += [(*row, sight.name) for row in self._database.read_values(sql.search_units, place)]
        # Sorting keeps the order of what is alike: the session first, and in each place the newest.
        best = sorted(found, key=lambda row: (-row[1], -row[2]))[:limit]
        return [FoundUnit(unit=rows.unit_of(data), place=name, score=score) for data, score, _, name in best]

    async def guidance(self, view: UnitView, scope: PhaseScope, *, limit: int) -> Sequence[FoundUnit]:
        found: list[FoundUnit] = []
        for sight in rows.sights_of(view):
            place = sight.params(view.tenant) | {"scope": scope.value, "limit": limit}
            found += _found(self._database.read_values(sql.guiding_units, place), sight.name)
        return found[:limit]

    async def about(self, view: UnitView, keys: Collection[str], *, limit: int) -> Sequence[FoundUnit]:
        found: list[FoundUnit] = []
        for sight in rows.sights_of(view):
            place = sight.params(view.tenant) | {"keys": json_text(rows.kept_keys(keys)), "limit": limit}
            found += _found(self._database.read_values(sql.units_about, place), sight.name)
        return found[:limit]

    async def newest(self, view: UnitView, *, limit: int) -> Sequence[Unit]:
        place = {"tenant": view.tenant, "place": view.session_id, "epoch": view.epoch, "limit": limit}
        return [rows.unit_of(data) for (data,) in self._database.read_values(sql.newest_units, place)]

    async def known(
        self,
        view: UnitView,
        *,
        hashes: Collection[str],
        slots: Collection[str],
        ids: Collection[UnitId],
        oldest: int,
    ) -> KnownUnits:
        place = {"tenant": view.tenant, "place": view.session_id, "epoch": view.epoch}
        asked = place | {
            "hashes": json_text(list(hashes)),
            "slots": json_text(rows.kept_keys(slots)),
            "ids": json_text(list(ids)),
        }
        same = [rows.unit_of(data) for data, _ in self._database.read_values(sql.known_units, asked)]
        committed = [UnitId(id) for (id,) in self._database.read_values(sql.committed_unit_ids, place)]
        return KnownUnits(same=same, count=len(committed), oldest=committed[:oldest])

    async def get(self, tenant: TenantId, session_id: SessionId, unit_id: UnitId) -> KeptUnit:
        found = self._database.read(sql.get_unit, {"tenant": tenant, "place": session_id, "id": unit_id})
        if not found:
            raise UnitNotFound(unit_id)
        return rows.kept_unit_of(found[0])

    async def list(
        self, tenant: TenantId, session_id: SessionId, *, epoch: int | None, after: int, limit: int
    ) -> Sequence[tuple[int, KeptUnit]]:
        place = {"tenant": tenant, "place": session_id, "epoch": epoch, "after": after, "limit": limit}
        return [(row["no"], rows.kept_unit_of(row)) for row in self._database.read(sql.units_after, place)]


def change_units(
    tx: Tx,
    tenant: TenantId,
    session_id: SessionId,
    changes: UnitChanges,
    *,
    epoch: int,
    at: datetime,
    turn: int | None = None,
    run_id: RunId | None = None,
) -> None:
    """Everything that a turn or a command changes in the units of its session."""
    add_units(tx, tenant, session_id, changes.added, since=epoch, at=at, turn=turn, run_id=run_id)
    for old, new in changes.superseded:
        _retire(tx, tenant, session_id, old, UnitStatus.SUPERSEDED, by=new)
    for old in changes.pushed_out:
        _retire(tx, tenant, session_id, old, UnitStatus.PUSHED_OUT)
    for old in changes.forgotten:
        forgotten = {"tenant": tenant, "place": session_id, "id": old}
        tx.execute(sql.drop_words, forgotten)
        tx.execute(sql.forget_unit, forgotten)


def add_units(
    tx: Tx,
    tenant: TenantId,
    place: str,
    units: Sequence[Unit],
    *,
    since: int,
    at: datetime,
    turn: int | None = None,
    run_id: RunId | None = None,
    words: Sequence[rows.WordRow] | None = None,
) -> None:
    """`words` are those of the units, where they are many and were prepared before."""
    if not units:
        return
    last = tx.execute(sql.last_unit_no, {"tenant": tenant, "place": place}).fetchone()["no"]
    for no, unit in enumerate(units, last + 1):
        params = rows.unit_params(tenant, place, unit, no=no, since=since, at=at, turn=turn, run_id=run_id)
        tx.execute(sql.insert_unit, params)
    counted = (
        {"tenant": tenant, "place": place, "word": word, "no": last + nth, "weight": weight}
        for nth, word, weight in words or rows.word_rows(units)
    )
    tx.executemany(sql.insert_word, counted)


def _retire(tx: Tx, tenant: TenantId, place: str, id: UnitId, status: UnitStatus, by: UnitId | None = None) -> None:
    params = {"tenant": tenant, "place": place, "id": id, "status": status.value, "by": by}
    tx.execute(sql.drop_words, params)
    tx.execute(sql.retire_unit, params)


def _found(values: Sequence[tuple[str, ...]], place: str) -> Iterator[FoundUnit]:
    for data, *_ in values:
        yield FoundUnit(unit=rows.unit_of(data), place=place, score=1.0)
