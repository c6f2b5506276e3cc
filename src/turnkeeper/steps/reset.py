"""Begin a new epoch when the message or the command asks for it; every trigger ends here."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from turnkeeper.model.envelope import Command
from turnkeeper.model.session import Custody
from turnkeeper.ports.custodian import Custodian
from turnkeeper.steps.draft import TurnDraft


@dataclass(frozen=True, slots=True)
class Reset:
    custodians: Mapping[Custody, Custodian]

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        wish = draft.run.input
        if wish.command is not Command.RESET and not wish.reset:
            return draft
        trigger = "command" if wish.command is Command.RESET else "flag"
        before = draft.opened
        conversation = await self.custodians[draft.run.custody].reset(draft.lease, before, trigger=trigger)
        cleared = {"epoch": conversation.session.epoch.number, "trigger": trigger, "turns": before.session.turns}
        draft.trace.note("CONVERSATION_RESET", cleared)
        return replace(draft, conversation=conversation, state={})
