"""Layers and users in a PostgreSQL database."""

from collections.abc import Sequence
from dataclasses import replace

from turnkeeper.errors import LastOwner, LayerExists, LayerNotFound, RevisionMoved, UserExists, UserNotFound
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import LayerId, TenantId, UserId
from turnkeeper.model.layer import Layer
from turnkeeper.model.scope import Level
from turnkeeper.model.user import User
from turnkeeper.stores import layers as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Tx, sql
from turnkeeper.stores.postgres.manifests import hold_mounted
from turnkeeper.stores.substrate import contents_mounted


class PostgresLayers:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, layer: Layer, audit: AuditFacts) -> None:
        await self._database.finish(self._audit.append(audit, lambda entry: self._create(layer, entry)))

    async def _create(self, layer: Layer, entry: AuditEntry) -> bool:
        async with self._database.transaction("create_layer") as tx:
            await hold_mounted(tx, layer.tenant, contents_mounted(layer.terms.mounts))
            if not await tx.run(sql.insert_layer, rows.layer_params(layer)):
                raise LayerExists(layer.level, layer.id)
            await tx.run(sql.append_audit, entry_params(entry))
            return True

    async def get(self, tenant: TenantId, level: Level, id: LayerId) -> Layer:
        found = await self._database.read(sql.get_layer, {"tenant": tenant, "level": level.value, "id": id})
        if not found:
            raise LayerNotFound(level, id)
        return rows.layer_of(found[0])

    async def above(
        self, tenant: TenantId, project_id: LayerId | None = None, objective_id: LayerId | None = None
    ) -> Sequence[Layer]:
        place = {"tenant": tenant, "project_id": project_id, "objective_id": objective_id}
        found = await self._database.read(sql.layers_above, place)
        return sorted(map(rows.layer_of, found), key=rows.general_first)

    async def list(
        self, tenant: TenantId, level: Level, *, project_id: LayerId | None, before: LayerId | None, limit: int
    ) -> Sequence[Layer]:
        place = {"tenant": tenant, "level": level.value, "project_id": project_id, "before": before or rows.LAST}
        return [rows.layer_of(row) for row in await self._database.read(sql.list_layers, place | {"limit": limit})]

    async def tenants(self, *, after: TenantId | None, limit: int) -> Sequence[Layer]:
        found = await self._database.read(sql.list_tenants, {"after": after or "", "limit": limit})
        return [rows.layer_of(row) for row in found]

    async def change(self, layer: Layer, audit: AuditFacts, *, expected_revision: int) -> Layer:
        write = self._audit.append(audit, lambda entry: self._change(layer, expected_revision, entry))
        changed = await self._database.finish(write)
        assert changed is not None
        return changed

    async def _change(self, layer: Layer, expected_revision: int, entry: AuditEntry) -> Layer:
        params = rows.layer_params(layer) | {"revision": expected_revision}
        async with self._database.transaction("change_layer") as tx:
            before = await self._layer(tx, layer)
            await hold_mounted(tx, layer.tenant, contents_mounted(layer.terms.mounts, before.terms.mounts))
            changed = await tx.run(sql.change_layer, params)
            if not changed:
                actual = (await self._layer(tx, layer)).revision
                raise RevisionMoved(layer.id, expected=expected_revision, actual=actual)
            await tx.run(sql.append_audit, entry_params(entry))
            return replace(layer, revision=changed[0]["revision"])

    async def _layer(self, tx: Tx, layer: Layer) -> Layer:
        found = await tx.one(sql.get_layer, rows.layer_params(layer))
        if found is None:
            raise LayerNotFound(layer.level, layer.id)
        return rows.layer_of(found)


class PostgresUsers:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, user: User, audit: AuditFacts) -> None:
        await self._database.finish(self._audit.append(audit, lambda entry: self._create(user, entry)))

    async def _create(self, user: User, entry: AuditEntry) -> bool:
        async with self._database.transaction("create_user") as tx:
            if not await tx.run(sql.insert_user, rows.user_params(user)):
                raise UserExists(user.id)
            await tx.run(sql.append_audit, entry_params(entry))
            return True

    async def find(self, tenant: TenantId, id: UserId) -> User | None:
        found = await self._database.read(sql.get_user, {"tenant": tenant, "id": id})
        return rows.user_of(found[0]) if found else None

    async def list(self, tenant: TenantId, *, after: UserId | None, limit: int) -> Sequence[User]:
        found = await self._database.read(sql.list_users, {"tenant": tenant, "after": after or "", "limit": limit})
        return [rows.user_of(row) for row in found]

    async def change(self, user: User, audit: AuditFacts, *, expected_version: int) -> User:
        write = self._audit.append(audit, lambda entry: self._change(user, expected_version, entry))
        changed = await self._database.finish(write)
        assert changed is not None
        return changed

    async def _change(self, user: User, expected_version: int, entry: AuditEntry) -> User:
        params = rows.user_params(user) | {"version": expected_version}
        async with self._database.transaction("change_user") as tx:
            owners = {row["id"] for row in await tx.run(sql.acting_owners, {"tenant": user.tenant})}
            if owners == {user.id} and not user.is_acting_owner:
                raise LastOwner(user.id)
            changed = await tx.run(sql.change_user, params)
            if not changed:
                found = await tx.one(sql.get_user, params)
                if found is None:
                    raise UserNotFound(user.id)
                raise RevisionMoved(user.id, expected=expected_version, actual=found["version"])
            await tx.run(sql.append_audit, entry_params(entry))
            return replace(user, version=changed[0]["version"])
