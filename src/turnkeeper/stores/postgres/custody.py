"""What a PostgreSQL database holds of sessions that it does not keep."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from turnkeeper.errors import CarriedStale, SealKeyNotFound, SessionMoved
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.seal import SealKey
from turnkeeper.ports.custody import DeviceFields, RevisionMark
from turnkeeper.stores import custody as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Tx, sql
from turnkeeper.stores.rows import Params, micros


class PostgresDevices:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def load(self, tenant: TenantId, user: UserId, session_id: SessionId) -> DeviceFields | None:
        found = await self._database.read(sql.load_device, rows.session_params(tenant, user, session_id))
        return rows.device_of(found[0]) if found else None

    async def keep(self, tenant: TenantId, kept: DeviceFields, *, at: datetime) -> None:
        params = rows.device_params(tenant, kept, at)
        if not await self._database.finish(self._database.write("keep_device", sql.keep_device, params)):
            raise SessionMoved(kept.session_id, expected_revision=kept.version)


class PostgresSeals:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def keys(self, tenant: TenantId) -> Sequence[SealKey]:
        return [rows.seal_of(row) for row in await self._database.read(sql.list_seal_keys, {"tenant": tenant})]

    async def make_first(self, key: SealKey) -> None:
        await self._database.finish(self._make_first(rows.seal_params(key)))

    async def _make_first(self, params: Params) -> None:
        async with self._database.transaction("make_seal_key") as tx:
            await tx.run(sql.lock_seal_keys, params)
            await tx.run(sql.make_first_seal_key, params)

    async def add(self, key: SealKey, audit: AuditFacts) -> None:
        await self._database.finish(self._audit.append(audit, lambda entry: self._add(key, entry)))

    async def _add(self, key: SealKey, entry: AuditEntry) -> bool:
        async with self._database.transaction("add_seal_key") as tx:
            await tx.run(sql.add_seal_key, rows.seal_params(key))
            await tx.run(sql.append_audit, entry_params(entry))
            return True

    async def retire(self, tenant: TenantId, id: str, audit: AuditFacts, *, at: datetime) -> None:
        params = {"tenant": tenant, "id": id, "now": micros(at)}
        await self._database.finish(self._audit.append(audit, lambda entry: self._retire(params, entry)))

    async def _retire(self, params: Params, entry: AuditEntry) -> bool:
        async with self._database.transaction("retire_seal_key") as tx:
            if not await tx.run(sql.retire_seal_key, params):
                raise SealKeyNotFound(params["id"])
            await tx.run(sql.append_audit, entry_params(entry))
            return True


class PostgresRevisions:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def newest(self, tenant: TenantId, user: UserId, session_id: SessionId) -> int:
        found = await self._database.read(sql.newest_revision, rows.session_params(tenant, user, session_id))
        return found[0]["revision"] if found else 0

    async def of_user(self, tenant: TenantId, user: UserId) -> Sequence[Mapping[str, Any]]:
        found = await self._database.read(sql.revisions_of_user, {"tenant": tenant, "user": user})
        return [dict(row) for row in found]


async def keep_device(tx: Tx, tenant: TenantId, kept: DeviceFields, at: datetime) -> None:
    """Raises SessionMoved when something else was kept meanwhile."""
    if not await tx.run(sql.keep_device, rows.device_params(tenant, kept, at)):
        raise SessionMoved(kept.session_id, expected_revision=kept.version)


async def remember_revision(tx: Tx, tenant: TenantId, mark: RevisionMark, at: datetime) -> None:
    """Raises CarriedStale when the session has gone on from a newer state meanwhile."""
    params = rows.mark_params(tenant, mark, at)
    if not await tx.run(sql.remember_revision, params):
        newest = await tx.one(sql.newest_revision, params)
        assert newest is not None, "it stood in the way"
        raise CarriedStale(mark.session_id, sent=mark.sent, newest=newest["revision"])
