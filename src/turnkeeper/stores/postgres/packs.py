"""Packs in a PostgreSQL database."""

from collections.abc import Mapping, Sequence

from turnkeeper.errors import PackImmutable, PackNotFound
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import TenantId
from turnkeeper.model.pack import PackOverride, PushedPack
from turnkeeper.stores import packs as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, sql
from turnkeeper.stores.rows import Params


class PostgresPacks:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def push(self, pack: PushedPack, audit: AuditFacts) -> PushedPack:
        kept = await self._database.finish(self._audit.append(audit, lambda entry: self._push(pack, entry)))
        assert kept is not None
        return kept

    async def _push(self, pack: PushedPack, entry: AuditEntry) -> PushedPack:
        async with self._database.transaction("push_pack") as tx:
            params = rows.pack_params(pack)
            await tx.run(sql.insert_pack, params)
            kept = rows.pack_of((await tx.run(sql.get_pack, params))[0])
            if kept.hash != pack.hash:
                raise PackImmutable(kept.pin.ref)
            await tx.run(sql.append_audit, entry_params(entry))
            return kept

    async def get(self, tenant: TenantId, pack_id: str, version: str | None = None) -> PushedPack:
        if version is None:
            found = await self._database.read(sql.newest_pack, {"tenant": tenant, "id": pack_id})
        else:
            found = await self._database.read(sql.get_pack, rows.place_params(tenant, pack_id, version))
        if not found:
            raise PackNotFound(pack_id if version is None else f"{pack_id}@{version}")
        return rows.pack_of(found[0])

    async def list(self, tenant: TenantId, *, after: tuple[str, str] | None, limit: int) -> Sequence[PushedPack]:
        found = await self._database.read(sql.list_packs, rows.page_params(tenant, after, limit))
        return [rows.pack_of(row) for row in found]

    async def overrides(self, tenant: TenantId, pack_id: str) -> Mapping[str, PackOverride]:
        found = await self._database.read(sql.pack_overrides, {"tenant": tenant, "pack_id": pack_id})
        return {row["key"]: rows.override_of(row) for row in found}

    async def set_override(self, tenant: TenantId, pack_id: str, override: PackOverride, audit: AuditFacts) -> None:
        params = rows.override_params(tenant, pack_id, override)
        await self._database.finish(self._audit.append(audit, lambda entry: self._set_override(params, entry)))

    async def _set_override(self, params: Params, entry: AuditEntry) -> bool:
        async with self._database.transaction("set_override") as tx:
            await tx.run(sql.set_pack_override, params)
            await tx.run(sql.append_audit, entry_params(entry))
            return True

    async def drop_override(self, tenant: TenantId, pack_id: str, key: str, audit: AuditFacts) -> bool:
        params = {"tenant": tenant, "pack_id": pack_id, "key": key}
        return bool(
            await self._database.finish(self._audit.append(audit, lambda entry: self._drop_override(params, entry)))
        )

    async def _drop_override(self, params: Params, entry: AuditEntry) -> bool:
        async with self._database.transaction("drop_override") as tx:
            dropped = await tx.run(sql.drop_pack_override, params)
            await tx.run(sql.append_audit, entry_params(entry))
            return bool(dropped)
