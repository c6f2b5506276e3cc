"""What goes out, in a SQLite file."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from turnkeeper.errors import DeliveryNotFound, DeliveryNotOver
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import DeliveryId, NodeId, SessionId, TenantId
from turnkeeper.model.outbound import Delivery, DeliveryStatus
from turnkeeper.stores import outbox as rows
from turnkeeper.stores.rows import Params, micros
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteOutbox:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def claim(self, *, node: NodeId, at: datetime, lease_seconds: float, limit: int) -> Sequence[Delivery]:
        due = {"now": micros(at), "clock": self._database.clock(), "limit": limit}
        # Looking costs nothing; only what is due is worth a write.
        if not self._database.read(sql.due_deliveries, due):
            return ()
        taken = {"node": node, "until": self._database.clock() + int(lease_seconds * 1e6)}
        return await self._database.write("claim_deliveries", lambda tx: _claim(tx, due, taken))

    async def settle(self, delivery: Delivery, *, node: NodeId) -> bool:
        params = rows.settled_params(delivery, node)
        return await self._database.write("settle_delivery", lambda tx: _settle(tx, params))

    async def get(self, tenant: TenantId, delivery_id: DeliveryId) -> Delivery:
        found = self._database.read(sql.get_delivery, {"tenant": tenant, "id": delivery_id})
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
        found = self._database.read(statement, rows.page_params(tenant, session_id, status, before, limit))
        return [rows.delivery_of(row) for row in found]

    async def retry(self, tenant: TenantId, delivery_id: DeliveryId, *, at: datetime, audit: AuditFacts) -> Delivery:
        params = rows.retry_params(tenant, delivery_id, at)
        return await self._database.write("retry_delivery", lambda tx: self._retry(tx, params, audit))

    def _retry(self, tx: Tx, params: Params, audit: AuditFacts) -> Delivery:
        again = tx.execute(sql.retry_delivery, params).fetchall()
        if not again:
            found = tx.execute(sql.get_delivery, params).fetchone()
            if found is None:
                raise DeliveryNotFound(params["id"])
            raise DeliveryNotOver(params["id"], DeliveryStatus(found["status"]))
        self._audit.append(tx, audit)
        return rows.delivery_of(again[0])


def _claim(tx: Tx, due: Params, taken: Params) -> Sequence[Delivery]:
    found = [rows.delivery_of(row) for row in tx.execute(sql.due_deliveries, due).fetchall()]
    for delivery in found:
        tx.execute(sql.claim_delivery, taken | {"tenant": delivery.tenant, "id": delivery.id})
    return [replace(delivery, attempts=delivery.attempts + 1) for delivery in found]


def _settle(tx: Tx, params: Params) -> bool:
    return bool(tx.execute(sql.settle_delivery, params).fetchall())
