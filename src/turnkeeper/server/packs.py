"""Packs: pushing and reading them, overriding what they say, and which one a session is pinned to."""

import base64
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from turnkeeper.errors import (
    EnvelopeInvalid,
    KnowledgeBaseFull,
    NotAllowed,
    PackImmutable,
    PackInvalid,
    PackNotFound,
    SessionNotFound,
    SourceTooLarge,
    VersionMoved,
)
from turnkeeper.model.pack_config import config_keys
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.once import once
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.parameters import IfMatch, Limit, version_of
from turnkeeper.server.sessions import told
from turnkeeper.server.wire import Page, page_of
from turnkeeper.server.wire_packs import (
    DialogueOut,
    OverrideIn,
    OverrideOut,
    PackConfigOut,
    PackIn,
    PackOut,
    PackTextOut,
    RepinIn,
)
from turnkeeper.server.wire_sessions import SessionOut

router = APIRouter(prefix="/packs", tags=["packs"], route_class=GuardedRoute)
of_session = APIRouter(prefix="/sessions/{session_id}", tags=["packs"], route_class=GuardedRoute)

ConfigKey = Annotated[str, Path(description="A key of the config.", json_schema_extra={"enum": list(config_keys())})]
RefCursor = Annotated[str | None, Query(max_length=200, description="`next` of the page before.")]


@router.post(
    "",
    name="push_pack",
    status_code=201,
    response_model=PackOut,
    responses=problems(*WITH_BODY, NotAllowed, PackInvalid, PackImmutable, SourceTooLarge, KnowledgeBaseFull),
)
@asks("packs:manage")
@once
async def push_pack(request: Request, response: Response, body: PackIn, keeper: Keeper, caller: Caller) -> PackOut:
    """Keep a pack for good. All of its faults come at once; the same files again change nothing."""
    push = await keeper.packs.push(_pack_in(body), principal=caller, trace_id=exchange_of(request).trace_id)
    response.headers["Location"] = f"{request.url.path}/{push.pushed.pin.ref}"
    return PackOut.of_push(push)


@router.get("", name="list_packs", response_model=Page[PackOut], responses=problems(PackNotFound))
@asks("packs:read")
async def list_packs(keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: RefCursor = None) -> Page[PackOut]:
    """The packs of one's tenant by id, of each its oldest version first."""
    found = await keeper.packs.list(principal=caller, after=cursor, limit=limit + 1)
    return page_of([PackOut.of(pushed) for pushed in found], limit, [pushed.pin.ref for pushed in found])


@router.get("/{ref}", name="read_pack", response_model=PackTextOut, responses=problems(PackNotFound))
@asks("packs:read")
async def read_pack(ref: str, keeper: Keeper, caller: Caller) -> PackTextOut:
    """One version (`id@version`) or the highest (`id`), with its files."""
    pushed = await keeper.packs.get(ref, principal=caller)
    return PackTextOut.whole(pushed, await keeper.packs.read(pushed.pin.ref, principal=caller))


@router.get(
    "/{pack_id}/config", name="read_pack_config", response_model=PackConfigOut, responses=problems(PackNotFound)
)
@asks("packs:read")
async def read_pack_config(pack_id: str, keeper: Keeper, caller: Caller) -> PackConfigOut:
    """What holds for the highest version of a pack, and what of it the tenant wants otherwise."""
    return PackConfigOut.of(*await keeper.packs.config(pack_id, principal=caller))


@router.put(
    "/{pack_id}/config/{key}",
    name="override_pack",
    response_model=OverrideOut,
    responses=problems(*WITH_BODY, NotAllowed, PackNotFound),
)
@asks("packs:manage")
async def override_pack(
    pack_id: str, key: ConfigKey, request: Request, body: OverrideIn, keeper: Keeper, caller: Caller
) -> OverrideOut:
    """Want a key of the config otherwise in this tenant, from the next turn on, whatever the version."""
    override = await keeper.packs.override(
        pack_id, key, body.value, enabled=body.enabled, principal=caller, trace_id=exchange_of(request).trace_id
    )
    return OverrideOut.of(override)


@router.delete(
    "/{pack_id}/config/{key}",
    name="drop_pack_override",
    status_code=204,
    responses=problems(NotAllowed, PackNotFound),
)
@asks("packs:manage")
async def drop_pack_override(
    pack_id: str, key: ConfigKey, request: Request, keeper: Keeper, caller: Caller
) -> Response:
    """Want a key of the config as the pack says it again."""
    await keeper.packs.drop_override(pack_id, key, principal=caller, trace_id=exchange_of(request).trace_id)
    return Response(status_code=204)


@of_session.post(
    "/repin",
    name="repin",
    response_model=SessionOut,
    responses=problems(*WITH_BODY, NotAllowed, SessionNotFound, PackNotFound, VersionMoved),
)
@asks("sessions:write")
@once
async def repin_session(
    session_id: str,
    request: Request,
    response: Response,
    body: RepinIn,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> SessionOut:
    """Pin a session to another pack or version, from its next turn on."""
    session = await keeper.packs.repin(
        session_id,
        body.pack,
        principal=caller,
        expected_version=version_of(if_match),
        trace_id=exchange_of(request).trace_id,
    )
    return await told(response, keeper, session)


@of_session.get("/intent", name="read_intent", response_model=DialogueOut, responses=problems(SessionNotFound))
@asks("sessions:read")
async def read_intent(session_id: str, keeper: Keeper, caller: Caller) -> DialogueOut:
    """What a session holds about its intent: the answers so far, what is missing, and what is asked."""
    return DialogueOut.of(await keeper.session(session_id, principal=caller))


def _pack_in(body: PackIn) -> bytes | dict[str, str]:
    if (body.files is None) == (body.archive is None):
        raise EnvelopeInvalid.at("/files", "give either files or archive")
    if body.files is not None:
        return dict(body.files)
    try:
        return base64.b64decode(body.archive or "", validate=True)
    except ValueError:
        raise EnvelopeInvalid.at("/archive", "must be an archive in base64") from None
