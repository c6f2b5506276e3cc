"""Deliveries: what went out through channels and what did not."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from turnkeeper.errors import DeliveryNotFound, DeliveryNotOver, NotAllowed, SessionNotFound
from turnkeeper.model.outbound import DeliveryStatus
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.once import once
from turnkeeper.server.openapi import problems
from turnkeeper.server.parameters import Limit
from turnkeeper.server.wire import Id, Page, page_of
from turnkeeper.server.wire_channels import DeliveryOut

router = APIRouter(prefix="/deliveries", tags=["channels"], route_class=GuardedRoute)


@router.get(
    "", name="list_deliveries", response_model=Page[DeliveryOut], responses=problems(NotAllowed, SessionNotFound)
)
@asks("deliveries:read")
async def list_deliveries(
    keeper: Keeper,
    caller: Caller,
    session_id: Annotated[Id | None, Query()] = None,
    status: DeliveryStatus | None = None,
    limit: Limit = 50,
    cursor: Annotated[Id | None, Query(description="`next` of the page before.")] = None,
) -> Page[DeliveryOut]:
    """Newest first: those of a session that one may open, or for owner and admin all of the tenant."""
    found = await keeper.deliveries.list(
        session_id=session_id, status=status, principal=caller, before=cursor, limit=limit + 1
    )
    return page_of([DeliveryOut.of(delivery) for delivery in found], limit, [delivery.id for delivery in found])


@router.post(
    "/{delivery_id}/retry",
    name="retry_delivery",
    status_code=202,
    response_model=DeliveryOut,
    responses=problems(NotAllowed, DeliveryNotFound, DeliveryNotOver),
)
@asks("deliveries:manage")
@once
async def retry_delivery(delivery_id: str, request: Request, keeper: Keeper, caller: Caller) -> DeliveryOut:
    """Send one again that failed, or of which nobody knows whether it went out: then it may arrive twice."""
    trace_id = exchange_of(request).trace_id
    return DeliveryOut.of(await keeper.deliveries.retry(delivery_id, principal=caller, trace_id=trace_id))
