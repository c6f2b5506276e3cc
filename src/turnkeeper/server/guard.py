"""What happens to a request before its route sees it: who is asking, how much is sent, and is it JSON."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute

from turnkeeper.errors import (
    BodyTooLarge,
    EnvelopeTooLarge,
    RateLimited,
    TenantSuspended,
    TurnkeeperError,
    UserSuspended,
)
from turnkeeper.keeper import Turnkeeper
from turnkeeper.model.principal import Principal
from turnkeeper.server.asking import asked_by, check_asked
from turnkeeper.server.auth import authenticate
from turnkeeper.server.bound import check_bound
from turnkeeper.server.limits import read_body, require_json
from turnkeeper.server.once import OnceRoute
from turnkeeper.server.parameters import unless_known
from turnkeeper.server.strict_json import read_json
from turnkeeper.server.tokens import Tokens


class GuardedRoute(OnceRoute):
    """The body stays an ordinary parameter of the route, so that OpenAPI shows it; only its reading is ours."""

    takes_messages = False
    """Whether what comes here counts against how much its tenant may send."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        extra = {**(more.pop("openapi_extra", None) or {}), "x-asks": list(asked_by(endpoint))}
        super().__init__(path, endpoint, openapi_extra=extra, **more)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        field, wanted, may_be_known = self.body_field, asked_by(self.endpoint), 304 in self.responses

        async def guarded(request: Request) -> Response:
            try:
                principal = await authenticate(request, tokens_of(request), keeper_of(request).directory)
                await check_bound(self.name, request, principal, keeper_of(request))
                check_asked(wanted, principal)
                over = await _counted(request, principal) if self.takes_messages else None
                if field is not None:
                    request = await _with_body(request, is_required=field.field_info.is_required())
                if over is not None:
                    raise over
            except TurnkeeperError as error:
                error.stage = "receive"
                raise
            answer = await handle(request)
            return unless_known(request, answer) if may_be_known else answer

        return guarded


class OpenRoute(APIRoute):
    """For who cannot show yet who they are; how much is sent, and that it is JSON, counts here, too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                request = await _with_body(request, is_required=True)
            except TurnkeeperError as error:
                error.stage = "receive"
                raise
            return await handle(request)

        return guarded


class MessageRoute(GuardedRoute):
    takes_messages = True


class EnvelopeRoute(MessageRoute):
    """Where full envelopes come in: one that is too large has a name of its own."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handle(request)
            except BodyTooLarge:
                error = EnvelopeTooLarge(keeper_of(request).settings.body_bytes)
                error.stage = "receive"
                raise error from None

        return guarded


async def _counted(request: Request, principal: Principal) -> RateLimited | None:
    """Why this message is too much. Junk counts too; it is told only when there is nothing sooner to refuse."""
    try:
        await keeper_of(request).limits.admit(principal.tenant)
    except RateLimited as over:
        return over
    return None


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
    request.state.body = read.raw
    if read.raw or is_required:
        if read.raw:
            require_json(request)
        read.value = read_json(read.raw, most_depth=settings.body_depth)
    return read


def tokens_of(request: Request) -> Tokens:
    tokens: Tokens = request.app.state.tokens
    return tokens


async def is_still_let_in(request: Request) -> bool:
    """Whether who asked for a stream would still get one; looked at again and again while it lasts."""
    try:
        if not await tokens_of(request).holds(request.state.shown):
            return False
        await keeper_of(request).directory.admitted(request.state.shown.principal)
    except (TenantSuspended, UserSuspended):
        return False
    return True


def keeper_of(request: Request) -> Turnkeeper:
    keeper: Turnkeeper = request.app.state.keeper
    return keeper


# FastAPI runs a dependency that is no coroutine on a thread of its pool, once for each request.
async def _keeper(request: Request) -> Turnkeeper:
    return keeper_of(request)


Keeper = Annotated[Turnkeeper, Depends(_keeper)]
