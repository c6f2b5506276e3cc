"""What we ask of a database about what goes out. Rows come into it with the commit of their turn, see RunStore."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import DeliveryId, NodeId, SessionId, TenantId
from turnkeeper.model.outbound import Delivery, DeliveryStatus


class OutboxStore(Protocol):
    async def claim(self, *, node: NodeId, at: datetime, lease_seconds: float, limit: int) -> Sequence[Delivery]:
        """Take what is due, of any tenant, so that no other node sends it while the claim lasts.

        They are given as they were before: `pending`, or `sending` for what a node has left behind in the middle of it.
        """

    async def settle(self, delivery: Delivery, *, node: NodeId) -> bool:
        """Say what became of a delivery that this node has claimed. False, and nothing is said, once it lost it."""

    async def get(self, tenant: TenantId, delivery_id: DeliveryId) -> Delivery:
        """Raises DeliveryNotFound, also for one of another tenant."""

    async def list(
        self,
        tenant: TenantId,
        *,
        session_id: SessionId | None,
        status: DeliveryStatus | None,
        before: DeliveryId | None,
        limit: int,
    ) -> Sequence[Delivery]:
        """Newest first, from just before the given one."""

    async def retry(self, tenant: TenantId, delivery_id: DeliveryId, *, at: datetime, audit: AuditFacts) -> Delivery:
        """Have one that failed, or of which nobody knows, sent once more under its id.

        Raises DeliveryNotFound or DeliveryNotOver.
        """
