"""Looking at a running house: the runs, nodes, traffic, usage and limits of a tenant."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from turnkeeper.errors import EnvelopeInvalid, NotAllowed
from turnkeeper.model.ids import AgentId, SessionId
from turnkeeper.model.run import RunStatus
from turnkeeper.model.usage import Span
from turnkeeper.ports.overview import LIVE, SoughtRuns
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.openapi import problems
from turnkeeper.server.parameters import IdCursor, Limit, Moment
from turnkeeper.server.wire import Id, Page
from turnkeeper.server.wire_overview import LimitsOut, NodeOut, NodesOut, TrafficOut, UsageOut
from turnkeeper.server.wire_runs import RunOut

router = APIRouter(tags=["overview"], route_class=GuardedRoute)

_STATUS = "|".join(["live", *(status.value for status in RunStatus)])
Statuses = Annotated[
    list[Annotated[str, Field(pattern=f"^({_STATUS})(,({_STATUS}))*$")]],
    Query(description="Only those in one of these, by commas or repeated; `live` are those that have not ended."),
]


@router.get("/runs", name="find_runs", response_model=Page[RunOut], responses=problems())
@asks("runs:read")
async def find_runs(
    keeper: Keeper,
    caller: Caller,
    status: Statuses = [],  # noqa: B006
    agent: Annotated[Id | None, Query(description="Only those of this agent.")] = None,
    session_id: Annotated[Id | None, Query(description="Only those of this session.")] = None,
    since: Annotated[Moment | None, Query(description="Only those accepted then or later.")] = None,
    until: Annotated[Moment | None, Query(description="Only those accepted before.")] = None,
    limit: Limit = 50,
    cursor: IdCursor = None,
) -> Page[RunOut]:
    """One's own runs, newest first, and those in one's own sessions; owner and admin see all of their tenant.

    At most 10,000 runs are looked at for one page: where few of them fit it is shorter than asked for, and `next` goes
    on behind them.
    """
    sought = SoughtRuns(
        statuses=_statuses(status),
        agent=None if agent is None else AgentId(agent),
        session_id=None if session_id is None else SessionId(session_id),
        since=since,
        until=until,
    )
    found = await keeper.overview.runs(sought, principal=caller, before=cursor, limit=limit)
    return Page(items=[RunOut.of(run) for run in found.runs], next=found.next)


@router.get("/nodes", name="list_nodes", response_model=NodesOut, responses=problems(NotAllowed))
@asks("nodes:manage")
async def list_nodes(keeper: Keeper, caller: Caller) -> NodesOut:
    """The processes on this database, newest first, and which sessions of one's tenant each of them is running."""
    return NodesOut(items=[NodeOut.of(view) for view in await keeper.overview.nodes(principal=caller)])


@router.get("/traffic", name="read_traffic", response_model=TrafficOut, responses=problems(NotAllowed))
@asks("metrics:manage")
async def read_traffic(keeper: Keeper, caller: Caller) -> TrafficOut:
    """What this process has counted for one's tenant since it began: `/metrics`, for people."""
    return TrafficOut.of(await keeper.overview.traffic(principal=caller))


@router.get("/usage", name="read_usage", response_model=UsageOut, responses=problems(NotAllowed, EnvelopeInvalid))
@asks("usage:manage")
async def read_usage(
    keeper: Keeper,
    caller: Caller,
    by: Annotated[Span, Query(description="By whole hours or days, in UTC.")] = Span.HOUR,
    since: Annotated[Moment | None, Query(description="From the span of this moment on.")] = None,
    until: Annotated[Moment | None, Query(description="Up to this moment; now unless said.")] = None,
) -> UsageOut:
    """What the runs of one's tenant spent, span by span and by agent: at most 31 days by hour, or 366 by day.

    Unless said, the last 24 hours or 30 days. Its cost grows with the runs of that time, and nothing else.
    """
    return UsageOut.of(await keeper.overview.usage(by=by, since=since, until=until, principal=caller))


@router.get("/limits", name="read_limits", response_model=LimitsOut, responses=problems())
@asks("limits:read")
async def read_limits(keeper: Keeper, caller: Caller) -> LimitsOut:
    """How far the caller may go right now, and what is left: rates, quotas, streams, and the sizes of what is sent."""
    return LimitsOut.of(await keeper.overview.limits(principal=caller))


def _statuses(asked: list[str]) -> frozenset[RunStatus]:
    names = [name for each in asked for name in each.split(",")]
    return frozenset().union(*(LIVE if name == "live" else {RunStatus(name)} for name in names))
