"""Layers and users in a SQLite file."""

from collections.abc import Sequence
from dataclasses import replace

from turnkeeper.errors import LastOwner, LayerExists, LayerNotFound, RevisionMoved, UserExists, UserNotFound
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import LayerId, TenantId, UserId
from turnkeeper.model.layer import Layer
from turnkeeper.model.scope import Level
from turnkeeper.model.user import User
from turnkeeper.stores import layers as rows
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.stores.sqlite.manifests import hold_mounted
from turnkeeper.stores.substrate import contents_mounted


class SqliteLayers:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, layer: Layer, audit: AuditFacts) -> None:
        await self._database.write("create_layer", lambda tx: self._create(tx, layer, audit))

    def _create(self, tx: Tx, layer: Layer, audit: AuditFacts) -> None:
        hold_mounted(tx, layer.tenant, contents_mounted(layer.terms.mounts))
        if not tx.execute(sql.insert_layer, rows.layer_params(layer)).fetchall():
            raise LayerExists(layer.level, layer.id)
        self._audit.append(tx, audit)

    async def get(self, tenant: TenantId, level: Level, id: LayerId) -> Layer:
        found = self._database.read(sql.get_layer, {"tenant": tenant, "level": level.value, "id": id})
        if not found:
            raise LayerNotFound(level, id)
        return rows.layer_of(found[0])

    async def above(
        self, tenant: TenantId, project_id: LayerId | None = None, objective_id: LayerId | None = None
    ) -> Sequence[Layer]:
        place = {"tenant": tenant, "project_id": project_id, "objective_id": objective_id}
        found = self._database.read(sql.layers_above, place)
        return sorted(map(rows.layer_of, found), key=rows.general_first)

    async def list(
        self, tenant: TenantId, level: Level, *, project_id: LayerId | None, before: LayerId | None, limit: int
    ) -> Sequence[Layer]:
        place = {"tenant": tenant, "level": level.value, "project_id": project_id, "before": before or rows.LAST}
        return [rows.layer_of(row) for row in self._database.read(sql.list_layers, place | {"limit": limit})]

    async def tenants(self, *, after: TenantId | None, limit: int) -> Sequence[Layer]:
        found = self._database.read(sql.list_tenants, {"after": after or "", "limit": limit})
        return [rows.layer_of(row) for row in found]

    async def change(self, layer: Layer, audit: AuditFacts, *, expected_revision: int) -> Layer:
        return await self._database.write("change_layer", lambda tx: self._change(tx, layer, expected_revision, audit))

    def _change(self, tx: Tx, layer: Layer, expected_revision: int, audit: AuditFacts) -> Layer:
        params = rows.layer_params(layer) | {"revision": expected_revision}
        before = self._layer(tx, layer)
        hold_mounted(tx, layer.tenant, contents_mounted(layer.terms.mounts, before.terms.mounts))
        changed = tx.execute(sql.change_layer, params).fetchall()
        if not changed:
            raise RevisionMoved(layer.id, expected=expected_revision, actual=before.revision)
        self._audit.append(tx, audit)
        return replace(layer, revision=changed[0]["revision"])

    def _layer(self, tx: Tx, layer: Layer) -> Layer:
        found = tx.execute(sql.get_layer, rows.layer_params(layer)).fetchone()
        if found is None:
            raise LayerNotFound(layer.level, layer.id)
        return rows.layer_of(found)


class SqliteUsers:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, user: User, audit: AuditFacts) -> None:
        await self._database.write("create_user", lambda tx: self._create(tx, user, audit))

    def _create(self, tx: Tx, user: User, audit: AuditFacts) -> None:
        if not tx.execute(sql.insert_user, rows.user_params(user)).fetchall():
            raise UserExists(user.id)
        self._audit.append(tx, audit)

    async def find(self, tenant: TenantId, id: UserId) -> User | None:
        found = self._database.read(sql.get_user, {"tenant": tenant, "id": id})
        return rows.user_of(found[0]) if found else None

    async def list(self, tenant: TenantId, *, after: UserId | None, limit: int) -> Sequence[User]:
        found = self._database.read(sql.list_users, {"tenant": tenant, "after": after or "", "limit": limit})
        return [rows.user_of(row) for row in found]

    async def change(self, user: User, audit: AuditFacts, *, expected_version: int) -> User:
        return await self._database.write("change_user", lambda tx: self._change(tx, user, expected_version, audit))

    def _change(self, tx: Tx, user: User, expected_version: int, audit: AuditFacts) -> User:
        params = rows.user_params(user) | {"version": expected_version}
        owners = {row["id"] for row in tx.execute(sql.acting_owners, {"tenant": user.tenant}).fetchall()}
        if owners == {user.id} and not user.is_acting_owner:
            raise LastOwner(user.id)
        changed = tx.execute(sql.change_user, params).fetchall()
        if not changed:
            found = tx.execute(sql.get_user, params).fetchone()
            if found is None:
                raise UserNotFound(user.id)
            raise RevisionMoved(user.id, expected=expected_version, actual=found["version"])
        self._audit.append(tx, audit)
        return replace(user, version=changed[0]["version"])
