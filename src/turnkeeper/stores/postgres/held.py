"""What a write about runs reads first: the run, the lease of its subject, and its checkpoint."""

from turnkeeper.errors import RunNotFound, SessionNotFound
from turnkeeper.model.checkpoint import Checkpoint, KeptCheckpoint
from turnkeeper.model.ids import NodeId, RunId, SessionId, Subject, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.model.run import Run
from turnkeeper.stores import rows
from turnkeeper.stores.postgres.database import Row, Tx, sql


async def run_in(tx: Tx, tenant: TenantId, run_id: RunId) -> Run:
    found = await tx.one(sql.get_run, {"tenant": tenant, "run_id": run_id})
    if found is None:
        raise RunNotFound(run_id)
    return rows.run_of(found)


async def locked_lease(tx: Tx, tenant: TenantId, subject: Subject) -> Row:
    found = await tx.one(sql.lock_lease, {"tenant": tenant, "subject": subject})
    if found is None:
        raise SessionNotFound(SessionId(subject))
    return found


async def checkpoint_in(tx: Tx, run: Run) -> Checkpoint | None:
    kept = await kept_checkpoint_in(tx, run)
    return kept.checkpoint if kept else None


async def kept_checkpoint_in(tx: Tx, run: Run) -> KeptCheckpoint | None:
    found = await tx.one(sql.newest_checkpoint, {"tenant": run.tenant, "run_id": run.id})
    return rows.kept_checkpoint_of(found) if found else None


async def take_lease(tx: Tx, statement: str, node: NodeId, run: Run, seconds: float) -> Lease:
    place = {"tenant": run.tenant, "subject": run.subject, "run_id": run.id}
    taken = await tx.run(statement, place | {"holder": node, "lease_micros": in_micros(seconds)})
    return rows.lease_of(taken[0])


def in_micros(seconds: float) -> int:
    return int(seconds * 1e6)
