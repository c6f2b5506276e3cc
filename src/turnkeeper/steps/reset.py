"""Begin a new epoch when the message or the command asks for it; every trigger ends here."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from turnkeeper.intent.holding import ReleaseReason
from turnkeeper.intent.signals import ResetTrigger, reset_trigger
from turnkeeper.model.control import is_reset_command, with_clean_names, without_control
from turnkeeper.model.envelope import Command
from turnkeeper.model.run import RunInput
from turnkeeper.model.session import Conversation, Custody
from turnkeeper.model.stages import StageName
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.custodian import Custodian, ResetOrder
from turnkeeper.steps.draft import TurnDraft


@dataclass(frozen=True, slots=True)
class Reset:
    custodians: Mapping[Custody, Custodian]
    packs: PackShelf
    reply: str

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        trigger = trigger_of(draft.run.input)
        if trigger is None:
            return draft
        draft = await self.begin_anew(draft, trigger)
        is_bare = all(is_reset_command(event.as_text) for event in draft.run.input.events)
        return await self.ended(draft) if is_bare else draft

    async def begin_anew(self, draft: TurnDraft, trigger: ResetTrigger, **about: str) -> TurnDraft:
        """The draft on an empty session. A run does it once, however many triggers it has."""
        if draft.has_reset:
            return draft
        before, run = draft.opened, draft.run
        params = without_control(with_clean_names(run.input.params))
        order = ResetOrder(trigger=trigger, params=params, cleared=cleared_of(before))
        conversation = await self.custodians[run.custody].reset(run, draft.lease, before, order)
        said = {"trigger": trigger, "epoch": conversation.session.epoch.number, **about}
        if conversation is before:
            draft.trace.note(StageName.CONVERSATION_RESET, said | {"earlier": True})
        else:
            draft.trace.note(StageName.CONVERSATION_RESET, said | {"cleared": order.cleared})
        if conversation is not before and (lock := before.session.dialogue.lock):
            released = {"reason": ReleaseReason.RESET, "intent": lock.intent}
            draft.trace.note(StageName.INTENT_LOCK_RELEASED, released)
        # A run that asked after its reset goes on with what others have said since, and takes nothing of it away.
        state, dialogue = conversation.state, conversation.session.dialogue
        return replace(draft, conversation=conversation, state=state, dialogue=dialogue, has_reset=True)

    async def ended(self, draft: TurnDraft) -> TurnDraft:
        """Nothing else was asked for: say so, and ask nobody."""
        session, text = draft.opened.session, self.reply
        if session.packs:
            pack = await self.packs.open(session.tenant, session.packs[0])
            text = (await self.packs.config(session.tenant, pack)).reset_reply or text
        return replace(draft, text=text, is_over=True)


def trigger_of(wish: RunInput) -> ResetTrigger | None:
    if wish.command is not None:
        return ResetTrigger.COMMAND if wish.command is Command.RESET else None
    told = [event.as_text for event in wish.events]
    command = next((text for text in told if is_reset_command(text)), "")
    return reset_trigger(wish.reset, with_clean_names(wish.params), command)


def cleared_of(conversation: Conversation) -> Mapping[str, Any]:
    """What a reset takes out of reach, by name and number: never what was said."""
    session, dialogue = conversation.session, conversation.session.dialogue
    return {
        "intent": dialogue.intent,
        "state": dialogue.state,
        "fields": sorted(dialogue.context),
        "forms": sorted(dialogue.forms),
        "params": len(dialogue.params),
        "locked": dialogue.lock is not None,
        "clarification": dialogue.clarification is not None,
        "preferences": not session.preferences.is_empty,
        "turns": session.turns,
        "messages": session.last_seq - session.epoch.first_seq + 1,
    }
