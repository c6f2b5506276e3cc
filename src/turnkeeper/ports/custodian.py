"""Who keeps the session's state, as the pipeline sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.explanation import Explanation
from turnkeeper.model.ids import UnitId
from turnkeeper.model.lease import Lease
from turnkeeper.model.run import Run
from turnkeeper.model.session import Conversation
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import Unit, UnitChanges, UnitPlace
from turnkeeper.ports.memory import Memory
from turnkeeper.ports.runs import Committed


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """`carried` is what the client must send with its next message, when it is the client who keeps the session."""

    committed: Committed
    carried: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOrder:
    """Why a session is to begin anew, the params that came with the wish, and what it loses by that."""

    trigger: str
    params: Mapping[str, Any]
    cleared: Mapping[str, Any]

    def audited(self, run: Run, conversation: Conversation, at: datetime) -> AuditFacts:
        """What the audit is told of it: names and numbers, never what was said."""
        facts = {
            "session_id": run.session_id,
            "run_id": run.id,
            "user": run.user,
            "trace_id": run.trace_id,
            "trigger": self.trigger,
            "epoch": conversation.session.epoch.number + 1,
            "cleared": self.cleared,
        }
        return AuditFacts(tenant=run.tenant, at=at, verb="reset", outcome="cleared", facts=facts)


class Custodian(Protocol):
    async def open(self, run: Run) -> Conversation:
        """What the turn starts from. Raises SessionNotFound, SessionClosed or SessionExpired."""

    async def reset(self, run: Run, lease: Lease, conversation: Conversation, order: ResetOrder) -> Conversation:
        """Open a new epoch at once; whatever becomes of the rest of the run, the reset stands.

        A run that has done so before, in an earlier walk or attempt, does it no second time.
        """

    def memory(self, conversation: Conversation) -> Memory:
        """The units that a run in this conversation may see."""

    async def settle(
        self,
        conversation: Conversation,
        staged: Sequence[Unit],
        place: UnitPlace,
        *,
        forgotten: Sequence[UnitId] = (),
    ) -> UnitChanges:
        """Which of these units are new, which take the place of known ones, and which must give way or are lost."""

    def carried(self, conversation: Conversation) -> Mapping[str, Any] | None:
        """What the client must keep of this conversation; None when it is not the client who keeps it."""

    def kept_until(self, run: Run, at: datetime) -> datetime | None:
        """Until when what the client must keep is kept here too, for whoever has lost the answer that brought it."""

    async def keep(
        self, run: Run, turn: Turn, lease: Lease, conversation: Conversation, explanation: Explanation
    ) -> Kept:
        """All of the turn, or none of it. Raises LeaseLost or SessionMoved."""
