"""Artifacts: keeping content for good, and reading it again."""

import email.message
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response

from turnkeeper.errors import ArtifactDamaged, ArtifactNotFound, AttachmentTooLarge, BodyTooLarge, NotAllowed
from turnkeeper.model.artifact import Artifact
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.limits import read_body
from turnkeeper.server.openapi import problems
from turnkeeper.server.wire_channels import ArtifactOut

router = APIRouter(prefix="/artifacts", tags=["artifacts"], route_class=GuardedRoute)

BINARY = {"schema": {"type": "string", "format": "binary"}}
FileName = Annotated[str | None, Query(max_length=255, description="Unless Content-Disposition names the file.")]


@router.post(
    "",
    name="keep_artifact",
    status_code=201,
    response_model=ArtifactOut,
    responses=problems(BodyTooLarge, AttachmentTooLarge, NotAllowed),
    openapi_extra={"requestBody": {"required": True, "content": {"*/*": BINARY}}},
)
async def keep_artifact(
    request: Request, response: Response, keeper: Keeper, caller: Caller, name: FileName = None
) -> ArtifactOut:
    """Keep the body, whatever it is, under the type that Content-Type names. The same content is kept once."""
    content = await read_body(request, most_bytes=keeper.settings.artifact_bytes)
    artifact = await keeper.artifacts.keep(
        content,
        media_type=request.headers.get("content-type", ""),
        name=_file_name(request) or name,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["Location"] = f"{request.url.path}/{artifact.id}"
    return ArtifactOut.of(artifact)


@router.get("/{artifact_id}", name="read_artifact", response_model=ArtifactOut, responses=problems(ArtifactNotFound))
async def read_artifact(artifact_id: str, keeper: Keeper, caller: Caller) -> ArtifactOut:
    """What is known of an artifact: for who keeps it, and for owner and admin of the tenant."""
    return ArtifactOut.of(await keeper.artifacts.get(artifact_id, principal=caller))


@router.get(
    "/{artifact_id}/content",
    name="read_artifact_content",
    response_class=Response,
    responses={
        200: {"description": "The bytes, as a file to save", "content": {"*/*": BINARY}},
        304: {"description": "If-None-Match names this content."},
        **problems(ArtifactNotFound, ArtifactDamaged),
    },
)
async def read_content(artifact_id: str, request: Request, keeper: Keeper, caller: Caller) -> Response:
    """The content, and nothing but what was kept: its hash is checked, and is the ETag."""
    artifact = await keeper.artifacts.get(artifact_id, principal=caller)
    headers = {"ETag": f'"{artifact.sha256}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    content = await keeper.artifacts.read(artifact_id, principal=caller)
    # Nothing that a stranger sent is ever shown as a page of ours.
    headers |= {"Content-Disposition": _disposition(artifact), "Content-Security-Policy": "sandbox"}
    return Response(content, media_type=artifact.media_type, headers=headers)


def _file_name(request: Request) -> str | None:
    written = request.headers.get("content-disposition")
    if written is None:
        return None
    message = email.message.Message()
    message["Content-Disposition"] = written
    return message.get_filename()


def _disposition(artifact: Artifact) -> str:
    return f"attachment; filename*=UTF-8''{quote(artifact.name or artifact.id, safe='')}"
