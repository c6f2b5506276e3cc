"""API keys: making, listing and revoking them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from turnkeeper.errors import KeyNotFound, LayerNotFound, NotAllowed, SessionNotFound, TooManyKeys
from turnkeeper.model.api_key import KeyKind
from turnkeeper.model.policy import Rate
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.parameters import IdCursor, Limit
from turnkeeper.server.wire import Page, page_of
from turnkeeper.server.wire_keys import KeyIn, KeyOut, MadeKeyOut

router = APIRouter(prefix="/keys", tags=["keys"], route_class=GuardedRoute)


@router.post(
    "",
    name="create_key",
    status_code=201,
    response_model=MadeKeyOut,
    responses=problems(*WITH_BODY, NotAllowed, TooManyKeys, SessionNotFound, LayerNotFound),
)
@asks("keys:write")
async def create_key(body: KeyIn, request: Request, response: Response, keeper: Keeper, caller: Caller) -> MadeKeyOut:
    """Make a key. Its token is in this answer and nowhere else; only a digest of it is kept."""
    made = await keeper.keys.create(
        body.name,
        user=body.user,
        role=body.role,
        grants=body.grants,
        limited_to=body.limited_to,
        session_id=body.session_id,
        expires_at=body.expires_at,
        rate=None if body.rate is None else Rate(per_second=body.rate.per_second, burst=body.rate.burst),
        tenant=body.tenant,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["Location"] = f"{request.url.path}/{made.key.id}"
    return MadeKeyOut.made(made)


@router.get("", name="list_keys", response_model=Page[KeyOut], responses=problems())
@asks("keys:read")
async def list_keys(
    keeper: Keeper,
    caller: Caller,
    kind: Annotated[KeyKind, Query(description="`login` lists the logins of browsers.")] = KeyKind.KEY,
    limit: Limit = 50,
    cursor: IdCursor = None,
) -> Page[KeyOut]:
    """One's own keys, newest first, revoked and expired ones too; owner and admin see all of their tenant."""
    found = await keeper.keys.list(kind=kind, principal=caller, before=cursor, limit=limit + 1)
    return page_of([KeyOut.of(key) for key in found], limit, [key.id for key in found])


@router.get("/{key_id}", name="read_key", response_model=KeyOut, responses=problems(KeyNotFound))
@asks("keys:read")
async def read_key(key_id: str, keeper: Keeper, caller: Caller) -> KeyOut:
    """One's own key, or for owner and admin any of their tenant; never with its token."""
    return KeyOut.of(await keeper.keys.get(key_id, principal=caller))


@router.post("/{key_id}/revoke", name="revoke_key", response_model=KeyOut, responses=problems(KeyNotFound))
@asks("keys:write")
async def revoke_key(key_id: str, request: Request, keeper: Keeper, caller: Caller) -> KeyOut:
    """From now on it opens nothing, here at once and on other nodes within a second. Twice does no harm."""
    return KeyOut.of(await keeper.keys.revoke(key_id, principal=caller, trace_id=exchange_of(request).trace_id))
