"""Checkpoints of runs in a PostgreSQL database, and going on from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

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
from turnkeeper.stores.postgres.database import PostgresDatabase, Tx, sql
from turnkeeper.stores.postgres.endings import append_feed, chunks_params, drop_deltas
from turnkeeper.stores.postgres.held import kept_checkpoint_in, run_in


class PostgresCheckpoints:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def save(self, lease: Lease, checkpoint: Checkpoint, verdict: Verdict, *, at: datetime) -> KeptCheckpoint:
        return await self._database.finish(self._save(lease, checkpoint, verdict, at))

    async def _save(self, lease: Lease, checkpoint: Checkpoint, verdict: Verdict, at: datetime) -> KeptCheckpoint:
        async with self._database.transaction("save_checkpoint") as tx:
            held = await tx.one(sql.hold_lease, rows.lease_params(lease))
            if held is None:
                raise CheckpointConflict(lease.run_id)
            run, no = await run_in(tx, lease.tenant, lease.run_id), held["last_feed_no"]
            before = await kept_checkpoint_in(tx, run)
            seq = before.seq + 1 if before else 1
            kept = KeptCheckpoint(run_id=run.id, seq=seq, at=at, checkpoint=replace(checkpoint, feed_no=no + 1))
            told = rows.feed_params(run.tenant, run.subject, no, FeedType.CRITIC_VERDICT, run.id, at, verdict.told)
            await tx.run(sql.append_feed, told)
            await tx.run(sql.append_checkpoint, rows.checkpoint_params(run, kept.checkpoint, at))
            await append_feed(tx, run.tenant, run.subject, FeedType.CHECKPOINT_SAVED, run.id, at, saved_said(kept))
            return kept

    async def list(self, tenant: TenantId, run_id: RunId) -> Sequence[KeptCheckpoint]:
        place = {"tenant": tenant, "run_id": run_id}
        return [rows.kept_checkpoint_of(row) for row in await self._database.read(sql.checkpoints_of_run, place)]

    async def forget(self, *, before: datetime, by_class: Mapping[Classification, datetime] | None = None) -> int:
        forgotten = 0
        place: rows.Params = {"tenant": "", "run_id": "", "limit": RUNS_AT_ONCE}
        while page := await self._database.read(sql.runs_to_forget, place):
            over = [
                {"tenant": row["tenant"], "run_id": row["run_id"]}
                for row in page
                if is_long_over(row, before, by_class or {})
            ]
            if over:
                await self._database.finish(self._forget(over))
            forgotten += len(over)
            place |= {"tenant": page[-1]["tenant"], "run_id": page[-1]["run_id"]}
        return forgotten

    async def _forget(self, over: Sequence[rows.Params]) -> None:
        async with self._database.transaction("forget_checkpoints") as tx:
            await tx.run(sql.open_door, {})
            for place in over:
                await tx.run(sql.forget_checkpoints, place)
                await tx.run(sql.forget_effects, place)


async def requeue(tx: Tx, run: Run, terms: ResumeTerms, at: datetime, *, died: bool) -> bool:
    """Queue a long run again, to go on from its newest checkpoint; False when it has come to nothing too often."""
    kept = await kept_checkpoint_in(tx, run)
    last = await tx.one(sql.last_resume, chunks_params(run))
    attempt = attempts_since(last, kept) + died
    if attempt > terms.takeovers:
        return False
    await tx.run(sql.raise_fence, {"tenant": run.tenant, "subject": run.subject})
    await tx.run(sql.join_queue, {"tenant": run.tenant, "subject": run.subject})
    await tx.run(sql.requeue_run, rows.run_params(run.requeued(at, terms.long_run_seconds)))
    said = resumed_said(kept, attempt) | await drop_deltas(tx, run)
    await append_feed(tx, run.tenant, run.subject, FeedType.RUN_RESUMED, run.id, at, said)
    return True


async def shown_before(tx: Tx, run: Run) -> str:
    """What a resumed run had said, as far as it counts; its deltas hold what came after."""
    return text_before(await tx.one(sql.last_resume, chunks_params(run)))
