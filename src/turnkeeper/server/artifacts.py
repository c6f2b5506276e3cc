"""Artifacts: keeping content for good, and reading it again."""

import email.message
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from turnkeeper.errors import (
    ArtifactDamaged,
    ArtifactNotFound,
    AttachmentTooLarge,
    BodyTooLarge,
    NotAllowed,
    RangeNotSatisfiable,
    UploadLost,
)
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.blob import ByteRange
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.errors import problem_response
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.limits import stream_body
from turnkeeper.server.openapi import problems
from turnkeeper.server.parameters import IdCursor, Limit
from turnkeeper.server.wire import Page, page_of
from turnkeeper.server.wire_channels import ArtifactOut

router = APIRouter(prefix="/artifacts", tags=["artifacts"], route_class=GuardedRoute)

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
BINARY = {"schema": {"type": "string", "format": "binary"}}
Part = Annotated[str | None, Header(description="One part of it: `bytes=0-499`, `bytes=500-` or `bytes=-500`.")]
FileName = Annotated[str | None, Query(max_length=255, description="Unless Content-Disposition names the file.")]


@router.post(
    "",
    name="keep_artifact",
    status_code=201,
    response_model=ArtifactOut,
    responses=problems(BodyTooLarge, AttachmentTooLarge, NotAllowed, UploadLost),
    openapi_extra={"requestBody": {"required": False, "content": {"*/*": BINARY}}},
)
@asks("artifacts:write")
async def keep_artifact(
    request: Request, response: Response, keeper: Keeper, caller: Caller, name: FileName = None
) -> ArtifactOut:
    """Keep the body, whatever it is, under the type that Content-Type names. The same content is kept once."""
    artifact = await keeper.artifacts.keep(
        stream_body(request, most_bytes=keeper.settings.artifact_bytes),
        media_type=request.headers.get("content-type", ""),
        name=_file_name(request) or name,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["Location"] = f"{request.url.path}/{artifact.id}"
    return ArtifactOut.of(artifact)


@router.get("", name="list_artifacts", response_model=Page[ArtifactOut], responses=problems())
@asks("artifacts:read")
async def list_artifacts(
    keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: IdCursor = None
) -> Page[ArtifactOut]:
    """The artifacts that one keeps, newest first; for owner and admin those of the whole tenant."""
    found = await keeper.artifacts.list(principal=caller, before=cursor, limit=limit + 1)
    return page_of([ArtifactOut.of(each) for each in found], limit, [each.id for each in found])


@router.get("/{artifact_id}", name="read_artifact", response_model=ArtifactOut, responses=problems(ArtifactNotFound))
@asks("artifacts:read")
async def read_artifact(artifact_id: str, keeper: Keeper, caller: Caller) -> ArtifactOut:
    """What is known of an artifact, by its id or its hash: for who keeps it, and for owner and admin of the tenant.

    What is in a manifest is open to everyone of the tenant.
    """
    return ArtifactOut.of(await keeper.artifacts.get(artifact_id, principal=caller))


@router.get(
    "/{artifact_id}/content",
    name="read_artifact_content",
    response_class=Response,
    responses={
        200: {"description": "The bytes, as a file to save", "content": {"*/*": BINARY}},
        206: {"description": "The part that Range asks for", "content": {"*/*": BINARY}},
        304: {"description": "If-None-Match names this content."},
        **problems(ArtifactNotFound, ArtifactDamaged, RangeNotSatisfiable),
    },
)
@asks("artifacts:read")
async def read_artifact_content(
    artifact_id: str,
    request: Request,
    keeper: Keeper,
    caller: Caller,
    range: Annotated[
        str | None, Header(description="One part of it: `bytes=0-499`, `bytes=500-` or `bytes=-500`")
    ] = None,
) -> Response:
    """The content, and nothing but what was kept: each piece of it is checked, and its hash is the ETag."""
    artifact = await keeper.artifacts.get(artifact_id, principal=caller)
    headers = _headers_of(artifact)
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers={"ETag": headers["ETag"]})
    status, part = 200, None
    if request.headers.get("if-range", headers["ETag"]) == headers["ETag"]:
        try:
            part = part_of(range, artifact.size)
        except RangeNotSatisfiable as error:
            return problem_response(error, exchange_of(request), {"Content-Range": f"bytes */{artifact.size}"})
    if part is not None:
        status = 206
        headers["Content-Range"] = f"bytes {part.first}-{part.last}/{artifact.size}"
        headers["Content-Length"] = str(part.size)
    pieces = keeper.artifacts.pieces(artifact, part)
    # Before the first byte is sent: content that is damaged from its start is a plain error.
    first = await anext(pieces, b"")
    return StreamingResponse(
        _together(first, pieces), status_code=status, media_type=artifact.media_type, headers=headers
    )


@router.head(
    "/{artifact_id}/content",
    name="look_at_artifact_content",
    response_class=Response,
    responses={200: {"description": "The headers alone"}, **problems(ArtifactNotFound)},
)
@asks("artifacts:read")
async def look_at_artifact_content(artifact_id: str, keeper: Keeper, caller: Caller) -> Response:
    """Size, type and hash of the content, without it."""
    artifact = await keeper.artifacts.get(artifact_id, principal=caller)
    return Response(media_type=artifact.media_type, headers=_headers_of(artifact))


def part_of(written: str | None, size: int) -> ByteRange | None:
    """The part that a Range header asks for; None for all of it. Raises RangeNotSatisfiable.

    What is no single range of bytes is ignored, as the standard has it.
    """
    found = _RANGE.fullmatch(written or "")
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        last_bytes = int(found[2])
        if last_bytes == 0 or size == 0:
            raise RangeNotSatisfiable(size)
        return ByteRange(first=max(size - last_bytes, 0), last=size - 1)
    first, last = int(found[1]), int(found[2]) if found[2] else size - 1
    if found[2] and last < first:
        return None
    if first >= size:
        raise RangeNotSatisfiable(size)
    return ByteRange(first=first, last=min(last, size - 1))


async def _together(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(rest) as pieces:
        yield first
        async for piece in pieces:
            yield piece


def _headers_of(artifact: Artifact) -> dict[str, str]:
    return {
        "ETag": f'"{artifact.sha256}"',
        "Accept-Ranges": "bytes",
        "Content-Length": str(artifact.size),
        "Content-Disposition": _disposition(artifact),
        # Nothing that a stranger sent is ever shown as a page of ours.
        "Content-Security-Policy": "sandbox",
    }


def _file_name(request: Request) -> str | None:
    written = request.headers.get("content-disposition")
    if written is None:
        return None
    message = email.message.Message()
    message["Content-Disposition"] = written
    return message.get_filename()


def _disposition(artifact: Artifact) -> str:
    return f"attachment; filename*=UTF-8''{quote(artifact.name or artifact.id, safe='')}"
