"""Deliveries: what went out through channels, what did not, and sending it once more."""

from collections.abc import Awaitable, Callable, Sequence

from turnkeeper.errors import DeliveryNotFound, NotAllowed
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import DeliveryId, is_id
from turnkeeper.model.outbound import Delivery, DeliveryStatus
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.session import Session
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.outbox import OutboxStore


class Deliveries:
    """Those of a session are for whoever may open it; all of a tenant, and sending again, for its owner and admins."""

    def __init__(
        self,
        store: OutboxStore,
        clock: Clock,
        *,
        session_of: Callable[..., Awaitable[Session]],
        audit: Callable[..., AuditFacts],
        hurry: Callable[[], None],
    ) -> None:
        self._store, self._clock = store, clock
        self._session_of, self._audit, self._hurry = session_of, audit, hurry

    async def list(
        self,
        *,
        session_id: str | None = None,
        status: DeliveryStatus | None = None,
        principal: Principal = LOCAL,
        before: str | None = None,
        limit: int = 50,
    ) -> Sequence[Delivery]:
        """Newest first."""
        session = None if session_id is None else await self._session_of(session_id, principal=principal)
        if session is None:
            self._check_sees_all(principal)
        return await self._store.list(
            principal.tenant,
            session_id=None if session is None else session.id,
            status=status,
            before=None if before is None else DeliveryId(before),
            limit=limit,
        )

    async def retry(self, delivery_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> Delivery:
        """Send one again that failed, or of which nobody knows whether it went out; under the same id.

        Raises DeliveryNotFound or DeliveryNotOver.
        """
        self._check_sees_all(principal)
        if not is_id(delivery_id):
            raise DeliveryNotFound(DeliveryId(delivery_id))
        audit = self._audit(Command.RETRY_DELIVERY, principal, trace_id, delivery_id=delivery_id)
        at = self._clock.now()
        again = await self._store.retry(principal.tenant, DeliveryId(delivery_id), at=at, audit=audit)
        self._hurry()
        return again

    def _check_sees_all(self, principal: Principal) -> None:
        if not principal.sees_whole_tenant:
            raise NotAllowed("Only owner and admin see all deliveries, and send again. Ask for those of your session.")
