"""Logging a browser in with a token, so that the token itself need not stay in it."""

from datetime import timedelta

from fastapi import APIRouter, Request, Response

from turnkeeper.errors import CsrfRefused, NotAuthenticated, TooManyAttempts
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import OWN_PAGES, Caller, address_of, cookie_name, token_of
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper, OpenRoute, tokens_of
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.tokens import csrf_of
from turnkeeper.server.wire_keys import LoginIn, MeOut

door = APIRouter(tags=["keys"], route_class=OpenRoute)
"""Whoever comes here has a token to show, and nothing yet that shows who they are."""

router = APIRouter(tags=["keys"], route_class=GuardedRoute)


@door.post(
    "/login",
    name="log_in",
    response_model=MeOut,
    responses=problems(*WITH_BODY, TooManyAttempts, CsrfRefused),
    openapi_extra={"security": []},
)
async def log_in(body: LoginIn, request: Request, response: Response, keeper: Keeper) -> MeOut:
    """Show a token once and get a cookie for it that scripts cannot read. It ends with the token, or after a while.

    A change that is asked for with the cookie needs the header `X-CSRF-Token`, as told in `csrf`.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in OWN_PAGES:
        raise CsrfRefused
    shown = await tokens_of(request).shown(body.token, address=address_of(request))
    principal = await keeper.directory.admitted(shown.principal)
    lasts = timedelta(seconds=keeper.settings.login_seconds)
    made = await keeper.keys.log_in(
        shown.principal, parent=shown.mark, lasts=lasts, until=shown.until, trace_id=exchange_of(request).trace_id
    )
    response.set_cookie(
        cookie_name(request),
        made.token,
        max_age=int(lasts.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return MeOut.of(principal, expires_at=made.key.expires_at, login_id=made.key.id, csrf=csrf_of(made.token))


@router.delete("/login", name="log_out", status_code=204, responses=problems(CsrfRefused))
@asks("login:read")
async def log_out(request: Request, response: Response, keeper: Keeper, caller: Caller) -> None:
    """End the login of this browser. A bearer token stays good: it is not ours to end."""
    await keeper.keys.log_out(request.state.shown.mark, caller, trace_id=exchange_of(request).trace_id)
    response.delete_cookie(cookie_name(request), httponly=True, samesite="strict")


@router.get("/me", name="read_me", response_model=MeOut, responses=problems(NotAuthenticated))
@asks("login:read")
async def read_me(request: Request, caller: Caller) -> MeOut:
    """Who one is here, and what one may do; for a browser also what its changes need in `X-CSRF-Token`."""
    cookie = None if token_of(request) is not None else request.cookies.get(cookie_name(request))
    shown = request.state.shown
    if cookie is None:
        return MeOut.of(caller, expires_at=shown.until, login_id=None, csrf=None)
    return MeOut.of(caller, expires_at=shown.until, login_id=shown.mark, csrf=csrf_of(cookie))
