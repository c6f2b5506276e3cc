"""The buckets of tenants in a SQLite file."""

from turnkeeper.model.ids import TenantId
from turnkeeper.model.policy import Rate
from turnkeeper.ports.buckets import MESSAGES
from turnkeeper.stores.buckets import drawn, filled
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteBuckets:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def take(self, tenant: TenantId, rate: Rate, *, wanted: int, name: str = MESSAGES) -> float:
        return await self._database.write("take_tokens", lambda tx: self._take(tx, tenant, rate, wanted, name))

    async def left(self, tenant: TenantId, rate: Rate, *, name: str = MESSAGES) -> float:
        found = self._database.read(sql.look_into_bucket, {"tenant": tenant, "name": name})
        if not found:
            return float(rate.burst)
        return filled(found[0]["tokens"], found[0]["filled_at"], rate, now=self._database.clock())

    def _take(self, tx: Tx, tenant: TenantId, rate: Rate, wanted: int, name: str) -> float:
        place, now = {"tenant": tenant, "name": name}, self._database.clock()
        tx.execute(sql.make_bucket, place | {"tokens": float(rate.burst), "filled_at": now})
        found = tx.execute(sql.read_bucket, place).fetchone()
        taken, left = drawn(found["tokens"], found["filled_at"], rate, wanted=wanted, now=now)
        tx.execute(sql.put_bucket, place | {"tokens": left, "filled_at": max(now, found["filled_at"])})
        return taken
