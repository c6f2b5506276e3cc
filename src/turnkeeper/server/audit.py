"""The audit: what was asked for, and what became of it."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from turnkeeper.errors import NotAllowed
from turnkeeper.keeping.audit import SOUGHT_BY, Audited, AuditQuery, Refusals
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.openapi import problems
from turnkeeper.server.parameters import Limit, Moment
from turnkeeper.server.wire import Outbound, Page, page_of

router = APIRouter(prefix="/audit", tags=["audit"], route_class=GuardedRoute)

Fact = Annotated[str | None, Query(max_length=128, description="Only entries that say this.")]
Since = Annotated[Moment | None, Query(description="Only entries of this moment or later.")]
Until = Annotated[Moment | None, Query(description="Only entries from before this moment.")]


class AuditOut(Outbound):
    """One entry; `facts` are all that it says, `hash` binds it to the one before."""

    id: str
    at: datetime
    verb: str
    outcome: str
    facts: dict[str, Any]
    hash: str

    @classmethod
    def of(cls, found: Audited) -> "AuditOut":
        facts = {name: value for name, value in found.facts.items() if name not in ("at", "verb", "outcome")}
        return cls(
            id=found.id,
            at=found.at,
            verb=found.facts["verb"],
            outcome=found.facts["outcome"],
            facts=facts,
            hash=found.entry.hash.hex(),
        )


@router.get("", name="find_audit", response_model=Page[AuditOut], responses=problems(NotAllowed))
@asks("audit:manage")
async def find_audit(
    keeper: Keeper,
    caller: Caller,
    verb: Fact = None,
    outcome: Fact = None,
    session_id: Fact = None,
    run_id: Fact = None,
    request_id: Fact = None,
    trace_id: Fact = None,
    user: Fact = None,
    channel: Fact = None,
    mode: Fact = None,
    stage: Fact = None,
    refused: Annotated[bool | None, Query(description="Only what was refused, or only what was not.")] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=200, description="`next` of the page before.")] = None,
) -> Page[AuditOut]:
    """The entries of one's tenant that fit, newest first. For owner and admin."""
    said = (verb, outcome, session_id, run_id, request_id, trace_id, user, channel, mode, stage)
    facts = {name: value for name, value in zip(SOUGHT_BY, said, strict=True) if value is not None}
    query = AuditQuery(facts=facts, since=since, until=until, refused=refused)
    found = await keeper.audit.find(query, principal=caller, limit=limit + 1, before=cursor)
    return page_of([AuditOut.of(each) for each in found], limit, [each.id for each in found])


class RefusedForOut(Outbound):
    """`reason` is the code of a refusal, which `outcome` of an entry tells."""

    reason: str
    count: int
    last_at: datetime


class RefusalsOut(Outbound):
    """Where the span holds more than 50,000 entries only the newest are counted: `since` says from when on."""

    since: datetime
    until: datetime
    is_whole: bool
    items: list[RefusedForOut]

    @classmethod
    def of(cls, told: Refusals) -> "RefusalsOut":
        items = [RefusedForOut(reason=each.reason, count=each.count, last_at=each.last_at) for each in told.items]
        return cls(since=told.since, until=told.until, is_whole=told.is_whole, items=items)


@router.get("/reasons", name="count_refusals", response_model=RefusalsOut, responses=problems(NotAllowed))
@asks("audit:manage")
async def count_refusals(keeper: Keeper, caller: Caller, since: Since = None, until: Until = None) -> RefusalsOut:
    """How much was refused for which reason, in the last 24 hours unless said. For owner and admin."""
    return RefusalsOut.of(await keeper.audit.reasons(since=since, until=until, principal=caller))


@router.get(
    "/export",
    name="export_audit",
    response_class=StreamingResponse,
    responses={
        200: {"description": "A line of JSON for each entry", "content": {"application/x-ndjson": {}}},
        **problems(NotAllowed),
    },
)
@asks("audit:manage")
async def export_audit(keeper: Keeper, caller: Caller) -> StreamingResponse:
    """Every entry of one's tenant as a line of JSON, in order, with the hashes that prove it. For owner and admin."""
    lines = keeper.audit.export(principal=caller)
    first = await anext(lines, None)

    async def told() -> AsyncIterator[str]:
        if first is not None:
            yield f"{first}\n"
        async for line in lines:
            yield f"{line}\n"

    return StreamingResponse(told(), media_type="application/x-ndjson")
