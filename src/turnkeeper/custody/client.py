"""Sessions that the client keeps and sends with every message.

Nothing that was kept from an earlier turn is read, and any id is usable at any time. What a reply gives to carry stays
with its run for a while, for whoever has lost the reply. Who is asking, and what they may
do, never comes from the carried state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from turnkeeper.custody.packing import CARRIED_CUT, Packing, carried_of
from turnkeeper.knowledge.retrieval import UnitMemory
from turnkeeper.model.explanation import PREVIEW_CHARS, Explanation
from turnkeeper.model.ids import UnitId
from turnkeeper.model.lease import Lease
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.session import Conversation
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import Unit, UnitChanges, UnitPlace
from turnkeeper.ports.audit import AuditStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custodian import Kept, ResetOrder
from turnkeeper.ports.custody import mark_of
from turnkeeper.ports.runs import RunEnd, RunStore


@dataclass(frozen=True, slots=True)
class ClientCustodian:
    packing: Packing
    runs: RunStore
    audit: AuditStore
    clock: Clock
    named_seconds: float
    unnamed_seconds: float

    async def open(self, run: Run) -> Conversation:
        return self.packing.opened(run, None if run.input.carried is None else carried_of(run.input.carried))

    async def reset(self, run: Run, lease: Lease, conversation: Conversation, order: ResetOrder) -> Conversation:
        now = self.clock.now()
        await self.audit.record(order.audited(run, conversation, now))
        epoch = conversation.session.epoch.next(at=now, last_seq=conversation.session.last_seq)
        return conversation.after_reset(epoch, order.params)

    def memory(self, conversation: Conversation) -> UnitMemory:
        return self.packing.memory(conversation)

    async def settle(
        self,
        conversation: Conversation,
        staged: Sequence[Unit],
        place: UnitPlace,
        *,
        forgotten: Sequence[UnitId] = (),
    ) -> UnitChanges:
        return await self.packing.settle(conversation, staged, place, forgotten)

    def carried(self, conversation: Conversation) -> Mapping[str, Any]:
        return self.packing.packed(conversation)[0]

    def kept_until(self, run: Run, at: datetime) -> datetime:
        """As long as the same request is answered again; without a name just long enough to be read after all."""
        seconds = self.unnamed_seconds if run.input.request_id is None else self.named_seconds
        return at + timedelta(seconds=seconds)

    async def keep(
        self, run: Run, turn: Turn, lease: Lease, conversation: Conversation, explanation: Explanation
    ) -> Kept:
        after = conversation.after(turn)
        carried, is_cut = self.packing.packed(after)
        warnings = (CARRIED_CUT,) if is_cut else ()
        end = end_of(turn, explanation, warnings, carried=carried)
        until = self.kept_until(run, end.at)
        committed = await self.runs.end(lease, replace(end, mark=mark_of(after), carried_until=until))
        revised = replace(committed, revision=after.session.revision)
        return Kept(committed=revised, carried=carried, warnings=warnings)


def end_of(turn: Turn, explanation: Explanation, warnings: tuple[str, ...], **more: Any) -> RunEnd:
    """How a run ends whose turn is kept elsewhere: what it said stays with it, and how its question began."""
    asked, said = turn.messages[0].content[:PREVIEW_CHARS], turn.messages[-1].content
    return RunEnd(
        status=RunStatus.COMPLETED,
        explanation=replace(explanation, warnings=explanation.warnings + warnings),
        at=turn.committed_at,
        result={"text": said, "asked": asked, "turn": turn.number, "intent": turn.intent, **more},
        deliveries=turn.deliveries,
        account=turn.account,
    )
