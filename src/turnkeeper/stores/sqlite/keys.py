"""API keys in a SQLite file."""

from collections.abc import Sequence
from datetime import datetime

from turnkeeper.errors import KeyNotFound, TooManyKeys
from turnkeeper.model.api_key import ApiKey, KeyKind
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import KeyId, TenantId, UserId
from turnkeeper.stores import keys as rows
from turnkeeper.stores.rows import micros
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteKeys:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def add(self, key: ApiKey, audit: AuditFacts, *, most: int) -> None:
        await self._database.write("add_key", lambda tx: self._add(tx, key, audit, most))

    def _add(self, tx: Tx, key: ApiKey, audit: AuditFacts, most: int) -> None:
        params = rows.key_params(key)
        if tx.execute(sql.count_live_keys, params).fetchall()[0]["found"] >= most:
            if key.kind is not KeyKind.LOGIN:
                raise TooManyKeys(most)
            tx.execute(sql.drop_first_login, params)
        tx.execute(sql.drop_old_logins, params)
        tx.execute(sql.add_key, params)
        self._audit.append(tx, audit)

    async def find(self, tenant: TenantId, id: KeyId) -> ApiKey | None:
        found = self._database.read(sql.find_key, {"tenant": tenant, "id": id})
        return rows.key_of(found[0]) if found else None

    async def list(
        self, tenant: TenantId, kind: KeyKind, *, user: UserId | None, before: KeyId | None, limit: int
    ) -> Sequence[ApiKey]:
        place = {"tenant": tenant, "kind": kind.value, "user": user, "before": before or rows.LAST, "limit": limit}
        statement = sql.list_keys if user is None else sql.list_keys_of_user
        return [rows.key_of(row) for row in self._database.read(statement, place)]

    async def revoke(self, tenant: TenantId, id: KeyId, audit: AuditFacts, *, at: datetime) -> ApiKey:
        return await self._database.write("revoke_key", lambda tx: self._revoke(tx, tenant, id, audit, at))

    def _revoke(self, tx: Tx, tenant: TenantId, id: KeyId, audit: AuditFacts, at: datetime) -> ApiKey:
        found = tx.execute(sql.revoke_key, {"tenant": tenant, "id": id, "now": micros(at)}).fetchone()
        if found is None:
            raise KeyNotFound(id)
        self._audit.append(tx, audit)
        return rows.key_of(found)

    async def used(self, tenant: TenantId, id: KeyId, *, at: datetime) -> None:
        params = {"tenant": tenant, "id": id, "now": micros(at)}
        await self._database.write("use_key", lambda tx: tx.execute(sql.use_key, params))
