"""The keys under which clients carry their state."""

from fastapi import APIRouter, Request

from turnkeeper.errors import NotAllowed, SealKeyNotFound
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.once import once
from turnkeeper.server.openapi import problems
from turnkeeper.server.wire_custody import SealKeyOut, SealKeysOut

router = APIRouter(prefix="/seals", tags=["custody"], route_class=GuardedRoute)


@router.get("", name="list_seals", response_model=SealKeysOut, responses=problems(NotAllowed))
@asks("seals:manage")
async def list_seals(keeper: Keeper, caller: Caller) -> SealKeysOut:
    """The keys of one's tenant, oldest first; the newest that is not retired seals. For its owner and admins."""
    return SealKeysOut(items=[SealKeyOut.of(key) for key in await keeper.seals.keys(principal=caller)])


@router.post("/rotate", name="rotate_seals", status_code=201, response_model=SealKeyOut, responses=problems(NotAllowed))
@asks("seals:manage")
@once
async def rotate_seals(request: Request, keeper: Keeper, caller: Caller) -> SealKeyOut:
    """Seal with a new key from now on. What was sealed before is opened as before."""
    return SealKeyOut.of(await keeper.seals.rotate(principal=caller, trace_id=exchange_of(request).trace_id))


@router.post("/{seal_id}/retire", name="retire_seal", status_code=204, responses=problems(NotAllowed, SealKeyNotFound))
@asks("seals:manage")
@once
async def retire_seal(seal_id: str, request: Request, keeper: Keeper, caller: Caller) -> None:
    """Destroy a key. What it has sealed is opened by nobody any more: those clients begin anew."""
    await keeper.seals.retire(seal_id, principal=caller, trace_id=exchange_of(request).trace_id)
