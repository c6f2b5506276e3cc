"""One running process that serves sessions."""

from dataclasses import dataclass
from datetime import datetime

from turnkeeper.model.ids import AgentId, Fence, NodeId, RunId, SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node start: a restarted process is another node."""

    id: NodeId
    started_at: datetime
    seen_at: datetime
    agents: frozenset[AgentId]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLease:
    """What a node runs right now. `queued` is how many wait behind it; moments go by the clock of the database."""

    node: NodeId
    session_id: SessionId
    run_id: RunId
    agent: AgentId
    fence: Fence
    taken_at: datetime
    expires_at: datetime
    queued: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node as one tenant sees it, with the leases that it holds of that tenant.

    One that only its leases tell of has no moments. `is_here` is the node that was asked.
    """

    id: NodeId
    started_at: datetime | None
    seen_at: datetime | None
    is_alive: bool
    is_here: bool
    agents: tuple[AgentId, ...]
    leases: tuple[HeldLease, ...]
