"""API keys in a PostgreSQL database."""

from collections.abc import Sequence
from datetime import datetime

from turnkeeper.errors import KeyNotFound, TooManyKeys
from turnkeeper.model.api_key import ApiKey, KeyKind
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import KeyId, TenantId, UserId
from turnkeeper.stores import keys as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, sql
from turnkeeper.stores.rows import Params, micros


class PostgresKeys:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def add(self, key: ApiKey, audit: AuditFacts, *, most: int) -> None:
        await self._database.finish(self._audit.append(audit, lambda entry: self._add(key, entry, most)))

    async def _add(self, key: ApiKey, entry: AuditEntry, most: int) -> bool:
        params = rows.key_params(key)
        async with self._database.transaction("add_key") as tx:
            await tx.run(sql.lock_keys, params)
            found = await tx.one(sql.count_live_keys, params)
            if found is not None and found["found"] >= most:
                if key.kind is not KeyKind.LOGIN:
                    raise TooManyKeys(most)
                await tx.run(sql.drop_first_login, params)
            await tx.run(sql.drop_old_logins, params)
            await tx.run(sql.add_key, params)
            await tx.run(sql.append_audit, entry_params(entry))
            return True

    async def find(self, tenant: TenantId, id: KeyId) -> ApiKey | None:
        found = await self._database.read(sql.find_key, {"tenant": tenant, "id": id})
        return rows.key_of(found[0]) if found else None

    async def list(
        self, tenant: TenantId, kind: KeyKind, *, user: UserId | None, before: KeyId | None, limit: int
    ) -> Sequence[ApiKey]:
        place = {"tenant": tenant, "kind": kind.value, "user": user, "before": before or rows.LAST, "limit": limit}
        statement = sql.list_keys if user is None else sql.list_keys_of_user
        return [rows.key_of(row) for row in await self._database.read(statement, place)]

    async def revoke(self, tenant: TenantId, id: KeyId, audit: AuditFacts, *, at: datetime) -> ApiKey:
        params = {"tenant": tenant, "id": id, "now": micros(at)}
        revoked = await self._database.finish(self._audit.append(audit, lambda entry: self._revoke(params, entry)))
        assert revoked is not None, "it was there, or KeyNotFound was raised"
        return revoked

    async def _revoke(self, params: Params, entry: AuditEntry) -> ApiKey:
        async with self._database.transaction("revoke_key") as tx:
            found = await tx.one(sql.revoke_key, params)
            if found is None:
                raise KeyNotFound(params["id"])
            await tx.run(sql.append_audit, entry_params(entry))
            return rows.key_of(found)

    async def used(self, tenant: TenantId, id: KeyId, *, at: datetime) -> None:
        params = {"tenant": tenant, "id": id, "now": micros(at)}
        await self._database.finish(self._database.write("use_key", sql.use_key, params))
