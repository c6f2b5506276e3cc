"""Keep, switch or resolve the intent of the session, and go on with what it needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import msgspec

from turnkeeper.errors import DialogueTooLarge
from turnkeeper.intent.serving import check_served
from turnkeeper.intent.signals import ResetTrigger
from turnkeeper.model.budget import Budget, BudgetLimits
from turnkeeper.model.checkpoint import Checkpoint
from turnkeeper.model.control import with_clean_names, without_control
from turnkeeper.model.pack import UNKNOWN, Pack
from turnkeeper.model.stages import StageName
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.chat_model import ChatModel
from turnkeeper.ports.clock import Clock
from turnkeeper.steps.draft import TurnDraft
from turnkeeper.steps.reset import Reset

if TYPE_CHECKING:
    from turnkeeper.intent.collecting import Answer
    from turnkeeper.intent.hold import Hold


PARAMS_NOT_TAKEN = "params_not_taken"


@dataclass(frozen=True, slots=True)
class HoldIntent:
    packs: PackShelf
    reset: Reset
    model: ChatModel | None
    clock: Clock
    deadline_of: Callable[[TurnDraft], datetime]
    limits: BudgetLimits
    most_bytes: int

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        """Raises DialogueTooLarge when the session would hold more than is kept."""
        given = with_params(draft)
        held = await (self._held(given) if given.resumed is None else self._gone_on(given, given.resumed))
        if held.dialogue is not draft.dialogue:
            size = len(msgspec.json.encode(held.dialogue.given))
            if size > self.most_bytes:
                raise DialogueTooLarge(size, self.most_bytes)
        return held

    async def _held(self, draft: TurnDraft) -> TurnDraft:
        pins = draft.opened.session.packs
        if not pins:
            return draft
        pack = await self.packs.holding_intents(draft.run.tenant, pins)
        budget = Budget(limits_within(self.limits, pack), used=spent_before(draft))
        draft = replace(draft, budget=budget, deadline=self._deadline(draft, pack))
        return await self._turned(draft, pack)

    async def _turned(self, draft: TurnDraft, pack: Pack) -> TurnDraft:
        hold = await self._begun(draft, pack)
        resetting = await self._understood(hold, draft)
        if resetting is not None:
            return await self._begin_anew(draft, pack, resetting)
        if hold.dialogue.clarification is None and not hold.is_answered:
            await self._collect(hold, draft)
        if hold.params_not_taken:
            draft.trace.notes.warn(PARAMS_NOT_TAKEN, {"fields": list(hold.params_not_taken)})
        hold.lock(self.clock.now())
        answer, view = hold.speak()
        served = None if hold.was_done or view.code == UNKNOWN else view.code
        return replace(
            draft, dialogue=hold.dialogue, intent=view, served_intent=served, answer=answer, afterword=hold.afterword
        )

    async def _gone_on(self, draft: TurnDraft, at: Checkpoint) -> TurnDraft:
        """A run that asked something goes on with what it had understood; nothing is read into its message again.

        If the session has moved on since, what it holds now is what stays.
        """
        if at.dialogue is None:
            return draft
        session = draft.opened.session
        view = at.intent
        if view is not None and session.packs:
            pack = await self.packs.holding_intents(session.tenant, session.packs)
            view = replace(view, prompts=pack.prompts, tools=pack.tools)
        dialogue = at.dialogue if session.revision == at.revision else draft.dialogue
        return replace(draft, dialogue=dialogue, intent=view)

    async def _begun(self, draft: TurnDraft, pack: Pack) -> "Hold":
        # What reads packs and forms is loaded by the first session that has one.
        from turnkeeper.intent.hold import Hold
        from turnkeeper.intent.switching import fitting

        session, wish = draft.opened.session, draft.run.input
        locale = wish.locale or wish.metadata.get("locale")
        return Hold(
            pack=pack,
            config=await self.packs.config(session.tenant, pack),
            dialogue=fitting(pack, draft.dialogue),
            text="\n".join(event.as_text for event in wish.events),
            params=without_control(with_clean_names(wish.params)),
            turn=session.turns + 1,
            now=self.clock.now().astimezone(ZoneInfo(pack.timezone)),
            note=draft.trace.note,
            channel=wish.channel,
            locale=locale.replace("_", "-") if isinstance(locale, str) else pack.locales[0],
        )

    async def _understood(self, hold: "Hold", draft: TurnDraft) -> str | None:
        from turnkeeper.intent.understanding import Understanding

        assert draft.budget is not None
        understanding = Understanding(
            model=self.model,
            budget=draft.budget,
            deadline=self._patience(draft),
            history=draft.opened.history,
            params=with_clean_names(draft.run.input.params),
            declared=draft.run.input.intent if hold.pack.intent(draft.run.input.intent or "") else None,
        )
        return await understanding.of(hold, draft.dialogue)

    def _deadline(self, draft: TurnDraft, pack: Pack) -> datetime:
        """When the run must be over: by its agent's rule, or sooner by that of its pack."""
        latest = self.deadline_of(draft)
        seconds = pack.ceilings.get("run_seconds")
        began = draft.run.started_at or draft.run.accepted_at
        return latest if seconds is None else min(latest, began + timedelta(seconds=seconds))

    def _patience(self, draft: TurnDraft) -> datetime:
        """Until when a model may take: a part of the time that the run has, so that others can do without it."""
        now = self.clock.now()
        return now + (self.deadline_of(draft) - now) / 3

    async def _begin_anew(self, draft: TurnDraft, pack: Pack, code: str) -> TurnDraft:
        """What the user wants is to begin from nothing; the message has said all that it had to say."""
        intent = pack.intent(code)
        assert intent is not None, "only intents of the pack are resolved"
        check_served(intent, draft.run.input)
        draft = await self.reset.begin_anew(draft, ResetTrigger.INTENT, matched=code)
        return await self.reset.ended(draft)

    async def _collect(self, hold: "Hold", draft: TurnDraft) -> None:
        """Fill the form: from what rules read in the message, else from what a model reads in it."""
        if hold.has_begun:
            hold.reading = hold.read(hold.text)
        answers = hold.reading.answers
        if hold.means_another(answers):
            answers = ()
        elif not answers and hold.reading.wish is None:
            answers = await self._asked_of_model(hold, draft)
        hold.collect(answers)

    async def _asked_of_model(self, hold: "Hold", draft: TurnDraft) -> "tuple[Answer, ...]":
        if self.model is None or hold.schema is None or hold.was_done:
            return ()
        from turnkeeper.intent.extracting_by_model import ask_for_answers

        assert draft.budget is not None
        reading = await ask_for_answers(
            self.model,
            hold.text,
            hold.schema,
            hold.dialogue.context,
            asked=hold.dialogue.asked,
            prompt=hold.pack.prompts.get("extract"),
            budget=draft.budget,
            deadline=self._patience(draft),
            now=hold.now,
        )
        told = {"fields": [answer.field for answer in reading.answers], "reason": reading.reason}
        hold.note(StageName.SCHEMA_EXTRACTION_LLM_OUTPUT, told)
        return reading.answers


def spent_before(draft: TurnDraft) -> Mapping[str, float] | None:
    """What an earlier walk of this run has spent: waiting for a person or for a node gives nothing back."""
    return draft.resumed.used if draft.resumed else None


def with_params(draft: TurnDraft) -> TurnDraft:
    """Those of this request lie over those of earlier ones; what only steers the turn is none of them."""
    given = without_control(with_clean_names(draft.run.input.params))
    if not given:
        return draft
    return replace(draft, dialogue=replace(draft.dialogue, params={**draft.dialogue.params, **given}))


def limits_within(limits: BudgetLimits, pack: Pack) -> BudgetLimits:
    """What a run may spend, with the ceiling of its pack."""
    return replace(limits, model_calls=min(limits.model_calls, pack.ceilings.get("model_calls", limits.model_calls)))
