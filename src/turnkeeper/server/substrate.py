"""Manifests, pointers, and what comes out of sessions."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from turnkeeper.errors import (
    ArtifactsMissing,
    ManifestInvalid,
    ManifestNotFound,
    NotAllowed,
    PointerExists,
    PointerFrozen,
    PointerMoved,
    PointerNotFound,
    SessionClosed,
    SessionExpired,
    SessionNotFound,
)
from turnkeeper.model.output import OutputKind
from turnkeeper.model.pointer import Expected, PointerKind
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.once import once
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.parameters import IdCursor, Limit, NoCursor
from turnkeeper.server.wire import Id, Page, page_of
from turnkeeper.server.wire_substrate import (
    AdvanceIn,
    CostOut,
    CountsOut,
    DiffOut,
    EntryOut,
    Kind,
    ManifestIn,
    ManifestOut,
    MoveOut,
    Name,
    NewManifestOut,
    OutputOut,
    OutputsOut,
    PointerIn,
    PointerOut,
    PublishedOut,
    PublishIn,
    ResetIn,
    ResolvedOut,
    Sha256,
    StorageOut,
)

manifests = APIRouter(prefix="/manifests", tags=["substrate"], route_class=GuardedRoute)
pointers = APIRouter(prefix="/pointers", tags=["substrate"], route_class=GuardedRoute)
of_session = APIRouter(prefix="/sessions/{session_id}", tags=["substrate"], route_class=GuardedRoute)
storage = APIRouter(prefix="/storage", tags=["substrate"], route_class=GuardedRoute)

MOST_SESSIONS = 100
HistoryLimit = Annotated[int, Query(ge=1, le=1000, description="How many items at most.")]


@manifests.post(
    "",
    name="create_manifest",
    status_code=201,
    response_model=NewManifestOut,
    responses={
        200: {"model": NewManifestOut, "description": "The same tree was there already."},
        **problems(*WITH_BODY, NotAllowed, ArtifactsMissing, ManifestInvalid, ManifestNotFound),
    },
)
@asks("manifests:write")
@once
async def create_manifest(
    request: Request, response: Response, body: ManifestIn, keeper: Keeper, caller: Caller
) -> NewManifestOut:
    """Make a manifest of artifacts that are kept already. The same tree again is the same manifest."""
    manifest, is_duplicate = await keeper.manifests.create(
        [(each.path, each.sha256, each.metadata) for each in body.entries],
        metadata=body.metadata,
        parent=body.parent,
        message=body.message,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.status_code = 200 if is_duplicate else 201
    response.headers["Location"] = f"{request.url.path}/{manifest.sha256}"
    return NewManifestOut.made(manifest, is_duplicate=is_duplicate)


@manifests.get("/{sha256}", name="read_manifest", response_model=ManifestOut, responses=problems(ManifestNotFound))
@asks("manifests:read")
async def read_manifest(sha256: Sha256, keeper: Keeper, caller: Caller) -> ManifestOut:
    """What is known of a manifest."""
    return ManifestOut.of(await keeper.manifests.get(sha256, principal=caller))


@manifests.get(
    "/{sha256}/entries", name="list_entries", response_model=Page[EntryOut], responses=problems(ManifestNotFound)
)
@asks("manifests:read")
async def list_manifest_entries(
    sha256: Sha256, keeper: Keeper, caller: Caller, limit: Limit = 100, cursor: NoCursor = None
) -> Page[EntryOut]:
    """The entries of a manifest, in their order."""
    after = cursor or 0
    found = await keeper.manifests.entries(sha256, principal=caller, after=after, limit=limit + 1)
    return page_of([EntryOut.of(each) for each in found], limit, [str(after + no + 1) for no in range(len(found))])


@manifests.get(
    "/{sha256}/history", name="manifest_history", response_model=Page[ManifestOut], responses=problems(ManifestNotFound)
)
@asks("manifests:read")
async def read_manifest_history(
    sha256: Sha256,
    keeper: Keeper,
    caller: Caller,
    limit: HistoryLimit = 100,
    cursor: Annotated[Sha256 | None, Query(description="`next` of the page before.")] = None,
) -> Page[ManifestOut]:
    """A manifest, its parent, the parent of that, and so on."""
    begin, seen = (sha256, 0) if cursor is None else (cursor, 1)
    found = await keeper.manifests.history(begin, principal=caller, limit=limit + 1 + seen)
    return page_of([ManifestOut.of(each) for each in found[seen:]], limit, [each.sha256 for each in found[seen:]])


@manifests.get("/{sha256}/diff", name="diff_manifests", response_model=DiffOut, responses=problems(ManifestNotFound))
@asks("manifests:read")
async def diff_manifests(
    sha256: Sha256, keeper: Keeper, caller: Caller, against: Annotated[Sha256, Query(description="The one before.")]
) -> DiffOut:
    """What changed from `against` to this one."""
    return DiffOut.of(await keeper.manifests.diff(sha256, against, principal=caller))


@pointers.post(
    "",
    name="create_pointer",
    status_code=201,
    response_model=PointerOut,
    responses=problems(*WITH_BODY, NotAllowed, PointerExists, ManifestNotFound),
)
@asks("pointers:write")
@once
async def create_pointer(
    request: Request, response: Response, body: PointerIn, keeper: Keeper, caller: Caller
) -> PointerOut:
    """Make a pointer, empty or at a manifest."""
    pointer = await keeper.pointers.create(
        body.name,
        namespace=body.namespace,
        kind=body.kind,
        manifest=body.manifest,
        description=body.description,
        metadata=body.metadata,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["Location"] = f"{request.url.path}/{pointer.id}"
    return PointerOut.of(pointer)


@pointers.get("", name="list_pointers", response_model=Page[PointerOut], responses=problems())
@asks("pointers:read")
async def list_pointers(
    keeper: Keeper,
    caller: Caller,
    namespace: Annotated[Name | None, Query()] = None,
    kind: Annotated[Kind | None, Query()] = None,
    limit: Limit = 50,
    cursor: IdCursor = None,
) -> Page[PointerOut]:
    """The pointers of one's tenant, newest first."""
    found = await keeper.pointers.list(
        namespace=namespace,
        kind=None if kind is None else PointerKind(kind),
        principal=caller,
        before=cursor,
        limit=limit + 1,
    )
    return page_of([PointerOut.of(each) for each in found], limit, [each.id for each in found])


