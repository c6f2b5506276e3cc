"""Giving out all that is kept of a session or a user, erasing it, and the receipts of that."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from turnkeeper.errors import (
    AgentMemoryUnavailable,
    LastOwner,
    NotAllowed,
    ReceiptNotFound,
    ScopeDenied,
    SessionNotFound,
    UserNotFound,
)
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.openapi import problems
from turnkeeper.server.parameters import Limit
from turnkeeper.server.wire import Id, Page, page_of
from turnkeeper.server.wire_erasure import ReceiptOut

ARCHIVE: dict[int | str, dict[str, Any]] = {
    200: {"description": "A zip archive", "content": {"application/zip": {"schema": {"type": "string"}}}}
}

of_session = APIRouter(prefix="/sessions/{session_id}", tags=["erasure"], route_class=GuardedRoute)


@of_session.get(
    "/export",
    name="export_session",
    response_class=Response,
    responses={**ARCHIVE, **problems(SessionNotFound, ScopeDenied, AgentMemoryUnavailable)},
)
@asks("sessions:read")
async def export_session(session_id: str, request: Request, keeper: Keeper, caller: Caller) -> StreamingResponse:
    """All that is kept of a session, as one zip archive. Its last file, `index.json`, has the hash of every other."""
    pieces = keeper.export_session(session_id, principal=caller, trace_id=exchange_of(request).trace_id)
    return await _sent(pieces, "session.zip")


@of_session.delete(
    "",
    name="erase_session",
    response_model=ReceiptOut,
    responses=problems(SessionNotFound, NotAllowed, ScopeDenied, AgentMemoryUnavailable),
)
@asks("sessions:write")
async def erase_session(session_id: str, request: Request, keeper: Keeper, caller: Caller) -> ReceiptOut:
    """Stop what runs in a session and erase it everywhere. There is no way back; the receipt says what went."""
    return ReceiptOut.of(
        await keeper.erase_session(session_id, principal=caller, trace_id=exchange_of(request).trace_id)
    )


of_user = APIRouter(prefix="/users/{user_id}", tags=["erasure"], route_class=GuardedRoute)


@of_user.get(
    "/export",
    name="export_user",
    response_class=Response,
    responses={**ARCHIVE, **problems(UserNotFound, AgentMemoryUnavailable)},
)
@asks("users:read")
async def export_user(user_id: str, request: Request, keeper: Keeper, caller: Caller) -> StreamingResponse:
    """The same of a user, with each session in a folder: for the user itself, and for owner and admin."""
    pieces = keeper.export_user(user_id, principal=caller, trace_id=exchange_of(request).trace_id)
    return await _sent(pieces, "user.zip")


@of_user.delete(
    "",
    name="erase_user",
    response_model=ReceiptOut,
    responses=problems(UserNotFound, NotAllowed, ScopeDenied, LastOwner, AgentMemoryUnavailable),
)
@asks("users:write")
async def erase_user(user_id: str, request: Request, keeper: Keeper, caller: Caller) -> ReceiptOut:
    """Erase a user of one's tenant with all its sessions: for the user itself, and for owner and admin."""
    return ReceiptOut.of(await keeper.erase_user(user_id, principal=caller, trace_id=exchange_of(request).trace_id))


receipts = APIRouter(prefix="/receipts", tags=["erasure"], route_class=GuardedRoute)


@receipts.get("", name="list_receipts", response_model=Page[ReceiptOut], responses=problems(NotAllowed))
@asks("receipts:manage")
async def list_receipts(
    keeper: Keeper,
    caller: Caller,
    limit: Limit = 50,
    cursor: Annotated[Id | None, Query(description="`next` of the page before.")] = None,
) -> Page[ReceiptOut]:
    """Newest first; for owner and admin."""
    found = await keeper.erasure.receipts(principal=caller, before=cursor, limit=limit + 1)
    return page_of([ReceiptOut.of(each) for each in found], limit, [each.id for each in found])


@receipts.get(
    "/{receipt_id}", name="read_receipt", response_model=ReceiptOut, responses=problems(ReceiptNotFound, NotAllowed)
)
@asks("receipts:manage")
async def read_receipt(receipt_id: str, keeper: Keeper, caller: Caller) -> ReceiptOut:
    """What was erased, by whom and when, and what had to stay; for owner and admin."""
    return ReceiptOut.of(await keeper.erasure.receipt(receipt_id, principal=caller))


async def _sent(pieces: AsyncGenerator[bytes, None], name: str) -> StreamingResponse:
    # Before the first byte is sent: what may not be exported is a plain error.
    first = await anext(pieces, b"")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Security-Policy": "sandbox"}
    return StreamingResponse(_together(first, pieces), media_type="application/zip", headers=headers)


async def _together(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(rest) as pieces:
        yield first
        async for piece in pieces:
            yield piece
