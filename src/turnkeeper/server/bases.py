"""Knowledge bases: making and filling them, and mounting them to sessions."""

from fastapi import APIRouter, Request, Response

from turnkeeper.errors import (
    EnvelopeInvalid,
    KnowledgeBaseFull,
    KnowledgeBaseNotFound,
    MountExcluded,
    NotAllowed,
    RevisionMoved,
    SessionClosed,
    SessionExpired,
    SessionNotFound,
    SourceNotFound,
    SourceTooLarge,
    UnitTextInvalid,
    VersionMoved,
)
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.once import once
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.parameters import NOT_MODIFIED, IdCursor, IfMatch, Limit, NoCursor, etag_of, version_of
from turnkeeper.server.sessions import told
from turnkeeper.server.wire import Page, page_behind, page_of
from turnkeeper.server.wire_knowledge import BaseIn, BaseOut, BaseUnitOut, SourceIn, SourceOut, SourceTextOut
from turnkeeper.server.wire_sessions import SessionOut

router = APIRouter(prefix="/kbs", tags=["knowledge bases"], route_class=GuardedRoute)
mounts = APIRouter(prefix="/sessions/{session_id}/mounts", tags=["knowledge bases"], route_class=GuardedRoute)


@router.post(
    "",
    name="create_knowledge_base",
    status_code=201,
    response_model=BaseOut,
    responses=problems(*WITH_BODY, NotAllowed, KnowledgeBaseNotFound),
)
@asks("kbs:write")
@once
async def create_base(request: Request, response: Response, body: BaseIn, keeper: Keeper, caller: Caller) -> BaseOut:
    """Make a knowledge base, empty or with all that another one has now."""
    base = await keeper.bases.create(
        body.name, parent_id=body.parent_id, principal=caller, trace_id=exchange_of(request).trace_id
    )
    response.headers["Location"] = f"{request.url.path}/{base.id}"
    response.headers["ETag"] = etag_of(base.revision)
    return BaseOut.of(base)


@router.get("", name="list_knowledge_bases", response_model=Page[BaseOut], responses=problems())
@asks("kbs:read")
async def list_bases(keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: IdCursor = None) -> Page[BaseOut]:
    """The knowledge bases of one's tenant, newest first."""
    found = await keeper.bases.list(principal=caller, before=cursor, limit=limit + 1)
    return page_of([BaseOut.of(base) for base in found], limit, [base.id for base in found])


@router.get(
    "/{base_id}",
    name="read_knowledge_base",
    response_model=BaseOut,
    responses=problems(KnowledgeBaseNotFound) | NOT_MODIFIED,
)
@asks("kbs:read")
async def read_base(base_id: str, response: Response, keeper: Keeper, caller: Caller) -> BaseOut:
    """A knowledge base. The ETag is its revision."""
    base = await keeper.bases.get(base_id, principal=caller)
    response.headers["ETag"] = etag_of(base.revision)
    return BaseOut.of(base)


@router.get(
    "/{base_id}/sources",
    name="list_sources",
    response_model=Page[SourceOut],
    responses=problems(KnowledgeBaseNotFound),
)
@asks("kbs:read")
async def list_sources(
    base_id: str, keeper: Keeper, caller: Caller, limit: Limit = 200, cursor: IdCursor = None
) -> Page[SourceOut]:
    """The sources of a base as it is now, oldest first."""
    found = await keeper.bases.sources(base_id, principal=caller)
    return page_behind([SourceOut.of(source) for source in found], limit, [source.id for source in found], cursor)


@router.get(
    "/{base_id}/sources/{source_id}",
    name="read_source",
    response_model=SourceTextOut,
    responses=problems(KnowledgeBaseNotFound, SourceNotFound),
)
@asks("kbs:read")
async def read_source(base_id: str, source_id: str, keeper: Keeper, caller: Caller) -> SourceTextOut:
    """A source with the text that was read from it."""
    return SourceTextOut.of(await keeper.bases.source(base_id, source_id, principal=caller))


