"""The past of sessions: reading one as it was, and going on from there in another."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from turnkeeper.errors import (
    AgentMemoryUnavailable,
    DuplicateRequest,
    LayerNotActive,
    NotAllowed,
    QuotaExceeded,
    SessionNotFound,
    TurnNotFound,
)
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.parameters import IdempotencyKey
from turnkeeper.server.sessions import told
from turnkeeper.server.wire_histories import ForkIn, StateAtOut
from turnkeeper.server.wire_sessions import SessionOut

router = APIRouter(prefix="/sessions/{session_id}", tags=["sessions"], route_class=GuardedRoute)

Turn = Annotated[int, Path(ge=0, le=2**53, description="The number of a turn; 0 is the beginning.")]


@router.post(
    "/fork",
    name="fork",
    status_code=201,
    response_model=SessionOut,
    responses=problems(
        *WITH_BODY,
        NotAllowed,
        SessionNotFound,
        TurnNotFound,
        DuplicateRequest,
        LayerNotActive,
        QuotaExceeded,
        AgentMemoryUnavailable,
    ),
)
@asks("sessions:write")
async def fork_session(
    session_id: str,
    request: Request,
    response: Response,
    keeper: Keeper,
    caller: Caller,
    body: ForkIn | None = None,
    idempotency_key: IdempotencyKey = None,
) -> SessionOut:
    """Go on from a turn in a new session of the same owner. It shares the messages up to there; neither touches the
    other from then on."""
    wanted = body or ForkIn()
    session = await keeper.fork_session(
        session_id,
        at_turn=wanted.at_turn,
        title=wanted.title,
        principal=caller,
        request_id=idempotency_key,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["Location"] = f"{request.url.path.removesuffix(f'{session_id}/fork')}{session.id}"
    return await told(response, keeper, session)


@router.get(
    "/turns/{turn}",
    name="read_turn",
    response_model=StateAtOut,
    responses=problems(SessionNotFound, TurnNotFound),
)
@asks("sessions:read")
async def read_turn(session_id: str, turn: Turn, keeper: Keeper, caller: Caller) -> StateAtOut:
    """A session as it stood after this turn, less what was forgotten since."""
    return StateAtOut.of(await keeper.state_at(session_id, turn, principal=caller))
