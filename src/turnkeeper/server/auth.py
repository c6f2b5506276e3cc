"""Who is asking: from the bearer token of a request, or from the login of a browser, to a Principal."""

import hmac
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from turnkeeper.errors import CsrfRefused, NotAuthenticated
from turnkeeper.model.principal import Principal
from turnkeeper.ports.identities import Directory
from turnkeeper.server.tokens import Tokens, csrf_of

bearer = HTTPBearer(
    auto_error=False, description="An API key, a JWT, or a token that the server printed or that an operator gave."
)
"""Shows the scheme in OpenAPI; the check itself is `authenticate`, which runs before a body is read."""

CSRF = "X-CSRF-Token"
HARMLESS = ("GET", "HEAD", "OPTIONS")
OWN_PAGES = ("same-origin", "none")


async def authenticate(request: Request, tokens: Tokens, directory: Directory) -> Principal:
    """Raises NotAuthenticated, TokenExpired, TooManyAttempts, RateLimited, CsrfRefused, TenantSuspended or
    UserSuspended.
    """
    token, address = token_of(request), address_of(request)
    if token is not None:
        shown = await tokens.shown(token, address=address)
    else:
        cookie = request.cookies.get(cookie_name(request))
        if not cookie:
            raise NotAuthenticated
        shown = await tokens.logged_in(cookie, address=address)
        check_own_page(request, cookie)
    request.state.principal = shown.principal
    request.state.shown = shown
    principal = await directory.admitted(shown.principal)
    request.state.principal = principal
    return principal


def token_of(request: Request) -> str | None:
    """The bearer token, None where there is no header for one. Raises NotAuthenticated for another scheme."""
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise NotAuthenticated
    return token.strip()


def address_of(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def cookie_name(request: Request) -> str:
    """Cookies do not tell ports apart; two servers on one machine must not take each other's."""
    return f"turnkeeper-{request.url.port or request.url.scheme}"


def check_own_page(request: Request, cookie: str) -> None:
    """A browser sends the cookie by itself, so what changes something must prove where it comes from."""
    if request.method in HARMLESS:
        return
    said = request.headers.get(CSRF, "")
    is_own = request.headers.get("sec-fetch-site", "same-origin") in OWN_PAGES
    if not is_own or not hmac.compare_digest(said.encode(), csrf_of(cookie).encode()):
        raise CsrfRefused


# FastAPI runs a dependency that is no coroutine on a thread of its pool, once for each request.
async def _principal(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


Caller = Annotated[Principal, Depends(_principal)]
