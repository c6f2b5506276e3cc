"""Make the RunContext: all that is true at the start of this run."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from turnkeeper.model.message import Message
from turnkeeper.model.run_context import RunContext
from turnkeeper.steps.draft import TurnDraft

HISTORY_CUT = "history_cut"


@dataclass(frozen=True, slots=True)
class Materialize:
    deadline_of: Callable[[TurnDraft], datetime]
    history_tokens: int

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        run, conversation = draft.run, draft.opened
        history = newest_that_fit(conversation.history, self.history_tokens)
        warnings = draft.warnings
        if len(history) < len(conversation.history):
            warnings += (HISTORY_CUT,)
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
            params=run.input.params,
            metadata=run.input.metadata,
        )
        return replace(draft, context=context, warnings=warnings)


def newest_that_fit(history: tuple[Message, ...], tokens: int) -> tuple[Message, ...]:
    """The oldest messages are left out first. A token is taken as four characters."""
    left = tokens * 4
    for place in range(len(history) - 1, -1, -1):
        left -= len(history[place].content)
        if left < 0:
            return history[place + 1 :]
    return history
