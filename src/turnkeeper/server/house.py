"""The house itself: is it alive, is it ready, and what has it counted."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from turnkeeper.errors import NotAllowed
from turnkeeper.server.addresses import is_loopback
from turnkeeper.server.asking import check_asked
from turnkeeper.server.auth import authenticate
from turnkeeper.server.guard import Keeper, tokens_of
from turnkeeper.server.openapi import problems, problems_of_readiness
from turnkeeper.server.version import own_version
from turnkeeper.server.wire import Health

router = APIRouter(tags=["house"])

READERS = ("metrics:manage", "metrics:operate")
"""Whose token opens the numbers of all tenants."""


@router.get("/healthz", name="health")
async def health() -> Health:
    """This process answers."""
    return Health(status="alive", version=own_version())


@router.get("/readyz", name="readiness", responses=problems_of_readiness())
async def readiness(keeper: Keeper) -> Health:
    """This node takes messages: its database can be written, and it is not shutting down."""
    await keeper.ping()
    return Health(status="ready", version=own_version())


@router.get(
    "/metrics",
    name="metrics",
    response_class=Response,
    responses={
        200: {"description": "Names and numbers", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(NotAllowed),
    },
    openapi_extra={"security": [{"HTTPBearer": []}, {}]},
)
async def metrics(request: Request, keeper: Keeper) -> Response:
    """What was counted in this process, in the text format of Prometheus.

    Without a token while the server listens on this machine alone, unless it is set otherwise.
    """
    setting = keeper.settings.metrics
    if setting == "token" or (setting == "loopback" and not is_loopback(keeper.settings.host)):
        check_asked(READERS, await authenticate(request, tokens_of(request), keeper.directory))
    return Response(keeper.metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")
