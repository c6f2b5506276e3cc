"""Sessions: beginning, reading, following, pausing, closing and resetting them."""

from contextlib import ExitStack
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from turnkeeper.errors import (
    AgentNotFound,
    InvalidTransition,
    NotAllowed,
    SessionClosed,
    SessionExpired,
    SessionNotFound,
    SessionNotOver,
    ShuttingDown,
    TooManyStreams,
    VersionMoved,
)
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.session import Session, SettingsChange
from turnkeeper.server.auth import Caller
from turnkeeper.server.chat import IdempotencyKey
from turnkeeper.server.closing import NodeClosing, first_of
from turnkeeper.server.errors import invalid_header
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.openapi import TALKING, WITH_BODY, event_stream, problems
from turnkeeper.server.sse import LARGEST_NO, ResumeAfter, Stream
from turnkeeper.server.wire import ChatOut, Id, MessageOut, Page, RunOut, SessionIn, SessionOut, SettingsIn, page_of

router = APIRouter(prefix="/sessions", tags=["sessions"], route_class=GuardedRoute)

Limit = Annotated[int, Query(ge=1, le=200, description="How many items at most.")]
IdCursor = Annotated[Id | None, Query(description="`next` of the page before.")]
NoCursor = Annotated[int | None, Query(ge=0, le=LARGEST_NO, description="`next` of the page before.")]