@pointers.get(
    "/by-name/{namespace}/{name}",
    name="find_pointer",
    response_model=PointerOut,
    responses=problems(PointerNotFound),
)
@asks("pointers:read")
async def find_pointer(namespace: str, name: str, keeper: Keeper, caller: Caller) -> PointerOut:
    """A pointer by its namespace and name."""
    return PointerOut.of(await keeper.pointers.named(namespace, name, principal=caller))


@pointers.get("/{pointer_id}", name="read_pointer", response_model=PointerOut, responses=problems(PointerNotFound))
@asks("pointers:read")
async def read_pointer(pointer_id: str, keeper: Keeper, caller: Caller) -> PointerOut:
    """A pointer by its id."""
    return PointerOut.of(await keeper.pointers.get(pointer_id, principal=caller))


@pointers.get(
    "/{pointer_id}/resolve", name="resolve_pointer", response_model=ResolvedOut, responses=problems(PointerNotFound)
)
@asks("pointers:read")
async def resolve_pointer(pointer_id: str, keeper: Keeper, caller: Caller) -> ResolvedOut:
    """The manifest where a pointer stands; null while it is empty."""
    pointer = await keeper.pointers.get(pointer_id, principal=caller)
    return ResolvedOut(pointer_id=pointer.id, manifest=pointer.manifest)


