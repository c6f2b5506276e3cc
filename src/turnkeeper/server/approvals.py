"""Approvals: what people are asked for, and deciding it; and which tools a session has."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from turnkeeper.errors import (
    ApprovalDecided,
    ApprovalNotFound,
    MayNotDecide,
    NotAllowed,
    SessionClosed,
    SessionExpired,
    SessionNotFound,
)
from turnkeeper.model.approval import ApprovalStatus
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.once import once
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.parameters import Limit
from turnkeeper.server.wire import Id, Page, page_of
from turnkeeper.server.wire_approvals import ApprovalOut, DecisionIn, ToolOut

router = APIRouter(tags=["approvals"], route_class=GuardedRoute)


@router.get("/approvals", name="list_approvals", response_model=Page[ApprovalOut], responses=problems())
@asks("approvals:read")
async def list_approvals(
    keeper: Keeper,
    caller: Caller,
    session_id: Annotated[Id | None, Query()] = None,
    status: ApprovalStatus | None = None,
    limit: Limit = 50,
    cursor: Annotated[Id | None, Query(description="`next` of the page before.")] = None,
) -> Page[ApprovalOut]:
    """Newest first: those of one's own sessions; owner and admin see all of their tenant."""
    found = await keeper.approvals.list(
        principal=caller, session_id=session_id, status=status, before=cursor, limit=limit + 1
    )
    return page_of([ApprovalOut.of(approval) for approval in found], limit, [approval.id for approval in found])


@router.get(
    "/approvals/{approval_id}",
    name="read_approval",
    response_model=ApprovalOut,
    responses=problems(ApprovalNotFound),
)
@asks("approvals:read")
async def read_approval(approval_id: str, keeper: Keeper, caller: Caller) -> ApprovalOut:
    """What a person is asked for, and what became of it."""
    return ApprovalOut.of(await keeper.approvals.get(approval_id, principal=caller))


@router.post(
    "/approvals/{approval_id}/decide",
    name="decide_approval",
    response_model=ApprovalOut,
    responses=problems(
        *WITH_BODY, ApprovalNotFound, ApprovalDecided, MayNotDecide, NotAllowed, SessionClosed, SessionExpired
    ),
)
@asks("approvals:write")
@once
async def decide_approval(
    approval_id: str, body: DecisionIn, request: Request, keeper: Keeper, caller: Caller
) -> ApprovalOut:
    """Approve or reject. The run that waits for it goes on at once, on any node; saying the same twice does no harm."""
    decided = await keeper.approvals.decide(
        approval_id,
        approve=body.decision == "approve",
        reason=body.reason,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    return ApprovalOut.of(decided)


@router.get(
    "/sessions/{session_id}/tools",
    name="list_tools",
    response_model=list[ToolOut],
    responses=problems(SessionNotFound),
)
@asks("sessions:read")
async def list_tools(session_id: str, keeper: Keeper, caller: Caller) -> list[ToolOut]:
    """The tools that the agent of a session is offered right now."""
    return [ToolOut.of(spec) for spec in await keeper.tools_of(session_id, principal=caller)]
