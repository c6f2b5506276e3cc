"""Units in a PostgreSQL database: what a session or a knowledge base knows, and finding it again."""

from collections.abc import Collection, Sequence
from datetime import datetime

from turnkeeper.errors import UnitNotFound
from turnkeeper.model.ids import RunId, SessionId, TenantId, UnitId
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.unit import KeptUnit, PhaseScope, Unit, UnitChanges, UnitStatus
from turnkeeper.ports.units import KnownUnits, UnitView
from turnkeeper.stores import units as rows
from turnkeeper.stores.postgres.database import PostgresDatabase, Row, Tx, sql
from turnkeeper.stores.rows import micros
from turnkeeper.wording import IN_CONTENT, IN_THE_REST, IN_TOPIC, WordsByPart, asked_words


class PostgresUnits:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def search(
        self, view: UnitView, words: Sequence[str], *, scope: PhaseScope, limit: int
    ) -> Sequence[FoundUnit]:
        sights, lexemes = list(rows.sights_of(view)), [_quoted(word) for word in asked_words(words)]
        if not lexemes:
            return ()
        asked = {
            "tenant": view.tenant,
            "places": [sight.place for sight in sights],
            "names": [sight.name for sight in sights],
            "firsts": [sight.first for sight in sights],
            "revisions": [sight.revision for sight in sights],
            "match": " | ".join(lexemes),
            "topics": [f"{lexeme}:A" for lexeme in lexemes],
            "saids": [f"{lexeme}:B" for lexeme in lexemes],
            "anywhere": lexemes,
            "in_topic": IN_TOPIC,
            "in_content": IN_CONTENT,
            "in_the_rest": IN_THE_REST,
            "scope": scope.value,
            "limit": limit,
        }
        found = await self._database.read(sql.search_units, asked)
        return [FoundUnit(unit=rows.unit_of(row["data"]), place=row["name"], score=row["score"]) for row in found]

    async def guidance(self, view: UnitView, scope: PhaseScope, *, limit: int) -> Sequence[FoundUnit]:
        found: list[FoundUnit] = []
        for sight in rows.sights_of(view):
            place = sight.params(view.tenant) | {"scope": scope.value, "limit": limit}
            found += _found(await self._database.read(sql.guiding_units, place), sight.name)
        return found[:limit]

    async def about(self, view: UnitView, keys: Collection[str], *, limit: int) -> Sequence[FoundUnit]:
        found: list[FoundUnit] = []
        for sight in rows.sights_of(view):
            place = sight.params(view.tenant) | {"keys": rows.kept_keys(keys), "limit": limit}
            found += _found(await self._database.read(sql.units_about, place), sight.name)
        return found[:limit]

    async def newest(self, view: UnitView, *, limit: int) -> Sequence[Unit]:
        place = {"tenant": view.tenant, "place": view.session_id, "epoch": view.epoch, "limit": limit}
        return [rows.unit_of(row["data"]) for row in await self._database.read(sql.newest_units, place)]

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
        asked = place | {"hashes": list(hashes), "slots": rows.kept_keys(slots), "ids": list(ids)}
        same = [rows.unit_of(row["data"]) for row in await self._database.read(sql.known_units, asked)]
        committed = [UnitId(row["id"]) for row in await self._database.read(sql.committed_unit_ids, place)]
        return KnownUnits(same=same, count=len(committed), oldest=committed[:oldest])

    async def get(self, tenant: TenantId, session_id: SessionId, unit_id: UnitId) -> KeptUnit:
        found = await self._database.read(sql.get_unit, {"tenant": tenant, "place": session_id, "id": unit_id})
        if not found:
            raise UnitNotFound(unit_id)
        return rows.kept_unit_of(found[0])

    async def list(
        self, tenant: TenantId, session_id: SessionId, *, epoch: int | None, after: int, limit: int
    ) -> Sequence[tuple[int, KeptUnit]]:
        place = {"tenant": tenant, "place": session_id, "epoch": epoch, "after": after, "limit": limit}
        return [(row["no"], rows.kept_unit_of(row)) for row in await self._database.read(sql.units_after, place)]


async def change_units(
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
    await add_units(tx, tenant, session_id, changes.added, since=epoch, at=at, turn=turn, run_id=run_id)
    for old, new in changes.superseded:
        await _retire(tx, tenant, session_id, old, UnitStatus.SUPERSEDED, by=new)
    for old in changes.pushed_out:
        await _retire(tx, tenant, session_id, old, UnitStatus.PUSHED_OUT)
    for old in changes.forgotten:
        forgotten = {"tenant": tenant, "place": session_id, "id": old}
        await tx.run(sql.forget_unit, forgotten)


async def add_units(
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
    params = [rows.unit_params(tenant, place, unit, no=0, since=since, at=at) for unit in units]
    columns = {
        "ids": "id",
        "source_ids": "source_id",
        "scopes": "scopes",
        "hashes": "hash",
        "slot_keys": "slot_key",
        "subject_keys": "subject_key",
        "object_keys": "object_key",
        "datas": "data",
    }
    lists = {name: [each[column] for each in params] for name, column in columns.items()}
    lists["words"] = [searchable(parts) for parts in words or rows.words_of_units(units)]
    fixed = {"tenant": tenant, "place": place, "since": since, "turn": turn, "run_id": run_id, "now": micros(at)}
    await tx.run(sql.insert_units, lists | fixed)


async def _retire(
    tx: Tx, tenant: TenantId, place: str, id: UnitId, status: UnitStatus, by: UnitId | None = None
) -> None:
    params = {"tenant": tenant, "place": place, "id": id, "status": status.value, "by": by}
    await tx.run(sql.retire_unit, params)


def searchable(parts: WordsByPart) -> str:
    """Words as a tsvector is written. Where a word stands does not count, so that all stand at 1."""
    return " ".join(f"{_quoted(word)}:1{part}" for part, words in zip("ABC", parts, strict=True) for word in words)


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _found(found: Sequence[Row], place: str) -> Sequence[FoundUnit]:
    return [FoundUnit(unit=rows.unit_of(row["data"]), place=place, score=1.0) for row in found]
