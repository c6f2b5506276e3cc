"""What we ask of a database about the checkpoints of runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from turnkeeper.model.checkpoint import Checkpoint, KeptCheckpoint
from turnkeeper.model.ids import RunId, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.model.pack import Classification
from turnkeeper.model.verdict import Verdict


class CheckpointStore(Protocol):
    async def save(self, lease: Lease, checkpoint: Checkpoint, verdict: Verdict, *, at: datetime) -> KeptCheckpoint:
        """Keep where a long run stands after this verdict, and tell the feed of both. Raises LeaseLost."""

    async def list(self, tenant: TenantId, run_id: RunId) -> Sequence[KeptCheckpoint]:
        """The checkpoints of a run, oldest first; `seq` counts from 1 without a gap."""

    async def forget(self, *, before: datetime, by_class: Mapping[Classification, datetime] | None = None) -> int:
        """Drop checkpoints and effects of ended runs whose session was over before, and say of how many runs.

        `by_class` says it for sessions of a class, where that differs.
        """
