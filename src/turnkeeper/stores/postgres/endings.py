"""How a run comes to an end in a PostgreSQL database, apart from its own commit."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from turnkeeper.model.explanation import Explanation, explain_from_feed
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import RunId, SessionId, Subject, TenantId
from turnkeeper.model.run import Run, RunError, RunStatus
from turnkeeper.stores import rows
from turnkeeper.stores.postgres.database import Tx, sql

MOST_ENTRIES_TOLD = 32


async def append_feed(
    tx: Tx,
    tenant: TenantId,
    subject: Subject,
    type: FeedType,
    run_id: RunId | None,
    at: datetime,
    data: Mapping[str, Any],
) -> int:
    """Append an entry under the next number of the feed."""
    no: int = (await tx.run(sql.next_feed_no, {"tenant": tenant, "subject": subject}))[0]["last_feed_no"]
    await tx.run(sql.append_feed, rows.feed_params(tenant, subject, no, type, run_id, at, data))
    return no


async def end_unheld_run(
    tx: Tx,
    run: Run,
    status: RunStatus,
    at: datetime,
    error: RunError | None = None,
    by: RunId | None = None,
    explanation: Explanation | None = None,
) -> None:
    """End a run that does not commit by itself: queued, waiting, or left behind by a node that is gone."""
    explanation = explanation or await explain_run(tx, run, status, at, error)
    await tx.run(sql.end_run, rows.ended_params(run, status, at, error, by))
    await tx.run(sql.append_explanation, rows.explanation_params(run.tenant, explanation))
    await cancel_approvals(tx, run.tenant, run.id, at)
    data = ({"error": error} if error else {}) | await drop_deltas(tx, run)
    await append_feed(tx, run.tenant, run.subject, status.feed_type, run.id, at, data)


async def explain_run(tx: Tx, run: Run, status: RunStatus, at: datetime, error: RunError | None = None) -> Explanation:
    """What the feed can tell of a run."""
    told = await tx.run(sql.feed_of_run, chunks_params(run) | {"limit": MOST_ENTRIES_TOLD})
    return explain_from_feed(run, tuple(rows.feed_entry_of(row) for row in told), status, at, error)


async def cancel_waiting_runs(tx: Tx, tenant: TenantId, subject: Subject, at: datetime) -> None:
    for row in await tx.run(sql.waiting_runs, {"tenant": tenant, "subject": subject}):
        await end_unheld_run(tx, rows.run_of(row), RunStatus.CANCELLED, at)


async def cancel_approvals_of_session(tx: Tx, tenant: TenantId, session_id: SessionId, at: datetime) -> None:
    """After a reset or its end nobody is asked about what came before, reviews of runs that are over included."""
    await tx.run(sql.cancel_approvals_of_session, {"tenant": tenant, "session_id": session_id, "now": rows.micros(at)})


async def cancel_approvals(tx: Tx, tenant: TenantId, run_id: RunId, at: datetime) -> None:
    """A run that does not wait any more asks for nothing."""
    await tx.run(sql.cancel_approvals, {"tenant": tenant, "run_id": run_id, "now": rows.micros(at)})


async def drop_deltas(tx: Tx, run: Run) -> dict[str, Any]:
    """Drop the provisional output of the run, and say which numbers it had."""
    chunks = await tx.run(sql.chunks_of_run, chunks_params(run))
    if not chunks:
        return {}
    await tx.run(sql.drop_chunks, chunks_params(run))
    return {"deltas": [chunks[0]["no"], chunks[-1]["no"]]}


def chunks_params(run: Run) -> rows.Params:
    return {"tenant": run.tenant, "subject": run.subject, "run_id": run.id, "first": run.feed_no}
