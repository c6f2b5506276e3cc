"""The right to run a session now, and the number that tells the newest holder from the others."""

from dataclasses import dataclass
from datetime import datetime

from turnkeeper.model.ids import Fence, NodeId, RunId, Subject, TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The clock says when another may try; the fence says who may write."""

    tenant: TenantId
    subject: Subject
    run_id: RunId
    holder: NodeId
    fence: Fence
    expires_at: datetime

    def __post_init__(self) -> None:
        if self.fence < 1:
            raise ValueError("a fence counts from 1")
