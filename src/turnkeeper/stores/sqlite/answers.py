"""What was answered to requests, in a SQLite file."""

from datetime import datetime

from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.ports.runs import RequestKey
from turnkeeper.stores import rows
from turnkeeper.stores.answers import answered, claim_params, claimed_params
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteAnswers:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def claim(
        self, tenant: TenantId, user: UserId, request: RequestKey, *, about: str, at: datetime, stale: datetime
    ) -> str | None:
        params = claim_params(tenant, user, request, about, at, stale)
        return await self._database.write("claim_request", lambda tx: self._claim(tx, params, request))

    def _claim(self, tx: Tx, params: rows.Params, request: RequestKey) -> str | None:
        if tx.execute(sql.claim_request, params).fetchall():
            return None
        return answered(tx.execute(sql.claimed_request, params).fetchone(), request)

    async def answer(self, tenant: TenantId, user: UserId, key: str, answer: str, *, at: datetime) -> None:
        params = claimed_params(tenant, user, key, at) | {"answer": answer}
        await self._database.write("answer_request", lambda tx: tx.execute(sql.answer_request, params).fetchall())

    async def release(self, tenant: TenantId, user: UserId, key: str, *, at: datetime) -> None:
        params = claimed_params(tenant, user, key, at)
        await self._database.write("release_request", lambda tx: tx.execute(sql.release_request, params).fetchall())
