"""The full envelope: answered as a stream, as one object, or as a run to come back to."""

from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response
from fastapi.responses import JSONResponse

from turnkeeper import errors
from turnkeeper.keeping.door import Ticket
from turnkeeper.model.mode import Mode
from turnkeeper.schemas import NAMES, schema, whole
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.chat import one_request_id, taken_but_leaving, told_to_its_sender
from turnkeeper.server.closing import NodeClosing, first_of
from turnkeeper.server.errors import API
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import EnvelopeRoute, GuardedRoute, Keeper, is_still_let_in
from turnkeeper.server.openapi import TALKING, event_stream, problems
from turnkeeper.server.parameters import IdempotencyKey
from turnkeeper.server.sse import Stream
from turnkeeper.server.wire_chat import InvokeOut, RunHandle

EXAMPLE = {
    "request_id": "req_0001",
    "tenant_id": "default",
    "user": {
        "user_id": "usr_100",
        "delegation": {"auth_type": "oauth2", "scopes": ["tables:book"], "subject": "u:user:100"},
    },
    "agent": {"agent_id": "symbolic", "workload_identity": "spiffe://demo/agents/desk"},
    "context_pack_refs": ["table-booking@1.0.0"],
    "input": {"intent": "", "message": "A table for two on Friday", "channel": "app_chat", "locale": "en-GB"},
    "mode": "batch",
    "runtime": {"plan_timeout_ms": 15000, "max_tool_calls": 6},
    "trace": {"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331"},
}

router = APIRouter(tags=["invoke"], route_class=EnvelopeRoute)
schemas = APIRouter(tags=["invoke"], route_class=GuardedRoute)


class SchemaResponse(JSONResponse):
    media_type = "application/schema+json"


REFUSALS = (
    errors.MalformedJson,
    errors.MediaTypeNotSupported,
    errors.EnvelopeTooLarge,
    errors.MissingRequiredField,
    errors.SchemaInvalid,
    errors.PackUnpinned,
    errors.PackRefConflict,
    errors.TenantMismatch,
    errors.UserMismatch,
    errors.RateLimited,
    errors.TooManyStreams,
    errors.TooManyLongRuns,
    errors.PackIntegrityError,
    errors.ChannelUnsupported,
    errors.ChannelPayloadInvalid,
    errors.WebhookSignatureInvalid,
    errors.ChannelNotAccepted,
    errors.IntentUnknown,
    errors.AgentInactive,
    errors.NormalizationFailed,
    errors.CompileFailed,
)


@router.post(
    "/invoke",
    name="invoke",
    response_model=InvokeOut,
    response_model_exclude_none=True,
    responses={
        **event_stream(InvokeOut),
        202: {"description": "A long run has begun; poll or follow it", "model": RunHandle},
        **problems(*TALKING, *REFUSALS),
    },
    openapi_extra={
        "requestBody": {
            "content": {"application/json": {"schema": whole("envelope"), "example": EXAMPLE}},
            "required": True,
        }
    },
)
@asks("sessions:write")
async def invoke(
    request: Request,
    document: Annotated[Any, Body()],
    keeper: Keeper,
    caller: Caller,
    closing: NodeClosing,
    idempotency_key: IdempotencyKey = None,
) -> Response | InvokeOut:
    """Send a full envelope. `mode` says how it is answered: `stream` as events, `batch` as one object, and
    `long_running` with 202 and the run, which goes on by itself.

    Every fault of the envelope is told at once, each with a JSON pointer.
    """
    exchange_of(request).take_up(document)
    if isinstance(document, dict) and isinstance(document.get("request_id"), str):
        one_request_id(document["request_id"], idempotency_key)
    wants_stream = isinstance(document, dict) and document.get("mode") == Mode.STREAM
    with ExitStack() as place:
        if wants_stream:
            place.enter_context(keeper.limits.stream(caller.tenant))
        ticket = await keeper.invoke(document, principal=caller)
        if ticket.run.mode is Mode.STREAM:
            if not wants_stream:
                # An answer goes on as the run that it answers.
                place.enter_context(keeper.limits.stream(caller.tenant))
            return Stream(
                keeper=keeper,
                stays=partial(is_still_let_in, request),
                principal=caller,
                session_id=ticket.run.session_id,
                frames=keeper.follow_reply(ticket),
                closing=closing,
                more=told_to_its_sender(keeper, ticket),
                traces={ticket.run.id: ticket.run.trace_id},
            ).response(place.pop_all())
    if ticket.run.mode is Mode.LONG_RUNNING:
        return _handle(ticket)
    reply = await first_of(keeper.reply_to(ticket), closing.over())
    if reply is None:
        raise taken_but_leaving(ticket)
    return InvokeOut.told(reply, ticket.run)


def _handle(ticket: Ticket) -> Response:
    """The run goes on without this connection; what became of it is found under its address."""
    run = ticket.run
    place = f"{API}/runs/{run.id}"
    handle = RunHandle(
        run_id=run.id,
        session_id=run.session_id,
        status=run.status,
        trace_id=run.trace_id,
        created=ticket.created,
        run=place,
        feed=f"{place}/feed",
    )
    return JSONResponse(handle.model_dump(), status_code=202, headers={"Location": place})


@schemas.get("/schemas", name="list_schemas", responses=problems())
@asks("schemas:read")
async def list_schemas(caller: Caller) -> dict[str, list[str]]:
    """The shapes that we publish as JSON Schemas."""
    return {"items": list(NAMES)}


@schemas.get(
    "/schemas/{name}",
    name="get_schema",
    response_class=SchemaResponse,
    responses={
        200: {"description": "A JSON Schema", "content": {SchemaResponse.media_type: {"schema": {"type": "object"}}}},
        **problems(errors.RouteNotFound),
    },
)
@asks("schemas:read")
async def get_schema(name: str, caller: Caller) -> Response:
    """One of the published JSON Schemas, draft 2020-12."""
    if name not in NAMES:
        raise errors.RouteNotFound
    return SchemaResponse(schema(name))
