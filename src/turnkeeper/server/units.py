"""What a session knows: reading its units, importing, editing and forgetting them."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from pydantic import WithJsonSchema

from turnkeeper.errors import (
    EnvelopeInvalid,
    SessionNotFound,
    ShuttingDown,
    UnitNotCurrent,
    UnitNotFound,
    UnitTextInvalid,
)
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.chat import one_request_id
from turnkeeper.server.closing import NodeClosing, first_of
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.openapi import TALKING, WITH_BODY, problems
from turnkeeper.server.parameters import IdempotencyKey, Limit, NoCursor
from turnkeeper.server.wire import Page, page_of
from turnkeeper.server.wire_knowledge import UnitChangesOut, UnitOut, UnitsIn, change_of_unit

router = APIRouter(prefix="/sessions/{session_id}/units", tags=["units"], route_class=GuardedRoute)

AllEpochs = Annotated[bool, Query(description="Those from before the last reset too.")]


@router.get("", name="list_units", response_model=Page[UnitOut], responses=problems(SessionNotFound))
@asks("sessions:read")
async def list_units(
    session_id: str,
    keeper: Keeper,
    caller: Caller,
    limit: Limit = 100,
    cursor: NoCursor = None,
    all_epochs: AllEpochs = False,
) -> Page[UnitOut]:
    """What a session knows, in the order in which it came to know it; superseded and forgotten units too."""
    found = await keeper.units.list(
        session_id, principal=caller, all_epochs=all_epochs, after=cursor or 0, limit=limit + 1
    )
    return page_of([UnitOut.of(kept, no) for no, kept in found], limit, [str(no) for no, _ in found])


@router.post(
    "",
    name="import_units",
    response_model=UnitChangesOut,
    responses=problems(*WITH_BODY, *TALKING, UnitTextInvalid),
)
@asks("sessions:write")
async def import_units(
    session_id: str,
    request: Request,
    body: UnitsIn,
    keeper: Keeper,
    caller: Caller,
    closing: NodeClosing,
    idempotency_key: IdempotencyKey = None,
) -> UnitChangesOut:
    """Read units out of a text and keep what is new. A text with a fault changes nothing."""
    importing = keeper.units.import_text(
        session_id,
        body.text,
        format=body.format,
        name=body.name,
        principal=caller,
        request_id=one_request_id(body.request_id, idempotency_key),
        trace_id=exchange_of(request).trace_id,
    )
    reply = await first_of(importing, closing.over())
    if reply is None:
        raise ShuttingDown
    return UnitChangesOut.of(reply)


@router.get("/{unit_id}", name="read_unit", response_model=UnitOut, responses=problems(SessionNotFound, UnitNotFound))
@asks("sessions:read")
async def read_unit(session_id: str, unit_id: str, keeper: Keeper, caller: Caller) -> UnitOut:
    """One unit, and what became of it."""
    return UnitOut.of(await keeper.units.get(session_id, unit_id, principal=caller))


@router.patch(
    "/{unit_id}",
    name="edit_unit",
    response_model=UnitOut,
    responses=problems(*WITH_BODY, *TALKING, UnitNotFound, UnitNotCurrent),
)
@asks("sessions:write")
async def edit_unit(
    session_id: str,
    unit_id: str,
    request: Request,
    change: Annotated[
        dict[str, Any],
        WithJsonSchema(change_of_unit()),
        Body(description="Fields of the unit with their new values."),
    ],
    keeper: Keeper,
    caller: Caller,
    closing: NodeClosing,
    idempotency_key: IdempotencyKey = None,
) -> UnitOut:
    """Put an edited unit in the place of this one, which stays as superseded. Answers with the new one."""
    if not change:
        raise EnvelopeInvalid(
            "There is nothing to change. Name at least one field.",
            details=[{"pointer": "", "message": "names no field"}],
        )
    editing = keeper.units.edit(
        session_id,
        unit_id,
        change,
        principal=caller,
        request_id=idempotency_key,
        trace_id=exchange_of(request).trace_id,
    )
    kept = await first_of(editing, closing.over())
    if kept is None:
        raise ShuttingDown
    return UnitOut.of(kept)


@router.delete(
    "/{unit_id}",
    name="forget_unit",
    response_model=UnitOut,
    responses=problems(*TALKING, UnitNotFound),
)
@asks("sessions:write")
async def forget_unit(
    session_id: str,
    unit_id: str,
    request: Request,
    keeper: Keeper,
    caller: Caller,
    closing: NodeClosing,
    idempotency_key: IdempotencyKey = None,
) -> UnitOut:
    """Lose what a unit says for good. That there was one, and when, is still known."""
    forgetting = keeper.units.forget(
        session_id,
        unit_id,
        principal=caller,
        request_id=idempotency_key,
        trace_id=exchange_of(request).trace_id,
    )
    kept = await first_of(forgetting, closing.over())
    if kept is None:
        raise ShuttingDown
    return UnitOut.of(kept)
