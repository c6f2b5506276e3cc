"""All that goes on in a tenant, in a SQLite file."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from turnkeeper.model.ids import RunId, TenantId, UserId
from turnkeeper.model.node import HeldLease
from turnkeeper.model.usage import Span, SpentBy
from turnkeeper.ports.overview import MOST_LEASES, FoundRuns, SoughtRuns
from turnkeeper.stores import rows
from turnkeeper.stores.overview import Adding, held_lease_of, runs_params
from turnkeeper.stores.sqlite.database import SqliteDatabase, sql

RUNS_AT_ONCE = 2_000


class SqliteOverview:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def runs(
        self, tenant: TenantId, *, user: UserId | None, sought: SoughtRuns, before: RunId | None, limit: int
    ) -> FoundRuns:
        place = runs_params(tenant, user, sought, before, limit)
        place["statuses"] = rows.json_text(sorted(sought.statuses)) if sought.statuses else None
        query = sql.live_runs if sought.is_live else sql.walk_runs
        found = [rows.run_of(row) for row in self._database.read(query, place)]
        if len(found) > limit:
            return FoundRuns(runs=found[:limit], next=found[limit - 1].id)
        walked = [] if sought.is_live else self._database.read(sql.last_walked_run, place)
        return FoundRuns(runs=found, next=RunId(walked[0]["id"]) if walked else None)

    async def leases(self, tenant: TenantId) -> Sequence[HeldLease]:
        place = {"tenant": tenant, "limit": MOST_LEASES}
        return [held_lease_of(row) for row in self._database.read(sql.leases_held, place)]

    async def usage(self, tenant: TenantId, *, by: Span, since: datetime, until: datetime) -> Sequence[SpentBy]:
        adding = Adding(by, since, until)
        place = adding.params | {"tenant": tenant, "limit": RUNS_AT_ONCE}
        while page := self._database.read(sql.usage_page, place):
            place |= adding.add(page)
            await asyncio.sleep(0)
        return adding.told

    async def runs_of_month(self, tenant: TenantId, month: str) -> int:
        found = self._database.read(sql.read_run_count, {"tenant": tenant, "month": month})
        return int(found[0]["runs"]) if found else 0
