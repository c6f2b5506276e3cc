"""What was answered to requests, in a PostgreSQL database."""

from datetime import datetime

from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.ports.runs import RequestKey
from turnkeeper.stores.answers import answered, claim_params, claimed_params
from turnkeeper.stores.postgres.database import PostgresDatabase, sql


class PostgresAnswers:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def claim(
        self, tenant: TenantId, user: UserId, request: RequestKey, *, about: str, at: datetime, stale: datetime
    ) -> str | None:
        params = claim_params(tenant, user, request, about, at, stale)
        if await self._database.write("claim_request", sql.claim_request, params):
            return None
        place = {"tenant": tenant, "user": user, "key": request.key}
        found = await self._database.read(sql.claimed_request, place)
        return answered(dict(found[0]) if found else None, request)

    async def answer(self, tenant: TenantId, user: UserId, key: str, answer: str, *, at: datetime) -> None:
        params = claimed_params(tenant, user, key, at) | {"answer": answer}
        await self._database.write("answer_request", sql.answer_request, params)

    async def release(self, tenant: TenantId, user: UserId, key: str, *, at: datetime) -> None:
        await self._database.write("release_request", sql.release_request, claimed_params(tenant, user, key, at))
