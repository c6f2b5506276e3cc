"""Pointers and their history in a PostgreSQL database."""

from collections.abc import Sequence

import asyncpg

from turnkeeper.errors import PointerExists, PointerNotFound
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import PointerId, TenantId
from turnkeeper.model.pointer import Move, Pointer, PointerKind, PointerMove
from turnkeeper.stores import substrate as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Tx, sql
from turnkeeper.stores.postgres.manifests import check_manifest

NEWEST = 2**62


class PostgresPointers:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, pointer: Pointer, audit: AuditFacts) -> None:
        try:
            await self._database.finish(self._audit.append(audit, lambda entry: self._create(pointer, entry)))
        except asyncpg.UniqueViolationError as error:
            raise PointerExists(pointer.namespace, pointer.name) from error

    async def _create(self, pointer: Pointer, entry: AuditEntry) -> bool:
        async with self._database.transaction("create_pointer") as tx:
            if pointer.manifest is not None:
                await check_manifest(tx, pointer.tenant, pointer.manifest)
            await tx.run(sql.insert_pointer, rows.pointer_params(pointer))
            await tx.run(sql.append_move, rows.move_params(pointer.tenant, rows.first_move(pointer)))
            await tx.run(sql.append_audit, entry_params(entry))
            return True

    async def get(self, tenant: TenantId, pointer_id: PointerId, *, deleted: bool = False) -> Pointer:
        found = await self._database.read(sql.get_pointer, {"tenant": tenant, "id": pointer_id})
        if not found or (found[0]["deleted_at"] is not None and not deleted):
            raise PointerNotFound(pointer_id)
        return rows.pointer_of(found[0])

    async def living(self, tenant: TenantId, pointer_ids: Sequence[PointerId]) -> frozenset[PointerId]:
        place = {"tenant": tenant, "ids": list(pointer_ids)}
        return frozenset(PointerId(row["id"]) for row in await self._database.read(sql.living_pointers, place))

    async def named(self, tenant: TenantId, namespace: str, name: str) -> Pointer:
        place = {"tenant": tenant, "namespace": namespace, "name": name}
        found = await self._database.read(sql.pointer_named, place)
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
        return [rows.pointer_of(row) for row in await self._database.read(sql.list_pointers, place)]

    async def move(self, tenant: TenantId, pointer_id: PointerId, move: Move, audit: AuditFacts) -> Pointer:
        moved = await self._database.finish(
            self._audit.append(audit, lambda entry: self._move(tenant, pointer_id, move, entry))
        )
        assert moved is not None
        return moved

    async def _move(self, tenant: TenantId, pointer_id: PointerId, move: Move, entry: AuditEntry) -> Pointer:
        async with self._database.transaction("move_pointer") as tx:
            pointer, _ = await move_pointer(tx, await held_pointer(tx, tenant, pointer_id), move)
            await tx.run(sql.append_audit, entry_params(entry))
            return pointer

    async def moves(
        self, tenant: TenantId, pointer_id: PointerId, *, before: int | None, limit: int
    ) -> Sequence[PointerMove]:
        place = {"tenant": tenant, "pointer_id": pointer_id, "before": before or NEWEST, "limit": limit}
        return [rows.move_of(row) for row in await self._database.read(sql.pointer_history, place)]


async def held_pointer(tx: Tx, tenant: TenantId, pointer_id: PointerId) -> Pointer:
    found = await tx.one(sql.hold_pointer, {"tenant": tenant, "id": pointer_id})
    if found is None:
        raise PointerNotFound(pointer_id)
    return rows.pointer_of(found)


async def move_pointer(tx: Tx, held: Pointer, move: Move) -> tuple[Pointer, PointerMove]:
    """Move it inside of a write."""
    pointer, told = rows.moved(held, move)
    if move.to is not None:
        await check_manifest(tx, pointer.tenant, move.to)
    await tx.run(sql.move_pointer, rows.pointer_params(pointer))
    await tx.run(sql.append_move, rows.move_params(pointer.tenant, told))
    return pointer, told
