"""Units and knowledge bases to rows and back, the same for every backend."""

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from turnkeeper.model.ids import KnowledgeBaseId, RunId, SourceId, TenantId, UnitId, UserId
from turnkeeper.model.knowledge_base import KnowledgeBase, Source, SourceKind
from turnkeeper.model.names import content_hash, name_key
from turnkeeper.model.recall import SESSION_PLACE
from turnkeeper.model.unit import KeptUnit, Unit, UnitStatus
from turnkeeper.ports.units import UnitView
from turnkeeper.stores.rows import Params, Row, json_text, micros, moment
from turnkeeper.wording import WordsByPart, bounded, words_by_part

_decode_unit = msgspec.json.Decoder(Unit).decode


def unit_params(
    tenant: TenantId,
    place: str,
    unit: Unit,
    *,
    no: int,
    since: int,
    at: datetime,
    turn: int | None = None,
    run_id: RunId | None = None,
) -> Params:
    return {
        "tenant": tenant,
        "place": place,
        "no": no,
        "id": unit.id,
        "since": since,
        "turn": turn,
        "run_id": run_id,
        "source_id": unit.source_id,
        "scopes": " ".join(sorted(unit.phase_scopes)),
        "hash": unit.hash or content_hash(unit),
        "slot_key": bounded(name_key(unit.slot)) if unit.slot else None,
        "subject_key": bounded(name_key(unit.subject)) if unit.subject else None,
        "object_key": bounded(name_key(unit.object)) if unit.object else None,
        "data": json_text(unit.given),
        "now": micros(at),
    }


def unit_of(data: str) -> Unit:
    return _decode_unit(data)


def kept_unit_of(row: Row) -> KeptUnit:
    return KeptUnit(
        id=UnitId(row["id"]),
        unit=None if row["data"] is None else unit_of(row["data"]),
        status=UnitStatus(row["status"]),
        epoch=row["since"],
        turn=row["turn"],
        run_id=row["run_id"],
        kept_at=moment(row["kept_at"]),
        superseded_by=row["superseded_by"],
    )


def words_of_units(units: Sequence[Unit]) -> list[WordsByPart]:
    return [words_by_part(unit) for unit in units]


def kept_keys(keys: Collection[str]) -> list[str]:
    """Keys of names, as they are kept."""
    return [bounded(key) for key in keys]


def base_params(base: KnowledgeBase) -> Params:
    return {
        "tenant": base.tenant,
        "id": base.id,
        "name": base.name,
        "parent_id": base.parent_id,
        "revision": base.revision,
        "sources": base.sources,
        "units": base.units,
        "created_by": base.created_by,
        "created_at": micros(base.created_at),
        "updated_at": micros(base.updated_at),
    }


def base_of(row: Row) -> KnowledgeBase:
    return KnowledgeBase(
        tenant=TenantId(row["tenant"]),
        id=KnowledgeBaseId(row["id"]),
        name=row["name"],
        parent_id=row["parent_id"],
        revision=row["revision"],
        sources=row["sources"],
        units=row["units"],
        created_by=UserId(row["created_by"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
    )


def source_params(tenant: TenantId, base_id: KnowledgeBaseId, source: Source, *, since: int) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "base_id": base_id,
        "id": source.id,
        "name": source.name,
        "kind": source.kind.value,
        "hash": source.hash,
        "content": source.content,
        "units": source.units,
        "since": since,
        "added_at": micros(source.added_at),
    }


def source_of(row: Row, *, content: str | None = None) -> Source:
    return Source(
        id=SourceId(row["id"]),
        name=row["name"],
        kind=SourceKind(row["kind"]),
        hash=row["hash"],
        content=content,
        added_at=moment(row["added_at"]),
        units=row["units"],
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A place and the part of it that is in sight: from `first` to `revision`."""

    place: str
    name: str
    first: int
    revision: int

    def params(self, tenant: TenantId) -> Params:
        return {"tenant": tenant, "place": self.place, "first": self.first, "revision": self.revision}


def sights_of(view: UnitView) -> Iterator[Sight]:
    """The session first, then what is mounted to it."""
    yield Sight(place=view.session_id, name=SESSION_PLACE, first=view.epoch, revision=view.epoch)
    for base_id, revision in view.bases:
        yield Sight(place=base_id, name=base_id, first=0, revision=revision)
