"""Units in a SQLite file: what a session or a knowledge base knows, and finding it again."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from turnkeeper.errors import UnitNotFound
from turnkeeper.model.ids import RunId, SessionId, TenantId, UnitId
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.unit import KeptUnit, PhaseScope, Unit, UnitChanges, UnitStatus
from turnkeeper.ports.units import KnownUnits, UnitView
from turnkeeper.stores import units as rows
from turnkeeper.stores.rows import json_text
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.wording import IN_CONTENT, IN_THE_REST, IN_TOPIC, WordsByPart, asked_words, words_by_part


class SqliteUnits:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def search(
        self, view: UnitView, words: Sequence[str], *, scope: PhaseScope, limit: int
    ) -> Sequence[FoundUnit]:
        asked = asked_words(words)
        found: list[tuple[int, int, FoundUnit]] = []
        for sight in rows.sights_of(view) if asked else ():
            codes = _codes(view.tenant, sight.place, asked)
            params = sight.params(view.tenant) | {"match": " OR ".join(codes), "scope": scope.value}
            best = _best(self._database.read_values(sql.search_units, params), codes)[:limit]
            # What the best of them say is read by itself: many may match, and few are wanted.
            nos = params | {"nos": json_text([no for _, _, no in best])}
            said = dict(self._database.read_values(sql.units_by_no, nos))
            found += [
                (score, covered, FoundUnit(unit=rows.unit_of(said[no]), place=sight.name, score=score))
                for score, covered, no in best
            ]
        # Sorting keeps the order of what is alike: the session first, and in each place the newest.
        return [unit for _, _, unit in sorted(found, key=lambda each: (-each[0], -each[1]))[:limit]]

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
        tx.execute(sql.unindex_unit, forgotten)
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
    words: Sequence[WordsByPart] | None = None,
) -> None:
    """`words` are those of the units, where they are many and were prepared before."""
    if not units:
        return
    last = tx.execute(sql.last_unit_no, {"tenant": tenant, "place": place}).fetchone()["no"]
    for no, (unit, parts) in enumerate(zip(units, words or rows.words_of_units(units), strict=True), last + 1):
        params = rows.unit_params(tenant, place, unit, no=no, since=since, at=at, turn=turn, run_id=run_id)
        tx.execute(sql.insert_unit, params | {"search_row": index_words(tx, tenant, place, no, parts)})


def index_copies(tx: Tx, tenant: TenantId, place: str) -> None:
    """Make units that were copied into a place findable there: the codes of their words belong to one place."""
    copied = {"tenant": tenant, "place": place, "after": 0, "limit": -1}
    for row in tx.execute(sql.units_of_base, copied).fetchall():
        search_row = index_words(tx, tenant, place, row["no"], words_by_part(rows.unit_of(row["data"])))
        tx.execute(sql.place_in_search, {"tenant": tenant, "place": place, "no": row["no"], "search_row": search_row})


def index_words(tx: Tx, tenant: TenantId, place: str, no: int, parts: WordsByPart) -> int | None:
    """Make a unit findable by its words; gives its row in the search."""
    topic, said, more = (" ".join(_codes(tenant, place, words)) for words in parts)
    params = {"tenant": tenant, "place": place, "no": no, "topic": topic, "said": said, "more": more}
    return tx.execute(sql.index_unit, params).lastrowid


def _codes(tenant: TenantId, place: str, words: Sequence[str]) -> list[str]:
    """What stands for words in the search of one place: of one length, and to nobody else the same."""
    key = hashlib.blake2b(f"{tenant}\x1f{place}".encode(), digest_size=32).digest()
    return [hashlib.blake2b(word.encode(), key=key, digest_size=8).hexdigest() for word in words]


def _best(matches: Sequence[tuple[Any, ...]], codes: Sequence[str]) -> list[tuple[int, int, int]]:
    """Score, words covered and number of each content, best first, and the newest first of those that are alike."""
    best: dict[str, tuple[int, int, int]] = {}
    for no, hash, topic, said, more in matches:
        counts = [
            IN_TOPIC if code in topic else IN_CONTENT if code in said else IN_THE_REST
            for code in codes
            if code in topic or code in said or code in more
        ]
        rank = (sum(counts), len(counts), no)
        if hash not in best or rank > best[hash]:
            best[hash] = rank
    return sorted(best.values(), reverse=True)


def _retire(tx: Tx, tenant: TenantId, place: str, id: UnitId, status: UnitStatus, by: UnitId | None = None) -> None:
    params = {"tenant": tenant, "place": place, "id": id, "status": status.value, "by": by}
    tx.execute(sql.unindex_unit, params)
    tx.execute(sql.retire_unit, params)


def _found(values: Sequence[tuple[str, ...]], place: str) -> Iterator[FoundUnit]:
    for data, *_ in values:
        yield FoundUnit(unit=rows.unit_of(data), place=place, score=1.0)
