"""Sessions that change hands between their client and us."""

from fastapi import APIRouter, Request, Response

from turnkeeper import errors
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.carrying import opened
from turnkeeper.server.chat import one_request_id
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.parameters import IdempotencyKey
from turnkeeper.server.sessions import BEGINNING, told
from turnkeeper.server.wire_custody import AdoptIn, ReleasedOut
from turnkeeper.server.wire_sessions import SessionOut

router = APIRouter(prefix="/sessions", tags=["custody"], route_class=GuardedRoute)


@router.post(
    "/adopt",
    name="adopt",
    status_code=201,
    response_model=SessionOut,
    responses=problems(
        *WITH_BODY,
        *BEGINNING,
        errors.CarriedInvalid,
        errors.NotAllowed,
        errors.AgentNotFound,
        errors.PackNotFound,
        errors.PackIntegrityError,
        errors.DuplicateRequest,
        errors.QuotaExceeded,
        errors.AgentMemoryLost,
    ),
)
@asks("sessions:write")
async def adopt_session(
    request: Request,
    response: Response,
    body: AdoptIn,
    keeper: Keeper,
    caller: Caller,
    idempotency_key: IdempotencyKey = None,
) -> SessionOut:
    """Keep a session here that its client has kept until now. It goes on under a new id, where it stands."""
    exchange = exchange_of(request)
    carried = await opened(keeper, caller, body.session_id, body.carried)
    session = await keeper.adopt_session(
        body.session_id,
        carried,
        principal=caller,
        agent=body.agent,
        title=body.title,
        request_id=one_request_id(body.request_id, idempotency_key),
        trace_id=exchange.trace_id,
    )
    return await told(response, keeper, session)


@router.post(
    "/{session_id}/release",
    name="release",
    response_model=ReleasedOut,
    responses=problems(
        errors.SessionNotFound,
        errors.SessionClosed,
        errors.SessionBusy,
        errors.SessionMoved,
        errors.NotAllowed,
        errors.ScopeDenied,
        errors.AgentMemoryUnavailable,
    ),
)
@asks("sessions:write")
async def release_session(session_id: str, request: Request, keeper: Keeper, caller: Caller) -> ReleasedOut:
    """Close a session and give what it holds to its owner, who goes on with it in client custody under the same id.

    Refused while a run is under way, queued or waiting in it.
    """
    released = await keeper.release_session(session_id, principal=caller, trace_id=exchange_of(request).trace_id)
    session = released.session
    sealed = await keeper.seals.seal(released.carried, session.tenant, session.owner, session.id)
    return ReleasedOut(session_id=session.id, agent=session.agent, carried=sealed, warnings=list(released.warnings))