@router.post(
    "",
    name="create",
    status_code=201,
    response_model=SessionOut,
    responses=problems(*WITH_BODY, NotAllowed, AgentNotFound, SessionNotFound, SessionNotOver),
)
async def create_session(
    request: Request, response: Response, keeper: Keeper, caller: Caller, body: SessionIn | None = None
) -> SessionOut:
    """Begin a session without a message in it; with `from_session_id` it continues a finished one."""
    wanted = body or SessionIn()
    session = await keeper.create_session(
        principal=caller,
        agent=wanted.agent,
        pack=wanted.pack,
        title=wanted.title,
        plugins=wanted.plugins,
        model=wanted.model,
        level=wanted.level,
        idle_for_seconds=wanted.idle_for_seconds,
        from_session_id=wanted.from_session_id,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["Location"] = f"{request.url.path}/{session.id}"
    return told(response, session)


@router.get("", name="list_sessions", response_model=Page[SessionOut], responses=problems())
async def list_sessions(keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: IdCursor = None) -> Page[SessionOut]:
    """One's own sessions, newest first; owner and admin see all of their tenant."""
    found = await keeper.sessions(principal=caller, before=cursor, limit=limit + 1)
    return page_of([SessionOut.of(session) for session in found], limit, [session.id for session in found])


@router.get("/{session_id}", name="read_session", response_model=SessionOut, responses=problems(SessionNotFound))
async def read_session(session_id: str, response: Response, keeper: Keeper, caller: Caller) -> SessionOut:
    """A session and its settings. The ETag is the version of the settings."""
    session = await keeper.session(session_id, principal=caller)
    return told(response, session)


CHANGING = problems(SessionNotFound, InvalidTransition, VersionMoved, NotAllowed)
IfMatch = Annotated[str | None, Header(description="Do it only while the settings have this ETag.")]


@router.patch(
    "/{session_id}",
    name="change",
    response_model=SessionOut,
    responses=problems(*WITH_BODY, SessionNotFound, VersionMoved, NotAllowed),
)
async def change_session(
    session_id: str,
    body: SettingsIn,
    request: Request,
    response: Response,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> SessionOut:
    """Change settings. A turn that is under way goes on with those it began with."""
    change = SettingsChange(
        title=body.title,
        double_text=None if body.double_text is None else DoubleText(body.double_text),
        idle_for_seconds=body.idle_for_seconds,
    )
    session = await keeper.change_session(
        session_id,
        change,
        principal=caller,
        expected_version=version_of(if_match),
        trace_id=exchange_of(request).trace_id,
    )
    return told(response, session)


@router.post("/{session_id}/pause", name="pause", response_model=SessionOut, responses=CHANGING)
async def pause_session(
    session_id: str, request: Request, response: Response, keeper: Keeper, caller: Caller, if_match: IfMatch = None
) -> SessionOut:
    """Lay a session aside. The next message on it resumes it; until then it expires like any other."""
    trace_id, version = exchange_of(request).trace_id, version_of(if_match)
    session = await keeper.pause_session(session_id, principal=caller, expected_version=version, trace_id=trace_id)
    return told(response, session)


@router.post("/{session_id}/resume", name="resume", response_model=SessionOut, responses=CHANGING)
async def resume_session(
    session_id: str, request: Request, response: Response, keeper: Keeper, caller: Caller, if_match: IfMatch = None
) -> SessionOut:
    """Take up a paused session again, as if a message had come."""
    trace_id, version = exchange_of(request).trace_id, version_of(if_match)
    session = await keeper.resume_session(session_id, principal=caller, expected_version=version, trace_id=trace_id)
    return told(response, session)


@router.post("/{session_id}/close", name="close", response_model=SessionOut, responses=CHANGING)
async def close_session(
    session_id: str, request: Request, response: Response, keeper: Keeper, caller: Caller, if_match: IfMatch = None
) -> SessionOut:
    """Take no more messages. The session stays readable; a run that is under way goes on to its end."""
    trace_id, version = exchange_of(request).trace_id, version_of(if_match)
    session = await keeper.close_session(session_id, principal=caller, expected_version=version, trace_id=trace_id)
    return told(response, session)


@router.post(
    "/{session_id}/reset",
    name="reset",
    response_model=ChatOut,
    response_model_exclude_none=True,
    responses=problems(*TALKING, SessionClosed, SessionExpired),
)
async def reset_session(
    session_id: str,
    request: Request,
    keeper: Keeper,
    caller: Caller,
    closing: NodeClosing,
    idempotency_key: IdempotencyKey = None,
) -> ChatOut:
    """Begin a new epoch: nothing said before is in reach of any later turn."""
    trace_id = exchange_of(request).trace_id
    reset = keeper.reset(session_id, principal=caller, request_id=idempotency_key, trace_id=trace_id)
    reply = await first_of(reset, closing.over())
    if reply is None:
        raise ShuttingDown
    return ChatOut.of(reply)


@router.get(
    "/{session_id}/messages", name="read_messages", response_model=Page[MessageOut], responses=problems(SessionNotFound)
)
async def read_messages(
    session_id: str, keeper: Keeper, caller: Caller, limit: Limit = 100, cursor: NoCursor = None
) -> Page[MessageOut]:
    """What was said, oldest first, in every epoch."""
    found = await keeper.messages(session_id, principal=caller, after=cursor or 0, limit=limit + 1)
    return page_of([MessageOut.of(message) for message in found], limit, [str(message.seq) for message in found])


@router.get("/{session_id}/runs", name="read_runs", response_model=Page[RunOut], responses=problems(SessionNotFound))
async def read_runs(
    session_id: str, keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: IdCursor = None
) -> Page[RunOut]:
    """The runs of a session, newest first, whatever their end."""
    found = await keeper.runs(session_id, principal=caller, before=cursor, limit=limit + 1)
    return page_of([RunOut.of(run) for run in found], limit, [run.id for run in found])


@router.get(
    "/{session_id}/feed",
    name="follow_session",
    response_class=Response,
    responses={**event_stream(), **problems(SessionNotFound, TooManyStreams)},
)
async def follow_session(
    session_id: str, keeper: Keeper, caller: Caller, closing: NodeClosing, after: ResumeAfter
) -> Response:
    """What happens in a session, from now on or from behind a number already seen. Has no end."""
    with ExitStack() as place:
        place.enter_context(keeper.limits.stream(caller.tenant))
        # Before the response begins: who sees its headers misses nothing that happens afterwards.
        begin = await keeper.newest_feed_no(session_id, principal=caller) if after is None else after
        session = await keeper.session(session_id, principal=caller)
        return Stream(
            keeper=keeper,
            principal=caller,
            session_id=session.id,
            frames=keeper.follow_session(session.id, principal=caller, after=begin),
            closing=closing,
        ).response(place.pop_all())


def told(response: Response, session: Session) -> SessionOut:
    """A session with its ETag, the version of its settings."""
    response.headers["ETag"] = etag_of(session.version)
    return SessionOut.of(session)


def etag_of(version: int) -> str:
    return f'"{version}"'


def version_of(if_match: str | None) -> int | None:
    """The version that an If-Match asks for; None for any."""
    if if_match is None or if_match.strip() == "*":
        return None
    digits = if_match.strip().removeprefix("W/").strip('"')
    if not digits.isascii() or not digits.isdigit() or len(digits) > 16:
        raise invalid_header("If-Match", "is an ETag of this session, a number in quotes")
    return int(digits)
