"""Keep, switch or resolve the intent of the session, collect what it needs, and ask where something is unclear."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import msgspec

from turnkeeper.errors import DialogueTooLarge
from turnkeeper.intent.holding import Course, decide
from turnkeeper.intent.signals import ResetTrigger, force_signal
from turnkeeper.model.budget import Budget, BudgetLimits
from turnkeeper.model.control import with_clean_names, without_control
from turnkeeper.model.dialogue import Clarification
from turnkeeper.model.pack import Pack
from turnkeeper.model.resolution import Judgement, ResolveInput, Verdict
from turnkeeper.model.stages import StageName
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.chat_model import ChatModel
from turnkeeper.ports.clock import Clock
from turnkeeper.steps.draft import TurnDraft
from turnkeeper.steps.reset import Reset

if TYPE_CHECKING:
    from turnkeeper.intent.collecting import Answer
    from turnkeeper.intent.hold import Hold


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
        held = await self._held(draft)
        if held.dialogue is not draft.dialogue:
            size = len(msgspec.json.encode(held.dialogue.given))
            if size > self.most_bytes:
                raise DialogueTooLarge(size, self.most_bytes)
        return held

    async def _held(self, draft: TurnDraft) -> TurnDraft:
        if draft.run.input.params:
            given = without_control(with_clean_names(draft.run.input.params))
            merged = {**draft.dialogue.params, **given}
            draft = replace(draft, dialogue=replace(draft.dialogue, params=merged))
        if not draft.opened.session.packs:
            return draft
        hold, budget = await self._begun(draft)
        resets_with = await self._settle(hold, draft, budget)
        if resets_with is not None:
            return await self._begin_anew(draft, resets_with)
        if hold.dialogue.clarification is None:
            await self._collect(hold, draft, budget)
        hold.lock(self.clock.now())
        answer, view = hold.speak()
        return replace(draft, dialogue=hold.dialogue, intent=view, answer=answer, budget=budget)

    async def _begun(self, draft: TurnDraft) -> "tuple[Hold, Budget]":
        # What reads packs and forms is loaded by the first session that has one.
        from turnkeeper.intent.hold import Hold
        from turnkeeper.intent.switching import fitting

        session, wish = draft.opened.session, draft.run.input
        pack = await self.packs.open(session.tenant, session.packs[0])
        locale = wish.metadata.get("locale")
        hold = Hold(
            pack=pack,
            config=await self.packs.config(session.tenant, pack),
            dialogue=fitting(pack, draft.dialogue),
            text="\n".join(event.as_text for event in wish.events),
            turn=session.turns + 1,
            now=self.clock.now().astimezone(ZoneInfo(pack.timezone)),
            note=draft.trace.note,
            channel=wish.channel,
            locale=locale if isinstance(locale, str) else pack.locales[0],
        )
        return hold, Budget(limits_within(self.limits, pack))

    async def _settle(self, hold: "Hold", draft: TurnDraft, budget: Budget) -> str | None:
        """Find out which intent this turn serves; the code of a reset intent when it is one."""
        before = hold.dialogue
        lock = before.lock
        hold.note(
            StageName.INTENT_RESOLVE_START,
            {
                "previous_intent": before.intent,
                "previous_state": before.state,
                "locked": lock is not None,
                "lock_reason": lock.reason if lock else None,
            },
        )
        self._expire_question(hold)
        signal = force_signal(hold.text, with_clean_names(draft.run.input.params), hold.dialogue.clarification)
        decision = decide(hold.holding(signal))
        if decision.release is not None:
            hold.release(decision.release)
        if not decision.course.resolves:
            assert decision.course.stage is not None
            hold.note(decision.course.stage, _told(hold, decision.course))
            return None
        if signal is not None:
            hold.note(StageName.INTENT_RESOLVE_FORCED, {"signal": signal.signal, "value": signal.value})
        return await self._resolve(hold, draft, budget)

    def _expire_question(self, hold: "Hold") -> None:
        asked = hold.dialogue.clarification
        if asked is not None and asked.is_over(hold.turn, turns=hold.config.clarification_turns):
            hold.note(StageName.CLARIFICATION_EXPIRED, {"asked_at_turn": asked.turn, "attempts": asked.attempts})
            hold.clarify(None)

    async def _resolve(self, hold: "Hold", draft: TurnDraft, budget: Budget) -> str | None:
        from turnkeeper.intent.clarifying import NEITHER, answered

        asked = hold.dialogue.clarification
        chosen = answered(asked, hold.text, hold.allowed) if asked else None
        if asked is not None and chosen is not None:
            hold.note(StageName.CLARIFICATION_ANSWERED, {"chosen": None if chosen == NEITHER else chosen})
            hold.clarify(None)
            if chosen == NEITHER:
                hold.note(StageName.INTENT_RESOLVE_NO_CHANGE, {"intent": hold.dialogue.intent})
                return None
            hold.text = asked.text or hold.text
            judgement = Judgement(verdict=Verdict.ACCEPTED, intent=chosen, confidence=1.0)
        else:
            judgement = await self._judged(hold, draft, budget)
        return self._believed(hold, judgement)

    async def _judged(self, hold: "Hold", draft: TurnDraft, budget: Budget) -> Judgement:
        from turnkeeper.intent.resolving import resolve

        asked = ResolveInput(
            text=hold.text,
            intents=hold.allowed,
            current=hold.dialogue.intent,
            clarification=hold.dialogue.clarification,
            history=draft.opened.history,
            prompt=hold.pack.prompts.get("resolve"),
        )
        return await resolve(
            asked,
            config=hold.config,
            model=self.model,
            budget=budget,
            deadline=self._patience(draft),
            has_schema=lambda code: any(name.split(".")[0] == code for name in hold.pack.schemas),
            note=hold.note,
        )

    def _patience(self, draft: TurnDraft) -> datetime:
        """Until when a model may take: a part of the time that the run has, so that others can do without it."""
        now = self.clock.now()
        return now + (self.deadline_of(draft) - now) / 3

    def _believed(self, hold: "Hold", judgement: Judgement) -> str | None:
        if judgement.verdict is Verdict.ACCEPTED and judgement.intent is not None:
            if judgement.intent in hold.config.reset_intent_codes:
                return judgement.intent
            hold.enter(judgement.intent, judgement.state)
            return None
        question = self._asked_next(hold, judgement)
        if question is not None:
            options = [option.code for option in question.options]
            hold.note(StageName.CLARIFICATION_ASKED, {"attempts": question.attempts, "options": options})
        hold.clarify(question)
        return None

    def _asked_next(self, hold: "Hold", judgement: Judgement) -> Clarification | None:
        """What to ask back: a new question, or the open one once more; None when it was asked often enough."""
        from turnkeeper.intent.clarifying import again, opened

        asked, most = hold.dialogue.clarification, hold.config.clarification_attempts
        if judgement.verdict is not Verdict.UNCLEAR:
            hold.note(StageName.INTENT_RESOLVE_NO_CHANGE, {"intent": hold.dialogue.intent, "reason": judgement.reason})
            return again(asked, turn=hold.turn, attempts=most) if asked else None
        if asked is not None and asked.attempts >= most:
            return None
        question = opened(judgement, turn=hold.turn, text=hold.text)
        return replace(question, attempts=asked.attempts + 1) if asked else question

    async def _begin_anew(self, draft: TurnDraft, code: str) -> TurnDraft:
        """What the user wants is to begin from nothing; the message has said all that it had to say."""
        draft = await self.reset.begin_anew(draft, ResetTrigger.INTENT, matched=code)
        return await self.reset.ended(draft)

    async def _collect(self, hold: "Hold", draft: TurnDraft, budget: Budget) -> None:
        """Fill the form: from what rules read in the message, else from what a model reads in it."""
        if hold.has_begun:
            hold.reading = hold.read(hold.text)
        answers = hold.reading.answers
        if not answers and hold.reading.wish is None:
            answers = await self._asked_of_model(hold, draft, budget)
        hold.collect(answers)

    async def _asked_of_model(self, hold: "Hold", draft: TurnDraft, budget: Budget) -> "tuple[Answer, ...]":
        if self.model is None or hold.schema is None or hold.was_done:
            return ()
        from turnkeeper.intent.extracting_by_model import ask_for_answers

        reading = await ask_for_answers(
            self.model,
            hold.text,
            hold.schema,
            hold.dialogue.context,
            asked=hold.dialogue.asked,
            prompt=hold.pack.prompts.get("extract"),
            budget=budget,
            deadline=self._patience(draft),
            now=hold.now,
        )
        told = {"fields": [answer.field for answer in reading.answers], "reason": reading.reason}
        hold.note(StageName.SCHEMA_EXTRACTION_LLM_OUTPUT, told)
        return reading.answers


def limits_within(limits: BudgetLimits, pack: Pack) -> BudgetLimits:
    """What a run may spend, with the ceiling of its pack."""
    return replace(limits, model_calls=min(limits.model_calls, pack.ceilings.get("model_calls", limits.model_calls)))


def _told(hold: "Hold", course: Course) -> dict[str, object]:
    lock = hold.dialogue.lock
    told: dict[str, object] = {"intent": hold.dialogue.intent, "state": hold.dialogue.state}
    if course is Course.SKIP_STICKY:
        return told | {"sticky_intent": True, "reason": "existing intent retained"}
    if course is Course.SKIP_COLLECTION:
        return told | {"locked": lock is not None, "lock_reason": lock.reason if lock else None}
    return told | {"reason": "the user answers a question about the form"}
