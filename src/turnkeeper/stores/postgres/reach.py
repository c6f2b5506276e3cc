"""How far pointers and outputs reach, in a PostgreSQL database."""

from collections.abc import Sequence

from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.model.mount import Mount
from turnkeeper.stores import substrate as rows
from turnkeeper.stores.postgres.database import PostgresDatabase, sql


class PostgresReach:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def holds_manifest(
        self, tenant: TenantId, session_id: SessionId, pointers: Sequence[Mount], manifest: str
    ) -> bool:
        followed, fixed = rows.followed_and_fixed(pointers)
        place = {"tenant": tenant, "session_id": session_id, "hash": manifest, "followed": followed}
        return manifest in fixed or bool(await self._database.read(sql.manifest_in_reach, place))

    async def holds_artifact(
        self, tenant: TenantId, session_id: SessionId, pointers: Sequence[Mount], sha256: str
    ) -> bool:
        followed, fixed = rows.followed_and_fixed(pointers)
        place = {"tenant": tenant, "session_id": session_id, "hash": sha256}
        reached = {"followed": followed, "fixed": fixed}
        return bool(await self._database.read(sql.content_in_reach, place | reached))
