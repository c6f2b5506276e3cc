"""One running process that serves sessions."""

from dataclasses import dataclass
from datetime import datetime

from turnkeeper.model.ids import AgentId, NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node start: a restarted process is another node."""

    id: NodeId
    started_at: datetime
    seen_at: datetime
    agents: frozenset[AgentId]
