"""Talking: the short form of an envelope, answered as JSON or as a stream."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from turnkeeper.errors import ArtifactNotFound, CarriedInvalid, CarriedStale, EnvelopeInvalid, ShuttingDown
from turnkeeper.keeper import Turnkeeper
from turnkeeper.keeping.door import Ticket
from turnkeeper.ledger.feed import Frame
from turnkeeper.model.feed import FeedType
from turnkeeper.model.principal import Principal
from turnkeeper.model.session import Custody
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.carrying import opened, sealed
from turnkeeper.server.closing import NodeClosing, first_of, gone
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import Keeper, MessageRoute, is_still_let_in
from turnkeeper.server.openapi import TALKING, WITH_BODY, event_stream, problems
from turnkeeper.server.parameters import IdempotencyKey
from turnkeeper.server.sse import Stream
from turnkeeper.server.wire_chat import AnswerIn, ChatIn, ChatOut

router = APIRouter(tags=["chat"], route_class=MessageRoute)


@router.post(
    "/chat",
    name="chat",
    response_model=ChatOut,
    response_model_exclude_none=True,
    responses={
        **event_stream(ChatOut),
        **problems(*WITH_BODY, *TALKING, ArtifactNotFound, CarriedInvalid, CarriedStale),
    },
)
@asks("sessions:write")
async def chat(
    request: Request,
    body: ChatIn,
    keeper: Keeper,
    caller: Caller,
    closing: NodeClosing,
    idempotency_key: IdempotencyKey = None,
) -> Response | ChatOut:
    """Send a message and get the answer, at once as JSON or piece by piece as a stream (`stream`, or `Accept`).

    The run does not belong to the connection: who loses it finds the answer in the feed.
    """
    wants_stream = body.stream or "text/event-stream" in request.headers.get("accept", "")
    with ExitStack() as place:
        if wants_stream:
            place.enter_context(keeper.limits.stream(caller.tenant))
        ticket = await _submitted(keeper, caller, request, body, idempotency_key)
        cancel = _canceller(keeper, caller, ticket, exchange_of(request).trace_id)
        if wants_stream:
            return Stream(
                keeper=keeper,
                stays=partial(is_still_let_in, request),
                principal=caller,
                session_id=ticket.run.session_id,
                frames=keeper.follow_reply(ticket),
                closing=closing,
                more=told_to_its_sender(keeper, ticket),
                when_gone=cancel if body.cancel_on_disconnect else None,
                traces={ticket.run.id: ticket.run.trace_id},
            ).response(place.pop_all())
    reply = await first_of(keeper.reply_to(ticket), closing.over(), gone(request))
    if reply is not None:
        return ChatOut.of(reply, await sealed(keeper, ticket.run, reply.carried))
    if not await request.is_disconnected():
        raise taken_but_leaving(ticket)
    if body.cancel_on_disconnect:
        await cancel()
    return Response(status_code=499)


def _canceller(keeper: Turnkeeper, caller: Principal, ticket: Ticket, trace_id: str) -> Callable[[], Awaitable[None]]:
    async def cancel() -> None:
        # Who has heard the end closes the connection too; there is nothing left to cancel then.
        if (await keeper.run(ticket.run.id, principal=caller)).status.is_open:
            await keeper.cancel(ticket.run.id, principal=caller, trace_id=trace_id)

    return cancel


async def _submitted(
    keeper: Turnkeeper, caller: Principal, request: Request, body: ChatIn, idempotency_key: str | None
) -> Ticket:
    exchange = exchange_of(request)
    request_id = one_request_id(body.request_id, idempotency_key)
    if request_id is not None:
        exchange.request_id = request_id
    carried: Any = body.carried
    if body.carried is not None and body.custody == "client":
        carried = await opened(keeper, caller, body.session_id, body.carried)
    return await keeper.submit(
        body.message,
        attachments=body.attachments,
        session_id=body.session_id,
        agent=body.agent,
        pack=body.pack,
        principal=caller,
        reset=body.reset,
        params=body.params,
        plugins=body.plugins,
        model=body.model,
        level=body.level,
        metadata=body.metadata,
        request_id=request_id,
        double_text=body.double_text,
        on_missing=body.on_missing,
        answers=body.answers,
        custody=body.custody,
        carried=carried,
        freshness=body.freshness,
        trace_id=exchange.trace_id,
        trace=exchange.caller,
    )


@router.post(
    "/runs/{run_id}/answer",
    name="answer",
    tags=["runs"],
    response_model=ChatOut,
    response_model_exclude_none=True,
    responses=problems(*WITH_BODY, *TALKING),
)
@asks("runs:write")
async def answer_question(
    run_id: str,
    request: Request,
    body: AnswerIn,
    keeper: Keeper,
    caller: Caller,
    closing: NodeClosing,
    idempotency_key: IdempotencyKey = None,
) -> ChatOut:
    """Answer the question of a waiting run, and get what it says then."""
    exchange = exchange_of(request)
    request_id = one_request_id(body.request_id, idempotency_key)
    if request_id is not None:
        exchange.request_id = request_id
    ticket = await submit_answer(keeper, caller, run_id, body.message, request_id, exchange.trace_id)
    reply = await first_of(keeper.reply_to(ticket), closing.over())
    if reply is None:
        raise taken_but_leaving(ticket)
    return ChatOut.of(reply)


async def submit_answer(
    keeper: Turnkeeper, caller: Principal, run_id: str, message: str, request_id: str | None, trace_id: str
) -> Ticket:
    run = await keeper.run(run_id, principal=caller)
    return await keeper.submit(
        message,
        session_id=run.session_id,
        answers=run.id,
        principal=caller,
        request_id=request_id,
        trace_id=trace_id,
        on_missing="error",
    )


def one_request_id(in_body: str | None, in_header: str | None) -> str | None:
    """The request id, which may be given twice but not in two ways."""
    if in_body is not None and in_header is not None and in_body != in_header:
        raise EnvelopeInvalid(
            "request_id and the header Idempotency-Key are one and the same, but have two values.",
            details=[
                {"pointer": "/request_id", "message": "must equal the header Idempotency-Key"},
                {"header": "Idempotency-Key", "message": "must equal request_id in the body"},
            ],
        )
    return in_body if in_body is not None else in_header


def taken_but_leaving(ticket: Ticket) -> ShuttingDown:
    """The message is safe, but its answer will be given elsewhere."""
    error = ShuttingDown()
    error.detail = "The message was taken, but this node is shutting down. Its run goes on; follow it on another node."
    error.facts |= {"run_id": ticket.run.id, "session_id": ticket.run.session_id}
    error.audited = True  # As accepted: nothing was refused.
    return error


def told_to_its_sender(keeper: Turnkeeper, ticket: Ticket) -> Any:
    """What the feed does not hold because it concerns the sender alone."""

    async def more(frame: Frame) -> Mapping[str, Any]:
        if frame.type is FeedType.RUN_ACCEPTED and frame.run_id == ticket.run.id:
            told: dict[str, Any] = {"created": ticket.created}
            if ticket.replaced_session_id is not None:
                told |= {"replaced_session_id": ticket.replaced_session_id, "replaced_reason": ticket.replaced_reason}
            return told
        if frame.type.ends_a_run and ticket.run.custody is Custody.CLIENT:
            run = await keeper.run(ticket.run.id, principal=Principal(tenant=ticket.run.tenant, user=ticket.run.user))
            # A run that failed carries something only if it has reset the session.
            carried = await sealed(keeper, run, (run.result or {}).get("carried"))
            return {"carried": carried} if carried else {}
        return {}

    return more
