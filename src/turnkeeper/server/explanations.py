"""Why runs came out as they did: all of a session page by page, or one of them, also as a picture."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from turnkeeper.errors import RunNotFound, SessionNotFound
from turnkeeper.ledger.mermaid import as_mermaid
from turnkeeper.ledger.tree import as_tree
from turnkeeper.model.explanation import Detail, ExplainedRun, Explanation
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.openapi import problems
from turnkeeper.server.parameters import IdCursor, Limit
from turnkeeper.server.wire import Page, page_of
from turnkeeper.server.wire_explanations import ExplanationOut, SummaryOut

of_session = APIRouter(prefix="/sessions/{session_id}/explanations", tags=["explanations"], route_class=GuardedRoute)
of_run = APIRouter(prefix="/runs/{run_id}/explanation", tags=["explanations"], route_class=GuardedRoute)

Level = Annotated[Detail, Query(description="How much to tell: how it came out, or also what happened in it.")]
Format = Annotated[
    Literal["json", "mermaid", "tree"], Query(description="As data, as a chart in Mermaid, or as a tree of text.")
]
Told = ExplanationOut | SummaryOut

ONE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The Explanation; with `format` mermaid or tree its graph as text",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


@of_session.get(
    "",
    name="list_explanations",
    response_model=Page[ExplanationOut | SummaryOut],
    responses=problems(SessionNotFound),
)
@asks("sessions:read")
async def list_explanations(
    session_id: str,
    keeper: Keeper,
    caller: Caller,
    limit: Limit = 50,
    cursor: IdCursor = None,
    level: Level = Detail.SUMMARY,
) -> Page[Told]:
    """How the runs of a session came out, newest first, failed ones too. About the newest 200 are kept."""
    if level is Detail.SUMMARY:
        found = await keeper.summaries(session_id, principal=caller, before=cursor, limit=limit + 1)
        told: list[Told] = [SummaryOut.of(each) for each in found]
    else:
        explained = await keeper.explanations(session_id, principal=caller, before=cursor, limit=limit + 1)
        told = [ExplanationOut.in_full(each) for each in explained]
    return page_of(told, limit, [each.run_id for each in told])


@of_session.get(
    "/{run_id}",
    name="read_explanation",
    response_model=ExplanationOut | SummaryOut,
    responses={**ONE, **problems(SessionNotFound, RunNotFound)},
)
@asks("sessions:read")
async def read_explanation(
    session_id: str, run_id: str, keeper: Keeper, caller: Caller, level: Level = Detail.FULL, format: Format = "json"
) -> Told | Response:
    """Why one run of a session came out as it did."""
    session = await keeper.session(session_id, principal=caller)
    explained = await keeper.explained(run_id, principal=caller)
    if explained.explanation.session_id != session.id:
        raise RunNotFound(explained.explanation.run_id)
    return _shown(explained, level, format)


@of_run.get("", name="explain", response_model=ExplanationOut | SummaryOut, responses={**ONE, **problems(RunNotFound)})
@asks("runs:read")
async def explain_run(
    run_id: str, keeper: Keeper, caller: Caller, level: Level = Detail.FULL, format: Format = "json"
) -> Told | Response:
    """Why a run came out as it did, whatever its end. While it is open the Explanation is partial."""
    return _shown(await keeper.explained(run_id, principal=caller), level, format)


def _shown(explained: ExplainedRun[Explanation], level: Detail, format: str) -> Told | Response:
    graph, full = explained.explanation.graph, level is Detail.FULL
    if format == "mermaid":
        return Response(as_mermaid(graph), media_type="text/plain; charset=utf-8")
    if format == "tree":
        return Response(as_tree(graph, full=full), media_type="text/plain; charset=utf-8")
    if full:
        return ExplanationOut.in_full(explained)
    summarized = ExplainedRun(
        explanation=explained.explanation.summary, asked=explained.asked, preview=explained.preview
    )
    return SummaryOut.of(summarized)
