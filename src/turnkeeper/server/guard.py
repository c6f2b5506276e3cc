"""What happens to a request before its route sees it: who is asking, how much is sent, and is it JSON."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute

from turnkeeper.errors import TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.ports.identities import Identities
from turnkeeper.server.auth import authenticate
from turnkeeper.server.limits import read_body, require_json
from turnkeeper.server.strict_json import read_json


class GuardedRoute(APIRoute):
    """The body stays an ordinary parameter of the route, so that OpenAPI shows it; only its reading is ours."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        field = self.body_field

        async def guarded(request: Request) -> Response:
            try:
                identities: Identities = request.app.state.identities
                authenticate(request, identities)
                if field is not None:
                    request = await _with_body(request, is_required=field.field_info.is_required())
            except TurnkeeperError as error:
                error.stage = "receive"
                raise
            return await handle(request)

        return guarded


class _RequestWithBody(Request):
    """A request whose body has been read and understood already."""

    raw: bytes
    value: Any

    async def body(self) -> bytes:
        return self.raw

    async def json(self) -> Any:
        return self.value


async def _with_body(request: Request, *, is_required: bool) -> Request:
    settings = keeper_of(request).settings
    read = _RequestWithBody(request.scope, request.receive)
    read.raw = await read_body(request, most_bytes=settings.body_bytes)
    if read.raw or is_required:
        if read.raw:
            require_json(request)
        read.value = read_json(read.raw, most_depth=settings.body_depth)
    return read


def keeper_of(request: Request) -> Turnkeeper:
    keeper: Turnkeeper = request.app.state.keeper
    return keeper


Keeper = Annotated[Turnkeeper, Depends(keeper_of)]
