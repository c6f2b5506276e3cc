"""What we ask of a database about the past of a session, and about what its agent remembers of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from turnkeeper.model.history import StateAt
from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.model.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedHeads:
    """All places in an agent's memory that a session may still ask for; while it is busy there may be more."""

    heads: Sequence[Mapping[str, Any]]
    is_busy: bool


class HistoryStore(Protocol):
    async def as_of(self, session: Session, turn: int, *, window: int, most_units: int) -> StateAt:
        """The session after this turn: what it held then, less what was forgotten since. Raises TurnNotFound."""

    async def heads(self, tenant: TenantId, session_id: SessionId, *, newest: int) -> NamedHeads:
        """Those of the newest turns that have one, of every epoch, and those of its runs that wait."""

    async def mark_pruned(
        self, tenant: TenantId, session_id: SessionId, told: Mapping[str, Any], *, at: datetime
    ) -> bool:
        """Tell the feed of a session that is over what its agent's memory was, before it is dropped; once."""
