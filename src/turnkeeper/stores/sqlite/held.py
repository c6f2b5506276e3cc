"""What a write about runs reads first: the run, the lease of its subject, and its checkpoint."""

import sqlite3
from datetime import timedelta

from turnkeeper.errors import RunNotFound, SessionNotFound
from turnkeeper.model.checkpoint import Checkpoint, KeptCheckpoint
from turnkeeper.model.ids import Fence, NodeId, RunId, SessionId, Subject, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.model.run import Run
from turnkeeper.stores import rows
from turnkeeper.stores.sqlite.database import Tx, sql


def run_in(tx: Tx, tenant: TenantId, run_id: RunId) -> Run:
    found = tx.execute(sql.get_run, {"tenant": tenant, "run_id": run_id}).fetchone()
    if found is None:
        raise RunNotFound(run_id)
    return rows.run_of(found)


def lease_in(tx: Tx, tenant: TenantId, subject: Subject) -> sqlite3.Row:
    found: sqlite3.Row | None = tx.execute(sql.read_lease, {"tenant": tenant, "subject": subject}).fetchone()
    if found is None:
        raise SessionNotFound(SessionId(subject))
    return found


def checkpoint_in(tx: Tx, run: Run) -> Checkpoint | None:
    kept = kept_checkpoint_in(tx, run)
    return kept.checkpoint if kept else None


def kept_checkpoint_in(tx: Tx, run: Run) -> KeptCheckpoint | None:
    found = tx.execute(sql.newest_checkpoint, {"tenant": run.tenant, "run_id": run.id}).fetchone()
    return rows.kept_checkpoint_of(found) if found else None


def new_lease(node: NodeId, run: Run, fence: int, seconds: float, *, clock: int) -> Lease:
    return Lease(
        tenant=run.tenant,
        subject=run.subject,
        run_id=run.id,
        holder=node,
        fence=Fence(fence),
        expires_at=rows.moment(clock) + timedelta(seconds=seconds),
    )


def taking_params(lease: Lease, *, clock: int) -> rows.Params:
    return rows.lease_params(lease) | {
        "holder": lease.holder,
        "expires_at": rows.micros(lease.expires_at),
        "clock": clock,
    }
