"""The buckets of tenants in a PostgreSQL database."""

from turnkeeper.model.ids import TenantId
from turnkeeper.model.policy import Rate
from turnkeeper.ports.buckets import MESSAGES
from turnkeeper.stores.buckets import drawn, filled
from turnkeeper.stores.postgres.database import PostgresDatabase, sql


class PostgresBuckets:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def take(self, tenant: TenantId, rate: Rate, *, wanted: int, name: str = MESSAGES) -> float:
        return await self._database.finish(self._take(tenant, rate, wanted, name))

    async def left(self, tenant: TenantId, rate: Rate, *, name: str = MESSAGES) -> float:
        found = await self._database.read(sql.look_into_bucket, {"tenant": tenant, "name": name})
        if not found:
            return float(rate.burst)
        return filled(found[0]["tokens"], found[0]["filled_at"], rate, now=found[0]["now"])

    async def _take(self, tenant: TenantId, rate: Rate, wanted: int, name: str) -> float:
        place = {"tenant": tenant, "name": name}
        async with self._database.transaction("take_tokens") as tx:
            await tx.run(sql.make_bucket, place | {"tokens": float(rate.burst)})
            found = await tx.one(sql.read_bucket, place)
            assert found is not None, "it was made just now"
            filled_at, now = found["filled_at"], found["now"]
            taken, left = drawn(found["tokens"], filled_at, rate, wanted=wanted, now=now)
            await tx.run(sql.put_bucket, place | {"tokens": left, "filled_at": max(now, filled_at)})
            return taken
