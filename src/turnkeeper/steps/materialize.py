"""Make the RunContext: all that is true at the start of this run."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from turnkeeper.intent.serving import check_served
from turnkeeper.model.budget import Budget, BudgetLimits
from turnkeeper.model.ids import KnowledgeBaseId
from turnkeeper.model.message import Message
from turnkeeper.model.mount import Mount
from turnkeeper.model.pack import Pack
from turnkeeper.model.run_context import RunContext
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.knowledge_bases import KnowledgeBaseStore
from turnkeeper.steps.draft import TurnDraft

HISTORY_CUT = "history_cut"
KNOWLEDGE_BASE_CHANGED = "knowledge_base_changed"


@dataclass(frozen=True, slots=True)
class Materialize:
    deadline_of: Callable[[TurnDraft], datetime]
    history_tokens: int
    bases: KnowledgeBaseStore
    limits: BudgetLimits
    packs: PackShelf

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        """Raises GrantMissing or ChannelNotAccepted when the intent of this turn is not for this caller."""
        run, conversation = draft.run, draft.opened
        pack = await self._pack(draft)
        if pack is not None and (served := pack.intent(draft.served_intent or "")):
            check_served(served, run.input)
        history = newest_that_fit(conversation.history, self.history_tokens)
        if len(history) < len(conversation.history):
            draft.trace.notes.warn(HISTORY_CUT, {"messages": len(conversation.history) - len(history)})
        await self._look_at(conversation.session.mounts, draft)
        context = RunContext(
            run_id=run.id,
            trace_id=run.trace_id,
            session_id=run.session_id,
            tenant=run.tenant,
            user=run.user,
            agent=run.agent,
            turn=conversation.session.turns + 1,
            epoch=conversation.session.epoch.number,
            deadline=self.deadline_of(draft),
            history=history,
            params=draft.dialogue.params,
            metadata=run.input.metadata,
            explicit=run.input.explicit,
            preferred=conversation.session.preferences,
            mounts=conversation.session.mounts,
            packs=conversation.session.packs,
            ceilings=pack.ceilings if pack else {},
            intent=draft.intent,
            budget=draft.budget or Budget(self.limits),
        )
        return replace(draft, context=context)

    async def _pack(self, draft: TurnDraft) -> Pack | None:
        pins = draft.opened.session.packs
        return await self.packs.open(draft.run.tenant, pins[0]) if pins else None

    async def _look_at(self, mounts: tuple[Mount, ...], draft: TurnDraft) -> None:
        """Knowledge bases that have changed since they were mounted are named; the turn sees them as they were."""
        if not mounts:
            return
        now = await self.bases.revisions(draft.run.tenant, [KnowledgeBaseId(mount.id) for mount in mounts])
        changed = [
            {"knowledge_base": mount.id, "mounted": mount.revision, "now": revision}
            for mount in mounts
            if (revision := now.get(KnowledgeBaseId(mount.id))) != mount.revision
        ]
        if changed:
            draft.trace.notes.warn(KNOWLEDGE_BASE_CHANGED, {"changed": changed})


def newest_that_fit(history: tuple[Message, ...], tokens: int) -> tuple[Message, ...]:
    """The oldest messages are left out first. A token is taken as four characters."""
    left = tokens * 4
    for place in range(len(history) - 1, -1, -1):
        left -= len(history[place].content)
        if left < 0:
            return history[place + 1 :]
    return history
