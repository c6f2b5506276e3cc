"""The buckets of tenants in a SQLite file."""

from datetime import datetime

from turnkeeper.model.ids import TenantId
from turnkeeper.model.policy import Rate
from turnkeeper.stores import rows
from turnkeeper.stores.buckets import drawn
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql

MESSAGES = "messages"


class SqliteBuckets:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def take(self, tenant: TenantId, rate: Rate, *, wanted: int, at: datetime) -> float:
        now = rows.micros(at)
        return await self._database.write("take_tokens", lambda tx: self._take(tx, tenant, rate, wanted, now))

    def _take(self, tx: Tx, tenant: TenantId, rate: Rate, wanted: int, now: int) -> float:
        place = {"tenant": tenant, "name": MESSAGES}
        tx.execute(sql.make_bucket, place | {"tokens": float(rate.burst), "filled_at": now})
        found = tx.execute(sql.read_bucket, place).fetchone()
        taken, left = drawn(found["tokens"], found["filled_at"], rate, wanted=wanted, now=now)
        tx.execute(sql.put_bucket, place | {"tokens": left, "filled_at": max(now, found["filled_at"])})
        return taken
