"""Frozen contexts and saved layouts in a PostgreSQL database."""

from datetime import datetime

from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.stores.postgres.database import PostgresDatabase, sql
from turnkeeper.stores.rows import micros


class PostgresContexts:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def keep(self, tenant: TenantId, hash: str, canonical: str, *, at: datetime) -> None:
        params = {"tenant": tenant, "hash": hash, "data": canonical, "created_at": micros(at)}
        await self._database.finish(self._database.write("keep_context", sql.keep_context, params))

    async def find(self, tenant: TenantId, hash: str) -> str | None:
        found = await self._database.read(sql.get_context, {"tenant": tenant, "hash": hash})
        return found[0]["data"] if found else None


class PostgresLayouts:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def save(self, tenant: TenantId, session_id: SessionId, layout: str, *, at: datetime) -> None:
        params = {"tenant": tenant, "session_id": session_id, "data": layout, "saved_at": micros(at)}
        await self._database.finish(self._database.write("save_layout", sql.put_layout, params))

    async def find(self, tenant: TenantId, session_id: SessionId) -> str | None:
        found = await self._database.read(sql.get_layout, {"tenant": tenant, "session_id": session_id})
        return found[0]["data"] if found else None

    async def drop(self, tenant: TenantId, session_id: SessionId) -> bool:
        place = {"tenant": tenant, "session_id": session_id}
        return bool(await self._database.finish(self._database.write("drop_layout", sql.drop_layout, place)))
