"""What goes out, in a PostgreSQL database."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from turnkeeper.errors import DeliveryNotFound, DeliveryNotOver
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import DeliveryId, NodeId, SessionId, TenantId
from turnkeeper.model.outbound import Delivery, DeliveryStatus
from turnkeeper.stores import outbox as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, sql
from turnkeeper.stores.postgres.held import in_micros
from turnkeeper.stores.rows import Params, micros


class PostgresOutbox:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def claim(self, *, node: NodeId, at: datetime, lease_seconds: float, limit: int) -> Sequence[Delivery]:
        due = {"now": micros(at), "limit": limit}
        # Looking costs little; only what is due is worth a write.
        if not await self._database.read(sql.due_deliveries, due):
            return ()
        taken = {"node": node, "lease_micros": in_micros(lease_seconds)}
        return await self._database.finish(self._claim(due, taken))

    async def _claim(self, due: Params, taken: Params) -> Sequence[Delivery]:
        async with self._database.transaction("claim_deliveries") as tx:
            found = [rows.delivery_of(row) for row in await tx.run(sql.due_deliveries, due)]
            for delivery in found:
                await tx.run(sql.claim_delivery, taken | {"tenant": delivery.tenant, "id": delivery.id})
            return [replace(delivery, attempts=delivery.attempts + 1) for delivery in found]

    async def settle(self, delivery: Delivery, *, node: NodeId) -> bool:
        params = rows.settled_params(delivery, node)
        settled = self._database.write("settle_delivery", sql.settle_delivery, params)
        return bool(await self._database.finish(settled))

    async def get(self, tenant: TenantId, delivery_id: DeliveryId) -> Delivery:
        found = await self._database.read(sql.get_delivery, {"tenant": tenant, "id": delivery_id})
        if not found:
            raise DeliveryNotFound(delivery_id)
        return rows.delivery_of(found[0])

    async def list(
        self,
        tenant: TenantId,
        *,
        session_id: SessionId | None,
        status: DeliveryStatus | None,
        before: DeliveryId | None,
        limit: int,
    ) -> Sequence[Delivery]:
        statement = sql.list_deliveries if session_id is None else sql.deliveries_of_session
        found = await self._database.read(statement, rows.page_params(tenant, session_id, status, before, limit))
        return [rows.delivery_of(row) for row in found]

    async def retry(self, tenant: TenantId, delivery_id: DeliveryId, *, at: datetime, audit: AuditFacts) -> Delivery:
        params = rows.retry_params(tenant, delivery_id, at)
        again = await self._database.finish(self._audit.append(audit, lambda entry: self._retry(params, entry)))
        assert again is not None
        return again

    async def _retry(self, params: Params, entry: AuditEntry) -> Delivery:
        async with self._database.transaction("retry_delivery") as tx:
            again = await tx.one(sql.retry_delivery, params)
            if again is None:
                found = await tx.one(sql.get_delivery, params)
                if found is None:
                    raise DeliveryNotFound(params["id"])
                raise DeliveryNotOver(params["id"], DeliveryStatus(found["status"]))
            await tx.run(sql.append_audit, entry_params(entry))
            return rows.delivery_of(again)
