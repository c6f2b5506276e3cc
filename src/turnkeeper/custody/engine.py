"""Sessions that turnkeeper keeps itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnkeeper.errors import SessionClosed
from turnkeeper.model.explanation import Explanation
from turnkeeper.model.lease import Lease
from turnkeeper.model.run import Run
from turnkeeper.model.session import Conversation
from turnkeeper.model.turn import Turn
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custodian import Kept
from turnkeeper.ports.runs import RunStore
from turnkeeper.ports.sessions import SessionStore


@dataclass(frozen=True, slots=True)
class EngineCustodian:
    sessions: SessionStore
    runs: RunStore
    clock: Clock
    window: int

    async def open(self, run: Run) -> Conversation:
        conversation = await self.sessions.load(run.tenant, run.session_id, window=self.window)
        if conversation.session.status.is_terminal:
            raise SessionClosed(run.session_id)
        return conversation

    async def reset(self, lease: Lease, conversation: Conversation, *, trigger: str) -> Conversation:
        session = conversation.session
        epoch = await self.runs.reset(
            lease,
            session_id=session.id,
            expected_revision=session.revision,
            at=self.clock.now(),
            trigger=trigger,
        )
        return conversation.after_reset(epoch)

    def carried(self, conversation: Conversation) -> Mapping[str, Any] | None:
        return None

    async def keep(self, turn: Turn, lease: Lease, conversation: Conversation, explanation: Explanation) -> Kept:
        session = conversation.session
        committed = await self.runs.commit(
            turn,
            lease,
            session_id=session.id,
            expected_revision=session.revision,
            explanation=explanation,
        )
        return Kept(committed=committed)
