"""Frozen contexts and saved layouts in a SQLite file."""

from datetime import datetime

from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.stores.rows import micros
from turnkeeper.stores.sqlite.database import SqliteDatabase, sql


class SqliteContexts:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def keep(self, tenant: TenantId, hash: str, canonical: str, *, at: datetime) -> None:
        params = {"tenant": tenant, "hash": hash, "data": canonical, "created_at": micros(at)}
        await self._database.write("keep_context", lambda tx: tx.execute(sql.keep_context, params).fetchall())

    async def find(self, tenant: TenantId, hash: str) -> str | None:
        found = self._database.read(sql.get_context, {"tenant": tenant, "hash": hash})
        return found[0]["data"] if found else None


class SqliteLayouts:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def save(self, tenant: TenantId, session_id: SessionId, layout: str, *, at: datetime) -> None:
        params = {"tenant": tenant, "session_id": session_id, "data": layout, "saved_at": micros(at)}
        await self._database.write("save_layout", lambda tx: tx.execute(sql.put_layout, params).fetchall())

    async def find(self, tenant: TenantId, session_id: SessionId) -> str | None:
        found = self._database.read(sql.get_layout, {"tenant": tenant, "session_id": session_id})
        return found[0]["data"] if found else None

    async def drop(self, tenant: TenantId, session_id: SessionId) -> bool:
        place = {"tenant": tenant, "session_id": session_id}
        return await self._database.write("drop_layout", lambda tx: bool(tx.execute(sql.drop_layout, place).fetchall()))
