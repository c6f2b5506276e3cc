"""Pointers and their history in a SQLite file."""

from collections.abc import Sequence

from turnkeeper.errors import PointerExists, PointerNotFound
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import PointerId, TenantId
from turnkeeper.model.pointer import Move, Pointer, PointerKind, PointerMove
from turnkeeper.stores import substrate as rows
from turnkeeper.stores.rows import json_text
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.stores.sqlite.manifests import check_manifest

NEWEST = 2**62


class SqlitePointers:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, pointer: Pointer, audit: AuditFacts) -> None:
        await self._database.write("create_pointer", lambda tx: self._create(tx, pointer, audit))

    def _create(self, tx: Tx, pointer: Pointer, audit: AuditFacts) -> None:
        params = rows.pointer_params(pointer)
        if tx.execute(sql.pointer_named, params).fetchone() is not None:
            raise PointerExists(pointer.namespace, pointer.name)
        if pointer.manifest is not None:
            check_manifest(tx, pointer.tenant, pointer.manifest)
        tx.execute(sql.insert_pointer, params)
        tx.execute(sql.append_move, rows.move_params(pointer.tenant, rows.first_move(pointer)))
        self._audit.append(tx, audit)

    async def get(self, tenant: TenantId, pointer_id: PointerId, *, deleted: bool = False) -> Pointer:
        found = self._database.read(sql.get_pointer, {"tenant": tenant, "id": pointer_id})
        if not found or (found[0]["deleted_at"] is not None and not deleted):
            raise PointerNotFound(pointer_id)
        return rows.pointer_of(found[0])

    async def living(self, tenant: TenantId, pointer_ids: Sequence[PointerId]) -> frozenset[PointerId]:
        place = {"tenant": tenant, "ids": json_text(list(pointer_ids))}
        return frozenset(PointerId(row["id"]) for row in self._database.read(sql.living_pointers, place))

    async def named(self, tenant: TenantId, namespace: str, name: str) -> Pointer:
        place = {"tenant": tenant, "namespace": namespace, "name": name}
        found = self._database.read(sql.pointer_named, place)
        if not found:
            raise PointerNotFound(f"{namespace}/{name}")
        return rows.pointer_of(found[0])

    async def list(
        self,
        tenant: TenantId,
        *,
        namespace: str | None,
        kind: PointerKind | None,
        before: PointerId | None,
        limit: int,
    ) -> Sequence[Pointer]:
        place = {
            "tenant": tenant,
            "namespace": namespace,
            "kind": None if kind is None else kind.value,
            "before": before or rows.LAST,
            "limit": limit,
        }
        return [rows.pointer_of(row) for row in self._database.read(sql.list_pointers, place)]

    async def move(self, tenant: TenantId, pointer_id: PointerId, move: Move, audit: AuditFacts) -> Pointer:
        return await self._database.write("move_pointer", lambda tx: self._move(tx, tenant, pointer_id, move, audit))

    def _move(self, tx: Tx, tenant: TenantId, pointer_id: PointerId, move: Move, audit: AuditFacts) -> Pointer:
        pointer, _ = move_pointer(tx, held_pointer(tx, tenant, pointer_id), move)
        self._audit.append(tx, audit)
        return pointer

    async def moves(
        self, tenant: TenantId, pointer_id: PointerId, *, before: int | None, limit: int
    ) -> Sequence[PointerMove]:
        place = {"tenant": tenant, "pointer_id": pointer_id, "before": before or NEWEST, "limit": limit}
        return [rows.move_of(row) for row in self._database.read(sql.pointer_history, place)]


def held_pointer(tx: Tx, tenant: TenantId, pointer_id: PointerId) -> Pointer:
    found = tx.execute(sql.hold_pointer, {"tenant": tenant, "id": pointer_id}).fetchone()
    if found is None:
        raise PointerNotFound(pointer_id)
    return rows.pointer_of(found)


def move_pointer(tx: Tx, held: Pointer, move: Move) -> tuple[Pointer, PointerMove]:
    """Move it inside of a write."""
    pointer, told = rows.moved(held, move)
    if move.to is not None:
        check_manifest(tx, pointer.tenant, move.to)
    tx.execute(sql.move_pointer, rows.pointer_params(pointer))
    tx.execute(sql.append_move, rows.move_params(pointer.tenant, told))
    return pointer, told
