"""What runs did to the world, in a PostgreSQL database."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from turnkeeper.errors import LeaseLost
from turnkeeper.model.effect import Effect, EffectStatus
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import RunId, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.stores import rows
from turnkeeper.stores.effects import effect_of, effect_params, finished_params, may_begin, told_of
from turnkeeper.stores.postgres.database import PostgresDatabase, Tx, sql


class PostgresEffects:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def begin(
        self,
        lease: Lease,
        first_run: RunId,
        key: str,
        *,
        at: datetime,
        repeatable: bool,
        about: Mapping[str, Any] | None = None,
    ) -> Effect:
        return await self._database.finish(self._begin(lease, first_run, key, at, repeatable, about))

    async def _begin(
        self,
        lease: Lease,
        first_run: RunId,
        key: str,
        at: datetime,
        repeatable: bool,
        about: Mapping[str, Any] | None,
    ) -> Effect:
        place = effect_params(lease, first_run, key, at)
        async with self._database.transaction("begin_effect") as tx:
            found = await tx.one(sql.get_effect, place)
            known = effect_of(found) if found else None
            if known is not None and known.status is EffectStatus.DONE:
                return known
            # Whoever wrote it had the lease before us: what was read is still so if we hold it.
            no = await self._hold(tx, lease)
            if known is None or may_begin(known, repeatable=repeatable):
                await tx.run(sql.begin_effect, place)
                type = FeedType.TOOL_STARTED
            else:
                await tx.run(sql.end_effect, finished_params(place, EffectStatus.UNKNOWN))
                type = FeedType.TOOL_FINISHED
            effect = effect_of((await tx.run(sql.get_effect, place))[0])
            await self._tell(tx, lease, no, type, effect, at, about)
            return effect

    async def finish(
        self,
        lease: Lease,
        first_run: RunId,
        key: str,
        *,
        at: datetime,
        status: EffectStatus,
        result: Any = None,
        result_lost: bool = False,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        place = finished_params(effect_params(lease, first_run, key, at), status, result, result_lost=result_lost)
        await self._database.finish(self._finish(lease, place, at, about))

    async def _finish(self, lease: Lease, place: rows.Params, at: datetime, about: Mapping[str, Any] | None) -> None:
        async with self._database.transaction("finish_effect") as tx:
            no = await self._hold(tx, lease)
            await tx.run(sql.end_effect, place)
            effect = effect_of((await tx.run(sql.get_effect, place))[0])
            await self._tell(tx, lease, no, FeedType.TOOL_FINISHED, effect, at, about)

    async def list(self, tenant: TenantId, first_run: RunId) -> Sequence[Effect]:
        place = {"tenant": tenant, "run_id": first_run}
        return [effect_of(row) for row in await self._database.read(sql.list_effects, place)]

    async def _hold(self, tx: Tx, lease: Lease) -> int:
        held = await tx.one(sql.hold_lease, rows.lease_params(lease))
        if held is None:
            raise LeaseLost(lease.run_id)
        no: int = held["last_feed_no"]
        return no

    async def _tell(
        self,
        tx: Tx,
        lease: Lease,
        no: int,
        type: FeedType,
        effect: Effect,
        at: datetime,
        about: Mapping[str, Any] | None,
    ) -> None:
        said = told_of(effect, about)
        await tx.run(sql.append_feed, rows.feed_params(lease.tenant, lease.subject, no, type, lease.run_id, at, said))
