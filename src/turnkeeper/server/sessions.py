"""Sessions: beginning, reading, following, pausing, closing and resetting them."""

from contextlib import ExitStack
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from turnkeeper.errors import (
    AgentNotFound,
    DuplicateRequest,
    EnvelopeInvalid,
    InvalidTransition,
    IsolationUnavailable,
    LayerNotActive,
    LayerNotFound,
    LayoutTooLarge,
    ModelNotAllowed,
    MountExcluded,
    MountNotFound,
    NotAllowed,
    PackNotFound,
    PolicyRelaxation,
    QuotaExceeded,
    SessionClosed,
    SessionEnded,
    SessionExpired,
    SessionNotFound,
    SessionNotOver,
    ShuttingDown,
    TooManyStreams,
    VersionMoved,
)
from turnkeeper.keeper import Turnkeeper
from turnkeeper.model.ids import AgentId, LayerId, SessionId, UserId
from turnkeeper.model.purpose import Module
from turnkeeper.model.session import Session, SessionStatus
from turnkeeper.ports.sessions import SessionOrder, Sought
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.closing import NodeClosing, first_of
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper, is_still_let_in
from turnkeeper.server.once import once
from turnkeeper.server.openapi import TALKING, WITH_BODY, event_stream, problems
from turnkeeper.server.parameters import (
    LARGEST_NO,
    IdCursor,
    IdempotencyKey,
    IfMatch,
    Limit,
    Moment,
    NoCursor,
    etag_of,
    version_of,
)
from turnkeeper.server.sse import ResumeAfter, Stream
from turnkeeper.server.wire import CountedPage, Id, Page, page_of
from turnkeeper.server.wire_chat import ChatOut
from turnkeeper.server.wire_resuming import ResumeViewOut, SessionEventOut
from turnkeeper.server.wire_runs import RunOut
from turnkeeper.server.wire_sessions import (
    ClosingIn,
    CountsOut,
    CurrentIn,
    LayoutIn,
    MessageOut,
    SessionIn,
    SessionOut,
    SettingsIn,
)

router = APIRouter(prefix="/sessions", tags=["sessions"], route_class=GuardedRoute)

BEGINNING = (
    NotAllowed,
    AgentNotFound,
    PackNotFound,
    LayerNotFound,
    LayerNotActive,
    MountNotFound,
    MountExcluded,
    PolicyRelaxation,
    ModelNotAllowed,
    IsolationUnavailable,
    QuotaExceeded,
)
"""Why a session may not begin, or not inherit again."""


