"""How far pointers and outputs reach, in a SQLite file."""

from collections.abc import Sequence

from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.model.mount import Mount
from turnkeeper.stores import substrate as rows
from turnkeeper.stores.rows import json_text
from turnkeeper.stores.sqlite.database import SqliteDatabase, sql


class SqliteReach:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def holds_manifest(
        self, tenant: TenantId, session_id: SessionId, pointers: Sequence[Mount], manifest: str
    ) -> bool:
        followed, fixed = rows.followed_and_fixed(pointers)
        place = {"tenant": tenant, "session_id": session_id, "hash": manifest, "followed": json_text(followed)}
        return manifest in fixed or bool(self._database.read(sql.manifest_in_reach, place))

    async def holds_artifact(
        self, tenant: TenantId, session_id: SessionId, pointers: Sequence[Mount], sha256: str
    ) -> bool:
        followed, fixed = rows.followed_and_fixed(pointers)
        place = {"tenant": tenant, "session_id": session_id, "hash": sha256}
        reached = {"followed": json_text(followed), "fixed": json_text(fixed)}
        return bool(self._database.read(sql.content_in_reach, place | reached))
