"""Packs in a SQLite file."""

from collections.abc import Mapping, Sequence

from turnkeeper.errors import PackImmutable, PackNotFound
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import TenantId
from turnkeeper.model.pack import PackOverride, PushedPack
from turnkeeper.stores import packs as rows
from turnkeeper.stores.rows import Params
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqlitePacks:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def push(self, pack: PushedPack, audit: AuditFacts) -> PushedPack:
        return await self._database.write("push_pack", lambda tx: self._push(tx, pack, audit))

    def _push(self, tx: Tx, pack: PushedPack, audit: AuditFacts) -> PushedPack:
        params = rows.pack_params(pack)
        tx.execute(sql.insert_pack, params)
        kept = rows.pack_of(tx.execute(sql.get_pack, params).fetchone())
        if kept.hash != pack.hash:
            raise PackImmutable(kept.pin.ref)
        self._audit.append(tx, audit)
        return kept

    async def get(self, tenant: TenantId, pack_id: str, version: str | None = None) -> PushedPack:
        if version is None:
            found = self._database.read(sql.newest_pack, {"tenant": tenant, "id": pack_id})
        else:
            found = self._database.read(sql.get_pack, rows.place_params(tenant, pack_id, version))
        if not found:
            raise PackNotFound(pack_id if version is None else f"{pack_id}@{version}")
        return rows.pack_of(found[0])

    async def list(self, tenant: TenantId, *, after: tuple[str, str] | None, limit: int) -> Sequence[PushedPack]:
        found = self._database.read(sql.list_packs, rows.page_params(tenant, after, limit))
        return [rows.pack_of(row) for row in found]

    async def overrides(self, tenant: TenantId, pack_id: str) -> Mapping[str, PackOverride]:
        found = self._database.read(sql.pack_overrides, {"tenant": tenant, "pack_id": pack_id})
        return {row["key"]: rows.override_of(row) for row in found}

    async def set_override(self, tenant: TenantId, pack_id: str, override: PackOverride, audit: AuditFacts) -> None:
        params = rows.override_params(tenant, pack_id, override)
        await self._database.write("set_override", lambda tx: self._set_override(tx, params, audit))

    def _set_override(self, tx: Tx, params: Params, audit: AuditFacts) -> None:
        tx.execute(sql.set_pack_override, params)
        self._audit.append(tx, audit)

    async def drop_override(self, tenant: TenantId, pack_id: str, key: str, audit: AuditFacts) -> bool:
        params = {"tenant": tenant, "pack_id": pack_id, "key": key}
        return await self._database.write("drop_override", lambda tx: self._drop_override(tx, params, audit))

    def _drop_override(self, tx: Tx, params: Params, audit: AuditFacts) -> bool:
        dropped = tx.execute(sql.drop_pack_override, params).fetchall()
        self._audit.append(tx, audit)
        return bool(dropped)
