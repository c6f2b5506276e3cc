"""What a session and a user hold, row by row, out of a PostgreSQL database."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from turnkeeper.errors import SessionNotFound
from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.ports.erasure import Place
from turnkeeper.stores import erasing as rows
from turnkeeper.stores.postgres.database import PostgresDatabase, sql
from turnkeeper.stores.rows import Params

OF_A_RUN = ("checkpoints", "effects")


class PostgresExports:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def rows(self, tenant: TenantId, place: Place, what: str) -> AsyncIterator[Mapping[str, Any]]:
        if what not in OF_A_RUN:
            async for row in self._pages(tenant, place, what):
                yield row
            return
        async for run in self._pages(tenant, place, "runs"):
            async for row in self._pages(tenant, (run["id"], place[1]), what):
                yield row

    async def _pages(self, tenant: TenantId, place: Place, what: str) -> AsyncIterator[Mapping[str, Any]]:
        statement, key = getattr(sql, f"export_{what}"), rows.key_of(what)
        params: Params = rows.place_params(tenant, place) | {"after": rows.first_key(what), "limit": rows.AT_ONCE}
        while page := await self._database.read(statement, params):
            for row in page:
                yield rows.exported(row)
            params |= {"after": page[-1][key]}

    async def contacts(self, tenant: TenantId, user: UserId) -> Sequence[Mapping[str, Any]]:
        found = await self._database.read(sql.export_contacts, {"tenant": tenant, "user": user})
        return [rows.exported(row) for row in found]

    async def session(self, tenant: TenantId, session_id: SessionId) -> Mapping[str, Any]:
        found = await self._database.read(sql.get_session, {"tenant": tenant, "session_id": session_id})
        if not found:
            raise SessionNotFound(session_id)
        return rows.exported(found[0])
