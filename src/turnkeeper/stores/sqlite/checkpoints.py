"""Checkpoints of runs in a SQLite file, and going on from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from turnkeeper.errors import CheckpointConflict
from turnkeeper.model.checkpoint import Checkpoint, KeptCheckpoint
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import RunId, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.model.pack import Classification
from turnkeeper.model.run import Run
from turnkeeper.model.verdict import Verdict
from turnkeeper.ports.runs import ResumeTerms
from turnkeeper.stores import rows
from turnkeeper.stores.checkpoints import (
    RUNS_AT_ONCE,
    attempts_since,
    is_long_over,
    resumed_said,
    saved_said,
    text_before,
)
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.stores.sqlite.endings import append_feed, chunks_params, drop_deltas
from turnkeeper.stores.sqlite.held import kept_checkpoint_in, run_in


class SqliteCheckpoints:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def save(self, lease: Lease, checkpoint: Checkpoint, verdict: Verdict, *, at: datetime) -> KeptCheckpoint:
        return await self._database.write("save_checkpoint", lambda tx: self._save(tx, lease, checkpoint, verdict, at))

    def _save(self, tx: Tx, lease: Lease, checkpoint: Checkpoint, verdict: Verdict, at: datetime) -> KeptCheckpoint:
        held = tx.execute(sql.hold_lease, rows.lease_params(lease)).fetchall()
        if not held:
            raise CheckpointConflict(lease.run_id)
        run, no = run_in(tx, lease.tenant, lease.run_id), held[0]["last_feed_no"]
        before = kept_checkpoint_in(tx, run)
        seq = before.seq + 1 if before else 1
        kept = KeptCheckpoint(run_id=run.id, seq=seq, at=at, checkpoint=replace(checkpoint, feed_no=no + 1))
        tx.execute(
            sql.append_feed,
            rows.feed_params(run.tenant, run.subject, no, FeedType.CRITIC_VERDICT, run.id, at, verdict.told),
        )
        tx.execute(sql.append_checkpoint, rows.checkpoint_params(run, kept.checkpoint, at))
        append_feed(tx, run.tenant, run.subject, FeedType.CHECKPOINT_SAVED, run.id, at, saved_said(kept))
        return kept

    async def list(self, tenant: TenantId, run_id: RunId) -> Sequence[KeptCheckpoint]:
        place = {"tenant": tenant, "run_id": run_id}
        return [rows.kept_checkpoint_of(row) for row in self._database.read(sql.checkpoints_of_run, place)]

    async def forget(self, *, before: datetime, by_class: Mapping[Classification, datetime] | None = None) -> int:
        forgotten = 0
        place: rows.Params = {"tenant": "", "run_id": "", "limit": RUNS_AT_ONCE}
        while page := self._database.read(sql.runs_to_forget, place):
            over = [
                {"tenant": row["tenant"], "run_id": row["run_id"]}
                for row in page
                if is_long_over(row, before, by_class or {})
            ]
            if over:
                await self._database.write("forget_checkpoints", partial(self._forget, over))
            forgotten += len(over)
            place |= {"tenant": page[-1]["tenant"], "run_id": page[-1]["run_id"]}
        return forgotten

    def _forget(self, over: Sequence[rows.Params], tx: Tx) -> None:
        tx.execute(sql.open_door, {})
        tx.executemany(sql.forget_checkpoints, over)
        tx.executemany(sql.forget_effects, over)
        tx.execute(sql.close_door, {})


def requeue(tx: Tx, run: Run, terms: ResumeTerms, at: datetime, *, died: bool) -> bool:
    """Queue a long run again, to go on from its newest checkpoint; False when it has come to nothing too often."""
    kept = kept_checkpoint_in(tx, run)
    last = tx.execute(sql.last_resume, chunks_params(run)).fetchone()
    attempt = attempts_since(last, kept) + died
    if attempt > terms.takeovers:
        return False
    tx.execute(sql.raise_fence, {"tenant": run.tenant, "subject": run.subject})
    tx.execute(sql.join_queue, {"tenant": run.tenant, "subject": run.subject})
    tx.execute(sql.requeue_run, rows.run_params(run.requeued(at, terms.long_run_seconds)))
    said = resumed_said(kept, attempt) | drop_deltas(tx, run)
    append_feed(tx, run.tenant, run.subject, FeedType.RUN_RESUMED, run.id, at, said)
    return True


def shown_before(tx: Tx, run: Run) -> str:
    """What a resumed run had said, as far as it counts; its deltas hold what came after."""
    return text_before(tx.execute(sql.last_resume, chunks_params(run)).fetchone())
