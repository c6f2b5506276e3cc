"""What runs did to the world, in a SQLite file."""

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
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteEffects:
    def __init__(self, database: SqliteDatabase) -> None:
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
        return await self._database.write(
            "begin_effect", lambda tx: self._begin(tx, lease, first_run, key, at, repeatable, about)
        )

    def _begin(
        self,
        tx: Tx,
        lease: Lease,
        first_run: RunId,
        key: str,
        at: datetime,
        repeatable: bool,
        about: Mapping[str, Any] | None,
    ) -> Effect:
        place = effect_params(lease, first_run, key, at)
        found = tx.execute(sql.get_effect, place).fetchone()
        known = effect_of(found) if found else None
        if known is not None and known.status is EffectStatus.DONE:
            return known
        no = self._hold(tx, lease)
        if known is None or may_begin(known, repeatable=repeatable):
            tx.execute(sql.begin_effect, place)
            type = FeedType.TOOL_STARTED
        else:
            tx.execute(sql.end_effect, finished_params(place, EffectStatus.UNKNOWN))
            type = FeedType.TOOL_FINISHED
        effect = effect_of(tx.execute(sql.get_effect, place).fetchone())
        self._tell(tx, lease, no, type, effect, at, about)
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
        await self._database.write("finish_effect", lambda tx: self._finish(tx, lease, place, at, about))

    def _finish(self, tx: Tx, lease: Lease, place: rows.Params, at: datetime, about: Mapping[str, Any] | None) -> None:
        no = self._hold(tx, lease)
        tx.execute(sql.end_effect, place)
        effect = effect_of(tx.execute(sql.get_effect, place).fetchone())
        self._tell(tx, lease, no, FeedType.TOOL_FINISHED, effect, at, about)

    async def list(self, tenant: TenantId, first_run: RunId) -> Sequence[Effect]:
        place = {"tenant": tenant, "run_id": first_run}
        return [effect_of(row) for row in self._database.read(sql.list_effects, place)]

    def _hold(self, tx: Tx, lease: Lease) -> int:
        held = tx.execute(sql.hold_lease, rows.lease_params(lease)).fetchall()
        if not held:
            raise LeaseLost(lease.run_id)
        no: int = held[0]["last_feed_no"]
        return no

    def _tell(
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
        tx.execute(sql.append_feed, rows.feed_params(lease.tenant, lease.subject, no, type, lease.run_id, at, said))
