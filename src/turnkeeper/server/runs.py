"""Runs: looking at one, following it, and stopping it."""

from contextlib import ExitStack, aclosing
from functools import partial

from fastapi import APIRouter, Request, Response

from turnkeeper.errors import NotAllowed, RunNotFound, TooManyStreams
from turnkeeper.keeper import Turnkeeper
from turnkeeper.model.run import Run
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.closing import NodeClosing
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper, is_still_let_in
from turnkeeper.server.once import once
from turnkeeper.server.openapi import event_stream, problems
from turnkeeper.server.sse import ResumeAfter, Stream
from turnkeeper.server.wire_checkpoints import CheckpointOut, CheckpointsOut, EffectOut, EffectsOut
from turnkeeper.server.wire_runs import RunOut

router = APIRouter(prefix="/runs", tags=["runs"], route_class=GuardedRoute)


@router.get("/{run_id}", name="read_run", response_model=RunOut, responses=problems(RunNotFound))
@asks("runs:read")
async def read_run(run_id: str, keeper: Keeper, caller: Caller) -> RunOut:
    """A run as it is now, with its answer or its question if it has one."""
    run = await keeper.run(run_id, principal=caller)
    reply = await keeper.reply_of(run)
    return RunOut.of(run, reply.text if reply else None)


@router.get(
    "/{run_id}/checkpoints", name="list_checkpoints", response_model=CheckpointsOut, responses=problems(RunNotFound)
)
@asks("runs:read")
async def list_checkpoints(run_id: str, keeper: Keeper, caller: Caller) -> CheckpointsOut:
    """Where a long or waiting run stood, oldest first."""
    documents = await keeper.checkpoints(run_id, principal=caller)
    return CheckpointsOut(items=[CheckpointOut.model_validate(document) for document in documents])


@router.get("/{run_id}/effects", name="list_effects", response_model=EffectsOut, responses=problems(RunNotFound))
@asks("runs:read")
async def list_effects(run_id: str, keeper: Keeper, caller: Caller) -> EffectsOut:
    """What a run did to the world, in the order of its doing."""
    return EffectsOut(items=[EffectOut.of(effect) for effect in await keeper.effects(run_id, principal=caller)])


@router.post(
    "/{run_id}/cancel",
    name="cancel",
    status_code=202,
    response_model=RunOut,
    responses=problems(RunNotFound, NotAllowed),
)
@asks("runs:write")
@once
async def cancel_run(run_id: str, request: Request, keeper: Keeper, caller: Caller) -> RunOut:
    """Stop a run, wherever it is. Its end may still be on its way; the feed tells it."""
    run = await keeper.cancel(run_id, principal=caller, trace_id=exchange_of(request).trace_id)
    return RunOut.of(run)


@router.get(
    "/{run_id}/feed",
    name="follow_run",
    response_class=Response,
    responses={
        **event_stream(),
        204: {"description": "The run has ended and all of it was seen; do not come back."},
        **problems(RunNotFound, TooManyStreams),
    },
)
@asks("runs:read")
async def follow_run(
    run_id: str, request: Request, keeper: Keeper, caller: Caller, closing: NodeClosing, after: ResumeAfter
) -> Response:
    """What happens in a run until its end, from its beginning or from behind a number already seen."""
    run = await keeper.run(run_id, principal=caller)
    if after is not None and not run.status.is_open and not await _has_more(keeper, run, after):
        return Response(status_code=204)
    with ExitStack() as place:
        place.enter_context(keeper.limits.stream(caller.tenant))
        return Stream(
            keeper=keeper,
            stays=partial(is_still_let_in, request),
            principal=caller,
            session_id=run.session_id,
            frames=keeper.follow(run, after=after),
            closing=closing,
            traces={run.id: run.trace_id},
        ).response(place.pop_all())


async def _has_more(keeper: Turnkeeper, run: Run, after: int) -> bool:
    async with aclosing(keeper.follow(run, after=after)) as frames:
        return await anext(frames, None) is not None