@router.post(
    "/{base_id}/sources",
    name="add_source",
    status_code=201,
    response_model=SourceOut,
    responses=problems(
        *WITH_BODY,
        NotAllowed,
        KnowledgeBaseNotFound,
        KnowledgeBaseFull,
        RevisionMoved,
        SessionNotFound,
        SourceTooLarge,
        UnitTextInvalid,
    ),
)
@asks("kbs:write")
@once
async def add_source(
    base_id: str,
    request: Request,
    response: Response,
    body: SourceIn,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> SourceOut:
    """Read a text into a base, or what a session knows. A source of the same name gives way to it."""
    trace_id, expected = exchange_of(request).trace_id, version_of(if_match)
    if (body.session_id is None) == (body.content is None) or (body.content is not None and body.name is None):
        raise EnvelopeInvalid(
            "A source is a text with a name, or a session.",
            details=[{"pointer": "", "message": "needs name and content, or session_id alone"}],
        )
    if body.session_id is not None:
        base, source = await keeper.bases.save_session(
            base_id, body.session_id, expected_revision=expected, principal=caller, trace_id=trace_id
        )
    else:
        base, source = await keeper.bases.add_source(
            base_id,
            body.name or "",
            body.content or "",
            kind=body.kind,
            expected_revision=expected,
            principal=caller,
            trace_id=trace_id,
        )
    response.headers["ETag"] = etag_of(base.revision)
    return SourceOut.of(source, base)


@router.delete(
    "/{base_id}/sources/{source_id}",
    name="remove_source",
    response_model=BaseOut,
    responses=problems(NotAllowed, KnowledgeBaseNotFound, SourceNotFound, RevisionMoved),
)
@asks("kbs:write")
async def remove_source(
    base_id: str,
    source_id: str,
    request: Request,
    response: Response,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> BaseOut:
    """Take a source out. Sessions that mounted the base before still see it as it was."""
    base = await keeper.bases.remove_source(
        base_id,
        source_id,
        expected_revision=version_of(if_match),
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["ETag"] = etag_of(base.revision)
    return BaseOut.of(base)


@router.get(
    "/{base_id}/units",
    name="list_units_of_base",
    response_model=Page[BaseUnitOut],
    responses=problems(KnowledgeBaseNotFound),
)
@asks("kbs:read")
async def list_units_of_base(
    base_id: str, keeper: Keeper, caller: Caller, limit: Limit = 100, cursor: NoCursor = None
) -> Page[BaseUnitOut]:
    """What a base knows now, each unit with the source it comes from."""
    found = await keeper.bases.units(base_id, principal=caller, after=cursor or 0, limit=limit + 1)
    return page_of([BaseUnitOut.of(unit, no) for no, unit in found], limit, [str(no) for no, _ in found])


MOUNTING = problems(
    SessionNotFound, SessionClosed, SessionExpired, KnowledgeBaseNotFound, MountExcluded, VersionMoved, NotAllowed
)


@mounts.put("/{base_id}", name="mount", response_model=SessionOut, responses=MOUNTING)
@asks("sessions:write")
async def mount_base(
    session_id: str,
    base_id: str,
    request: Request,
    response: Response,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> SessionOut:
    """Let a session use a knowledge base as it is now; doing it again brings the session up to date."""
    session = await keeper.bases.mount(
        session_id,
        base_id,
        principal=caller,
        expected_version=version_of(if_match),
        trace_id=exchange_of(request).trace_id,
    )
    return await told(response, keeper, session)


@mounts.delete("/{base_id}", name="unmount", response_model=SessionOut, responses=MOUNTING)
@asks("sessions:write")
async def unmount_base(
    session_id: str,
    base_id: str,
    request: Request,
    response: Response,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> SessionOut:
    """Take a knowledge base away from a session."""
    session = await keeper.bases.unmount(
        session_id,
        base_id,
        principal=caller,
        expected_version=version_of(if_match),
        trace_id=exchange_of(request).trace_id,
    )
    return await told(response, keeper, session)
