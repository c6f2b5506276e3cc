"""The buckets of tenants in a PostgreSQL database."""

from datetime import datetime

from turnkeeper.model.ids import TenantId
from turnkeeper.model.policy import Rate
from turnkeeper.stores import rows
from turnkeeper.stores.buckets import drawn
from turnkeeper.stores.postgres.database import PostgresDatabase, sql

MESSAGES = "messages"


class PostgresBuckets:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def take(self, tenant: TenantId, rate: Rate, *, wanted: int, at: datetime) -> float:
        return await self._database.finish(self._take(tenant, rate, wanted, rows.micros(at)))

    async def _take(self, tenant: TenantId, rate: Rate, wanted: int, now: int) -> float:
        place = {"tenant": tenant, "name": MESSAGES}
        async with self._database.transaction("take_tokens") as tx:
            full = place | {"tokens": float(rate.burst), "filled_at": now}
            await tx.run(sql.make_bucket, full)
            found = await tx.one(sql.read_bucket, place)
            assert found is not None, "it was made just now"
            taken, left = drawn(found["tokens"], found["filled_at"], rate, wanted=wanted, now=now)
            await tx.run(sql.put_bucket, place | {"tokens": left, "filled_at": max(now, found["filled_at"])})
            return taken
