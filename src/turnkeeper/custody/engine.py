"""Sessions that turnkeeper keeps itself."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from turnkeeper.errors import SessionClosed
from turnkeeper.knowledge.retrieval import UnitMemory, view_of
from turnkeeper.knowledge.settling import settle
from turnkeeper.model.explanation import Explanation
from turnkeeper.model.ids import SessionId, TenantId, UnitId
from turnkeeper.model.lease import Lease
from turnkeeper.model.mount import MountKind
from turnkeeper.model.run import Run
from turnkeeper.model.session import Conversation, Past, Session
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import Unit, UnitChanges, UnitPlace
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custodian import Kept, ResetOrder
from turnkeeper.ports.runs import ResetWish, RunStore
from turnkeeper.ports.scopes import Scopes
from turnkeeper.ports.sessions import SessionStore
from turnkeeper.ports.units import UnitReader

MOST_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class EngineCustodian:
    """Remembers what it kept last; whether the session is still there is asked of the store every time."""

    sessions: SessionStore
    runs: RunStore
    units: UnitReader
    clock: Clock
    window: int
    most_units: int
    scopes: Scopes
    _remembered: dict[tuple[TenantId, SessionId], Past] = field(default_factory=dict)

    async def open(self, run: Run) -> Conversation:
        known = self._remembered.pop((run.tenant, run.session_id), None)
        conversation = await self.sessions.load(run.tenant, run.session_id, window=self.window, known=known)
        if conversation.session.status.is_terminal:
            raise SessionClosed(run.session_id)
        return conversation

    async def reset(self, run: Run, lease: Lease, conversation: Conversation, order: ResetOrder) -> Conversation:
        if await self.runs.has_reset(run):
            return conversation
        session, now = conversation.session, self.clock.now()
        wish = ResetWish(
            session_id=session.id,
            expected_revision=session.revision,
            trigger=order.trigger,
            at=now,
            params=order.params,
            audit=order.audited(run, conversation, now),
        )
        return conversation.after_reset(await self.runs.reset(lease, wish), order.params)

    def memory(self, conversation: Conversation) -> UnitMemory:
        session = conversation.session
        return UnitMemory(self.units, view_of(session), partial(self._mounted, session))

    async def _mounted(self, opened: Session) -> Collection[str]:
        """What is mounted now: what was taken away is out of reach at once. What came with a pack stays with it."""
        scope = await self.scopes.of(await self.sessions.get(opened.tenant, opened.id))
        packed = [mount for mount in opened.mounts if mount.kind is MountKind.PACK]
        return {mount.id for mount in (*(each.mount for each in scope.mounts), *packed)}

    async def settle(
        self,
        conversation: Conversation,
        staged: Sequence[Unit],
        place: UnitPlace,
        *,
        forgotten: Sequence[UnitId] = (),
    ) -> UnitChanges:
        view = view_of(conversation.session)
        return await settle(staged, place, self.units, view, most=self.most_units, forgotten=forgotten)

    def carried(self, conversation: Conversation) -> Mapping[str, Any] | None:
        return None

    def kept_until(self, run: Run, at: datetime) -> None:
        return None

    async def keep(
        self, run: Run, turn: Turn, lease: Lease, conversation: Conversation, explanation: Explanation
    ) -> Kept:
        session = conversation.session
        committed = await self.runs.commit(
            turn,
            lease,
            session_id=session.id,
            expected_revision=session.revision,
            explanation=explanation,
        )
        if len(self._remembered) >= MOST_REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        # A copy as the store would give it back: what the agent still holds of its state is not the conversation's.
        history = (conversation.history + turn.messages)[-self.window :]
        self._remembered[(session.tenant, session.id)] = Past(
            revision=committed.revision, history=history, state=msgspec.json.decode(msgspec.json.encode(turn.state))
        )
        return Kept(committed=committed)
