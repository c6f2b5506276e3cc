"""Who is asking: from the bearer token of a request to a Principal."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from turnkeeper.errors import NotAuthenticated
from turnkeeper.model.principal import Principal
from turnkeeper.ports.identities import Directory, Identities

bearer = HTTPBearer(auto_error=False, description="A token that `turnkeeper serve` printed or that an operator gave.")
"""Shows the scheme in OpenAPI; the check itself is `authenticate`, which runs before a body is read."""


async def authenticate(request: Request, identities: Identities, directory: Directory) -> Principal:
    """Raises NotAuthenticated or TokenExpired, TenantSuspended or UserSuspended."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise NotAuthenticated
    request.state.principal = identities.principal_of(token.strip())
    principal = await directory.admitted(request.state.principal)
    request.state.principal = principal
    return principal


# FastAPI runs a dependency that is no coroutine on a thread of its pool, once for each request.
async def _principal(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


Caller = Annotated[Principal, Depends(_principal)]