@pointers.post(
    "/{pointer_id}/advance",
    name="advance_pointer",
    response_model=PointerOut,
    responses=problems(*WITH_BODY, NotAllowed, PointerNotFound, PointerMoved, PointerFrozen, ManifestNotFound),
)
@asks("pointers:write")
@once
async def advance_pointer(
    pointer_id: str, request: Request, body: AdvanceIn, keeper: Keeper, caller: Caller
) -> PointerOut:
    """Move a pointer to a manifest, a newer or an older one. A conflict names where it stands, and changes nothing."""
    pointer = await keeper.pointers.advance(
        pointer_id,
        body.manifest,
        expected=_expected(body),
        reason=body.reason,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    return PointerOut.of(pointer)


@pointers.post(
    "/{pointer_id}/reset",
    name="reset_pointer",
    response_model=PointerOut,
    responses=problems(*WITH_BODY, NotAllowed, PointerNotFound, PointerMoved, PointerFrozen, ManifestNotFound),
)
@asks("pointers:write")
@once
async def reset_pointer(pointer_id: str, request: Request, body: ResetIn, keeper: Keeper, caller: Caller) -> PointerOut:
    """Put a pointer back to a manifest, or empty it."""
    pointer = await keeper.pointers.reset(
        pointer_id,
        body.manifest,
        expected=_expected(body),
        reason=body.reason,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    return PointerOut.of(pointer)


@pointers.delete(
    "/{pointer_id}",
    name="delete_pointer",
    response_model=PointerOut,
    responses=problems(NotAllowed, PointerNotFound),
)
@asks("pointers:write")
async def delete_pointer(pointer_id: str, request: Request, keeper: Keeper, caller: Caller) -> PointerOut:
    """Delete a pointer: its name is free again, and every session loses it at once. Its history stays readable."""
    trace_id = exchange_of(request).trace_id
    return PointerOut.of(await keeper.pointers.delete(pointer_id, principal=caller, trace_id=trace_id))


@pointers.get(
    "/{pointer_id}/history", name="pointer_history", response_model=Page[MoveOut], responses=problems(PointerNotFound)
)
@asks("pointers:read")
async def read_pointer_history(
    pointer_id: str, keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: NoCursor = None
) -> Page[MoveOut]:
    """Everywhere a pointer has been, newest first."""
    found = await keeper.pointers.history(pointer_id, principal=caller, before=cursor, limit=limit + 1)
    return page_of([MoveOut.of(each) for each in found], limit, [str(each.no) for each in found])


@of_session.post(
    "/publish",
    name="publish",
    status_code=201,
    response_model=PublishedOut,
    responses=problems(
        *WITH_BODY,
        NotAllowed,
        SessionNotFound,
        SessionClosed,
        SessionExpired,
        ArtifactsMissing,
        ManifestInvalid,
        PointerNotFound,
        PointerMoved,
        PointerFrozen,
    ),
)
@asks("sessions:write")
@once
async def publish_outputs(
    session_id: str, request: Request, body: PublishIn, keeper: Keeper, caller: Caller
) -> PublishedOut:
    """Bring artifacts out of a session: a manifest, the move of a pointer and their entries in the feed, or nothing."""
    published = await keeper.substrate.publish(
        session_id,
        [(each.path, each.sha256, each.metadata) for each in body.entries],
        pointer=body.pointer,
        expected=_expected(body),
        message=body.message,
        reason=body.reason,
        metadata=body.metadata,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    return PublishedOut.of(published)


@of_session.get("/outputs", name="list_outputs", response_model=OutputsOut, responses=problems(SessionNotFound))
@asks("sessions:read")
async def list_outputs(
    session_id: str,
    keeper: Keeper,
    caller: Caller,
    run_id: Annotated[Id | None, Query(description="Only what this run brought out.")] = None,
    kind: Annotated[OutputKind | None, Query()] = None,
    limit: Limit = 100,
    cursor: NoCursor = None,
) -> OutputsOut:
    """What came out of a session: artifacts, manifests and moves of pointers, in the order of its feed."""
    found = await keeper.substrate.outputs(
        session_id, run_id=run_id, kind=kind, principal=caller, after=cursor or 0, limit=limit + 1
    )
    counts = await keeper.substrate.counts(session_id, run_id=run_id, principal=caller)
    has_more = len(found) > limit
    return OutputsOut(
        items=[OutputOut.of(each) for each in found[:limit]],
        counts=CountsOut.of(counts),
        next=str(found[limit - 1].no) if has_more else None,
    )


@of_session.get("/cost", name="read_cost", response_model=CostOut, responses=problems(SessionNotFound))
@asks("sessions:read")
async def read_cost(session_id: str, keeper: Keeper, caller: Caller) -> CostOut:
    """What the runs of a session spent, and what it takes to keep it."""
    return CostOut.of(await keeper.substrate.cost(session_id, principal=caller))


@storage.get("", name="read_storage", response_model=StorageOut, responses=problems(NotAllowed))
@asks("storage:manage")
async def read_storage(keeper: Keeper, caller: Caller) -> StorageOut:
    """What a tenant takes, by class of data, and its largest sessions; for its owner and admins."""
    return StorageOut.of(await keeper.substrate.storage(principal=caller), most_sessions=MOST_SESSIONS)


def _expected(body: AdvanceIn | ResetIn | PublishIn) -> Expected | None:
    """Null expects an empty pointer; what was left out expects nothing."""
    return Expected(manifest=body.expected) if "expected" in body.model_fields_set else None
