"""What a SQLite file holds of sessions that it does not keep."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from turnkeeper.errors import CarriedStale, SealKeyNotFound, SessionMoved
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.seal import SealKey
from turnkeeper.ports.custody import DeviceFields, RevisionMark
from turnkeeper.stores import custody as rows
from turnkeeper.stores.rows import micros
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteDevices:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def load(self, tenant: TenantId, user: UserId, session_id: SessionId) -> DeviceFields | None:
        found = self._database.read(sql.load_device, rows.session_params(tenant, user, session_id))
        return rows.device_of(found[0]) if found else None

    async def keep(self, tenant: TenantId, kept: DeviceFields, *, at: datetime) -> None:
        await self._database.write("keep_device", lambda tx: keep_device(tx, tenant, kept, at))


class SqliteSeals:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def keys(self, tenant: TenantId) -> Sequence[SealKey]:
        return [rows.seal_of(row) for row in self._database.read(sql.list_seal_keys, {"tenant": tenant})]

    async def make_first(self, key: SealKey) -> None:
        params = rows.seal_params(key)
        await self._database.write("make_seal_key", lambda tx: tx.execute(sql.make_first_seal_key, params))

    async def add(self, key: SealKey, audit: AuditFacts) -> None:
        await self._database.write("add_seal_key", lambda tx: self._add(tx, key, audit))

    def _add(self, tx: Tx, key: SealKey, audit: AuditFacts) -> None:
        tx.execute(sql.add_seal_key, rows.seal_params(key))
        self._audit.append(tx, audit)

    async def retire(self, tenant: TenantId, id: str, audit: AuditFacts, *, at: datetime) -> None:
        await self._database.write("retire_seal_key", lambda tx: self._retire(tx, tenant, id, audit, at))

    def _retire(self, tx: Tx, tenant: TenantId, id: str, audit: AuditFacts, at: datetime) -> None:
        if not tx.execute(sql.retire_seal_key, {"tenant": tenant, "id": id, "now": micros(at)}).rowcount:
            raise SealKeyNotFound(id)
        self._audit.append(tx, audit)


class SqliteRevisions:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def newest(self, tenant: TenantId, user: UserId, session_id: SessionId) -> int:
        found = self._database.read(sql.newest_revision, rows.session_params(tenant, user, session_id))
        return found[0]["revision"] if found else 0

    async def of_user(self, tenant: TenantId, user: UserId) -> Sequence[Mapping[str, Any]]:
        found = self._database.read(sql.revisions_of_user, {"tenant": tenant, "user": user})
        return [dict(row) for row in found]


def keep_device(tx: Tx, tenant: TenantId, kept: DeviceFields, at: datetime) -> None:
    """Raises SessionMoved when something else was kept meanwhile."""
    if not tx.execute(sql.keep_device, rows.device_params(tenant, kept, at)).rowcount:
        raise SessionMoved(kept.session_id, expected_revision=kept.version)


def remember_revision(tx: Tx, tenant: TenantId, mark: RevisionMark, at: datetime) -> None:
    """Raises CarriedStale when the session has gone on from a newer state meanwhile."""
    params = rows.mark_params(tenant, mark, at)
    if not tx.execute(sql.remember_revision, params).rowcount:
        newest = tx.execute(sql.newest_revision, params).fetchall()[0]["revision"]
        raise CarriedStale(mark.session_id, sent=mark.sent, newest=newest)