@router.post(
    "",
    name="create",
    status_code=201,
    response_model=SessionOut,
    responses=problems(*WITH_BODY, *BEGINNING, SessionNotFound, SessionNotOver, DuplicateRequest, LayoutTooLarge),
)
@asks("sessions:write")
async def create_session(
    request: Request,
    response: Response,
    keeper: Keeper,
    caller: Caller,
    body: SessionIn | None = None,
    idempotency_key: IdempotencyKey = None,
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
        module=wanted.module,
        project_id=wanted.project_id,
        objective_id=wanted.objective_id,
        objective=wanted.objective,
        policy=wanted.policy,
        model_profile=wanted.model_profile,
        backend=wanted.backend,
        pins=[pin for pins in wanted.lists.values() for pin in pins],
        without=wanted.lists,
        layout=wanted.layout,
        request_id=idempotency_key,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["Location"] = f"{request.url.path}/{session.id}"
    return await told(response, keeper, session)


@router.put(
    "/current",
    name="current_session",
    response_model=SessionOut,
    responses=problems(*WITH_BODY, *BEGINNING) | {201: {"model": SessionOut, "description": "It began with this."}},
)
@asks("sessions:write")
async def current_session(
    request: Request, response: Response, body: CurrentIn, keeper: Keeper, caller: Caller
) -> SessionOut:
    """The session that one was in last, in this module and project; where none of them lives a new one, with 201."""
    session, is_new = await keeper.enter_session(
        body.module,
        project_id=body.project_id,
        objective_id=body.objective_id,
        agent=body.agent,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    if is_new:
        response.status_code = 201
        response.headers["Location"] = f"{request.url.path.removesuffix('current')}{session.id}"
    return await told(response, keeper, session)


async def _sought(
    status: Annotated[SessionStatus | None, Query(description="Only those of this status.")] = None,
    module: Annotated[Module | None, Query(description="Only those of this module.")] = None,
    project_id: Annotated[Id | None, Query(description="Only those of this project.")] = None,
    agent: Annotated[Id | None, Query(description="Only those that this agent answers in.")] = None,
    owner: Annotated[Id | None, Query(description="Only those of this user; for owner and admin.")] = None,
    title: Annotated[
        str | None,
        Query(min_length=1, max_length=200, description="A part of the title; letters a to z match their capitals."),
    ] = None,
    created_from: Annotated[Moment | None, Query(description="Only those that began then or later.")] = None,
    created_until: Annotated[Moment | None, Query(description="Only those that began before.")] = None,
    active_from: Annotated[Moment | None, Query(description="Only those last active then or later.")] = None,
    active_until: Annotated[Moment | None, Query(description="Only those last active before.")] = None,
    text: Annotated[
        str | None,
        Query(min_length=1, max_length=200, description="Words that are in the title or the opening, each of them."),
    ] = None,
    fork_of: Annotated[Id | None, Query(description="Only those that were forked from this session.")] = None,
) -> Sought:
    return Sought(
        status=status,
        module=module,
        project_id=None if project_id is None else LayerId(project_id),
        agent=None if agent is None else AgentId(agent),
        owner=None if owner is None else UserId(owner),
        title=title,
        created_from=created_from,
        created_until=created_until,
        active_from=active_from,
        active_until=active_until,
        text=text,
        fork_of=None if fork_of is None else SessionId(fork_of),
    )


SoughtSessions = Annotated[Sought, Depends(_sought)]


@router.get("", name="list_sessions", response_model=CountedPage[SessionOut], responses=problems())
@asks("sessions:read")
async def list_sessions(
    keeper: Keeper,
    caller: Caller,
    sought: SoughtSessions,
    order: Annotated[SessionOrder, Query(description="By when they began, or by when they were last active.")] = (
        SessionOrder.CREATED
    ),
    limit: Limit = 50,
    cursor: IdCursor = None,
) -> CountedPage[SessionOut]:
    """One's own sessions, newest first; owner and admin see all of their tenant.

    The order is that in which they began, so that a page stays where it is whatever happens to its sessions. All
    that is asked for has to fit. `total` counts them on all pages. With `text`, and by the last activity, all of them
    are walked over for each page.
    """
    found = await keeper.find_sessions(principal=caller, before=cursor, limit=limit + 1, sought=sought, order=order)
    openings = await keeper.openings_of(found.sessions[:limit])
    items = [
        SessionOut.of(session, await keeper.scoping.scope(session), openings.get(session.id))
        for session in found.sessions
    ]
    page = page_of(items, limit, [order.cursor_of(session) for session in found.sessions])
    return CountedPage(items=page.items, next=page.next, total=found.total)


@router.get("/{session_id}", name="read_session", response_model=SessionOut, responses=problems(SessionNotFound))
@asks("sessions:read")
async def read_session(session_id: str, response: Response, keeper: Keeper, caller: Caller) -> SessionOut:
    """A session and its settings. The ETag is the version of the settings."""
    session = await keeper.session(session_id, principal=caller)
    counts = await keeper.counts_of(session)
    return await told(response, keeper, session, CountsOut(runs=counts["runs"], artifacts=counts["artifacts"]))


CLOSING = (SessionNotFound, InvalidTransition, VersionMoved, NotAllowed)
CHANGING = problems(*CLOSING)
PATCHING = (*CLOSING, SessionEnded, MountNotFound, MountExcluded, LayoutTooLarge)


@router.patch(
    "/{session_id}",
    name="change",
    response_model=SessionOut,
    responses=problems(*WITH_BODY, *PATCHING),
)
@asks("sessions:write")
async def change_session(
    session_id: str,
    body: SettingsIn,
    request: Request,
    response: Response,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> SessionOut:
    """Change settings. A turn that is under way goes on with those it began with, but for what was taken away.

    A layout is saved apart from the rest, as by `PUT layout`.
    """
    if not body.model_fields_set:
        raise EnvelopeInvalid.at("", "must name something that is to be different")
    layout_asked = "layout" in body.model_fields_set
    session = await keeper.scoping.change(
        session_id,
        body.wanted,
        principal=caller,
        expected_version=version_of(if_match),
        trace_id=exchange_of(request).trace_id,
    )
    if layout_asked and body.layout is None:
        await keeper.scoping.drop_layout(session_id, principal=caller)
    elif layout_asked:
        await keeper.scoping.save_layout(session_id, body.layout, principal=caller)
    return await told(response, keeper, session)


@router.post("/{session_id}/pause", name="pause", response_model=SessionOut, responses=CHANGING)
@asks("sessions:write")
@once
async def pause_session(
    session_id: str, request: Request, response: Response, keeper: Keeper, caller: Caller, if_match: IfMatch = None
) -> SessionOut:
    """Lay a session aside. The next message on it resumes it; until then it expires like any other."""
    trace_id, version = exchange_of(request).trace_id, version_of(if_match)
    session = await keeper.pause_session(session_id, principal=caller, expected_version=version, trace_id=trace_id)
    return await told(response, keeper, session)


@router.post("/{session_id}/resume", name="resume", response_model=SessionOut, responses=CHANGING)
@asks("sessions:write")
@once
async def resume_session(
    session_id: str, request: Request, response: Response, keeper: Keeper, caller: Caller, if_match: IfMatch = None
) -> SessionOut:
    """Take up a paused session again, as if a message had come."""
    trace_id, version = exchange_of(request).trace_id, version_of(if_match)
    session = await keeper.resume_session(session_id, principal=caller, expected_version=version, trace_id=trace_id)
    return await told(response, keeper, session)


@router.post(
    "/{session_id}/rebase",
    name="rebase",
    response_model=SessionOut,
    responses=problems(SessionNotFound, SessionEnded, VersionMoved, *BEGINNING),
)
@asks("sessions:write")
@once
async def rebase_session(
    session_id: str, request: Request, response: Response, keeper: Keeper, caller: Caller, if_match: IfMatch = None
) -> SessionOut:
    """Inherit again, as the layers above are now. Pins and what was removed stay."""
    trace_id, version = exchange_of(request).trace_id, version_of(if_match)
    session = await keeper.rebase_session(session_id, principal=caller, expected_version=version, trace_id=trace_id)
    return await told(response, keeper, session)


@router.put(
    "/{session_id}/layout",
    name="save_layout",
    status_code=204,
    responses=problems(*WITH_BODY, SessionNotFound, SessionEnded, LayoutTooLarge, NotAllowed),
)
@asks("sessions:write")
async def save_layout(session_id: str, body: LayoutIn, keeper: Keeper, caller: Caller) -> None:
    """Keep how the screen looks. The last one counts; losing it loses nothing else."""
    await keeper.scoping.save_layout(session_id, body.layout, principal=caller)


@router.delete(
    "/{session_id}/layout",
    name="drop_layout",
    status_code=204,
    responses=problems(SessionNotFound, SessionEnded, NotAllowed),
)
@asks("sessions:write")
async def drop_layout(session_id: str, keeper: Keeper, caller: Caller) -> None:
    """Forget how the screen looked."""
    await keeper.scoping.drop_layout(session_id, principal=caller)


@router.get(
    "/{session_id}/events",
    name="read_session_events",
    response_model=Page[SessionEventOut],
    responses=problems(SessionNotFound),
)
@asks("sessions:read")
async def read_session_events(
    session_id: str, keeper: Keeper, caller: Caller, limit: Limit = 100, cursor: NoCursor = None
) -> Page[SessionEventOut]:
    """What happened to the session itself, oldest first: who began, paused, resumed, changed, rebased and closed it."""
    found = await keeper.session_events(session_id, principal=caller, after=cursor or 0, limit=limit)
    numbered = [event.no for event in found if event.run_id is None and event.no > 0]
    cut = str(numbered[-1]) if len(set(numbered)) >= limit else None
    return Page(items=[SessionEventOut.of(event) for event in found], next=cut)


@router.get(
    "/{session_id}/resume-view",
    name="resume_view",
    response_model=ResumeViewOut,
    responses=problems(SessionNotFound),
)
@asks("sessions:read")
async def read_resume_view(
    session_id: str,
    response: Response,
    keeper: Keeper,
    caller: Caller,
    messages: Annotated[int, Query(ge=1, le=200, description="How many messages at most, the newest.")] = 20,
) -> ResumeViewOut:
    """All that one needs to go on: messages, runs, outputs, moves of pointers, approvals, mounts and layout."""
    view = await keeper.resume_view(session_id, principal=caller, messages=messages)
    response.headers["ETag"] = etag_of(view.session.version)
    openings = await keeper.openings_of([view.session])
    return ResumeViewOut.of(view, openings.get(view.session.id))


@router.post("/{session_id}/close", name="close", response_model=SessionOut, responses=problems(*WITH_BODY, *CLOSING))
@asks("sessions:write")
@once
async def close_session(
    session_id: str,
    request: Request,
    response: Response,
    keeper: Keeper,
    caller: Caller,
    body: ClosingIn | None = None,
    if_match: IfMatch = None,
) -> SessionOut:
    """Take no more messages, and cancel what is under way. The session stays readable; closing it twice is no fault."""
    session = await keeper.close_session(
        session_id,
        reason=(body and body.reason) or "closed",
        principal=caller,
        expected_version=version_of(if_match),
        trace_id=exchange_of(request).trace_id,
    )
    return await told(response, keeper, session)


@router.post(
    "/{session_id}/reset",
    name="reset",
    response_model=ChatOut,
    response_model_exclude_none=True,
    responses=problems(*TALKING, SessionClosed, SessionExpired),
)
@asks("sessions:write")
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
@asks("sessions:read")
async def read_messages(
    session_id: str,
    keeper: Keeper,
    caller: Caller,
    limit: Limit = 100,
    cursor: NoCursor = None,
    before: Annotated[
        int | None,
        Query(ge=1, le=LARGEST_NO, description="The newest before this `seq`, in place of `cursor`."),
    ] = None,
) -> Page[MessageOut]:
    """What was said, oldest first, in every epoch.

    With `before` it is read backwards: `next`, where there are older messages, is the next `before`.
    """
    if before is not None:
        newest = await keeper.messages(session_id, principal=caller, before=before, limit=limit + 1)
        told = [MessageOut.of(message) for message in newest[-limit:]]
        return Page(items=told, next=str(told[0].seq) if len(newest) > limit else None)
    found = await keeper.messages(session_id, principal=caller, after=cursor or 0, limit=limit + 1)
    return page_of([MessageOut.of(message) for message in found], limit, [str(message.seq) for message in found])


@router.get("/{session_id}/runs", name="read_runs", response_model=Page[RunOut], responses=problems(SessionNotFound))
@asks("sessions:read")
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
@asks("sessions:read")
async def follow_session(
    session_id: str, request: Request, keeper: Keeper, caller: Caller, closing: NodeClosing, after: ResumeAfter
) -> Response:
    """What happens in a session, from now on or from behind a number already seen. Has no end."""
    with ExitStack() as place:
        place.enter_context(keeper.limits.stream(caller.tenant))
        # Before the response begins: who sees its headers misses nothing that happens afterwards.
        begin = await keeper.newest_feed_no(session_id, principal=caller) if after is None else after
        session = await keeper.session(session_id, principal=caller)
        response = Stream(
            keeper=keeper,
            stays=partial(is_still_let_in, request),
            principal=caller,
            session_id=session.id,
            frames=keeper.follow_session(session.id, principal=caller, after=begin),
            closing=closing,
        ).response(place.pop_all())
        # Who loses the connection before the first event knows from where to resume.
        response.headers["Last-Event-ID"] = str(begin)
        return response


async def told(response: Response, keeper: Turnkeeper, session: Session, counts: CountsOut | None = None) -> SessionOut:
    """A session with its ETag, the version of its settings."""
    response.headers["ETag"] = etag_of(session.version)
    openings = await keeper.openings_of([session])
    return SessionOut.of(session, await keeper.scoping.scope(session), openings.get(session.id), counts)
