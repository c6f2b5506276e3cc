"""The doors to the outside world: mail, short messages, calls and webhooks, as they arrive."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from turnkeeper.errors import (
    AttachmentTooLarge,
    BindingNotFound,
    BodyTooLarge,
    ChannelPayloadInvalid,
    ChannelUnsupported,
    NormalizationFailed,
    SenderUnknown,
    TurnkeeperError,
    WebhookSignatureInvalid,
)
from turnkeeper.keeper import Turnkeeper
from turnkeeper.model.binding import BindingAuth
from turnkeeper.model.principal import Principal
from turnkeeper.ports.buckets import MESSAGES
from turnkeeper.ports.channels import Raw
from turnkeeper.server.asking import asks, check_asked
from turnkeeper.server.auth import Caller, authenticate
from turnkeeper.server.bound import check_bound
from turnkeeper.server.chat import taken_but_leaving
from turnkeeper.server.closing import NodeClosing, first_of
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper, tokens_of
from turnkeeper.server.limits import read_body
from turnkeeper.server.openapi import TALKING, problems
from turnkeeper.server.wire_channels import ChannelOut, TakenOut
from turnkeeper.server.wire_chat import ChatOut

router = APIRouter(prefix="/channels", tags=["channels"], route_class=GuardedRoute)
doors = APIRouter(prefix="/channels", tags=["channels"])
"""Not guarded like the others: what lets a request in here is said by its binding."""

Admit = Callable[[], Awaitable[None]]

ANYTHING = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
"""What a gateway sends is of its channel; the manual has a page for each."""


@router.get("", name="list_channels", response_model=list[ChannelOut], responses=problems())
@asks("channels:read")
async def list_channels(keeper: Keeper, caller: Caller) -> list[ChannelOut]:
    """The channels that a binding can be made for."""
    return [ChannelOut(name=name) for name in keeper.channels.names()]


@doors.post(
    "/{channel}/{binding}",
    name="deliver",
    status_code=202,
    response_model=TakenOut,
    response_model_exclude_none=True,
    responses={
        200: {"model": ChatOut, "description": "With `wait` the answer, or the question that comes back"},
        202: {"description": "It is taken in, and its answer goes out through the channel"},
        204: {"description": "It was a sign of life, such as typing or a receipt; nothing runs for it."},
        **problems(
            *TALKING,
            BodyTooLarge,
            ChannelUnsupported,
            BindingNotFound,
            WebhookSignatureInvalid,
            ChannelPayloadInvalid,
            AttachmentTooLarge,
            SenderUnknown,
            NormalizationFailed,
        ),
    },
    # Beside the token: where a binding asks for a signature, none is needed.
    openapi_extra={
        "requestBody": {"required": True, "content": ANYTHING},
        "security": [{}],
        "x-asks": ["channels:write"],
    },
)
@asks("channels:write")
async def deliver(
    channel: str,
    binding: str,
    request: Request,
    keeper: Keeper,
    closing: NodeClosing,
    wait: Annotated[bool, Query(description="Answer with what the agent says.")] = False,
) -> Response | TakenOut:
    """Take in what came through a channel, in the shape in which its gateway sends it.

    A binding asks for a token of its tenant, or for a signature and then for no token. The same delivery again is
    answered like the first.
    """
    try:
        raw, principal, admit = await _came_in(request, keeper, channel, binding)
    except TurnkeeperError as error:
        error.stage = "receive"
        raise
    trace_id = exchange_of(request).trace_id
    delivered = await keeper.channels.deliver(
        channel, binding, raw, principal=principal, trace_id=trace_id, admit=admit
    )
    ticket = delivered.ticket
    if ticket is None:
        return Response(status_code=204)
    if not wait:
        return TakenOut.of(ticket, delivered.delivery_id)
    reply = await first_of(keeper.reply_to(ticket), closing.over())
    if reply is None:
        raise taken_but_leaving(ticket)
    return Response(ChatOut.of(reply).model_dump_json(exclude_none=True), media_type="application/json")


async def _came_in(
    request: Request, keeper: Turnkeeper, channel: str, binding: str
) -> tuple[Raw, Principal | None, Admit | None]:
    """Who brings it, what it is, and what is still to be counted. Nothing is read where no door is open.

    A message without a token counts for its door alone until its signature is known to be right: the bucket of the
    tenant is not for strangers to empty.
    """
    principal = None
    try:
        if channel in keeper.channels.names():
            known = await keeper.channels.binding(channel, binding)
            if known.terms.auth is BindingAuth.TOKEN:
                principal = await authenticate(request, tokens_of(request), keeper.directory)
                check_asked(("channels:write",), principal)
                await check_bound("deliver", request, principal, keeper)
        door = await keeper.channels.door(channel, binding, principal=principal)
    except (ChannelUnsupported, BindingNotFound):
        # Who has no token is not told which doors there are.
        await authenticate(request, tokens_of(request), keeper.directory)
        raise
    is_signed = door.terms.auth is BindingAuth.SIGNATURE
    await keeper.limits.admit(door.tenant, f"binding:{door.id}" if is_signed else MESSAGES)
    body = await read_body(request, most_bytes=keeper.settings.channel_bytes)
    raw = Raw(
        body=body,
        headers={name.lower(): value for name, value in request.headers.items()},
        media_type=request.headers.get("content-type", "").partition(";")[0].strip().lower(),
        query=dict(request.query_params),
        url=str(request.url),
    )
    return raw, principal, partial(keeper.limits.admit, door.tenant) if is_signed else None
