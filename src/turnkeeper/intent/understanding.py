"""Finding out which intent a turn serves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from turnkeeper.intent.clarifying import NEITHER, again, answered, opened
from turnkeeper.intent.hold import Hold
from turnkeeper.intent.holding import Course, ReleaseReason, decide
from turnkeeper.intent.resolving import resolve
from turnkeeper.intent.signals import force_signal
from turnkeeper.model.budget import Budget
from turnkeeper.model.dialogue import Clarification, Dialogue
from turnkeeper.model.message import Message
from turnkeeper.model.resolution import Judgement, ResolveInput, Verdict
from turnkeeper.model.stages import StageName
from turnkeeper.ports.chat_model import ChatModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """What may be asked, until when, and what was said before. `params` are those of this request.

    `declared` is the intent that the caller names: nobody has to guess it.
    """

    model: ChatModel | None
    budget: Budget
    deadline: datetime
    history: Sequence[Message]
    params: Mapping[str, Any]
    declared: str | None = None

    async def of(self, hold: Hold, before: Dialogue) -> str | None:
        """The code of an intent that the session has not gone to, because it resets; None for every other turn.

        `before` is what the session held, also what its pack does not know any more.
        """
        _tell_start(hold, before)
        _expire_question(hold)
        signal = force_signal(hold.text, self.params, hold.dialogue.clarification)
        decision = decide(hold.holding(signal))
        if self.declared is not None and self.declared != hold.dialogue.intent:
            return self._as_declared(hold, self.declared)
        if decision.release is not None:
            hold.release(decision.release)
        if not decision.course.resolves:
            hold.note(decision.course.stage, _told(hold, decision.course))
            return None
        if signal is not None:
            hold.note(decision.course.stage, {"signal": signal.signal, "value": signal.value})
        return await self._resolved(hold)

    def _as_declared(self, hold: Hold, code: str) -> str | None:
        hold.note(StageName.INTENT_DECLARED, {"intent": code, "previous_intent": hold.dialogue.intent})
        return _believed(hold, Judgement(verdict=Verdict.ACCEPTED, intent=code, confidence=1.0))

    async def _resolved(self, hold: Hold) -> str | None:
        if self.declared is not None:
            return self._as_declared(hold, self.declared)
        asked = hold.dialogue.clarification
        chosen = answered(asked, hold.text, hold.allowed) if asked else None
        if asked is None or chosen is None:
            return _believed(hold, await self._judged(hold))
        hold.note(StageName.CLARIFICATION_ANSWERED, {"chosen": None if chosen == NEITHER else chosen})
        hold.clarify(None)
        if chosen == NEITHER:
            hold.note(StageName.INTENT_RESOLVE_NO_CHANGE, {"intent": hold.dialogue.intent})
            hold.is_answered = True
            return None
        # What was said first is acted upon, now that it is clear.
        hold.text = asked.text or hold.text
        return _believed(hold, Judgement(verdict=Verdict.ACCEPTED, intent=chosen, confidence=1.0))

    async def _judged(self, hold: Hold) -> Judgement:
        asked = ResolveInput(
            text=hold.text,
            intents=hold.allowed,
            current=hold.dialogue.intent,
            clarification=hold.dialogue.clarification,
            history=self.history,
            prompt=hold.pack.prompts.get("resolve"),
        )
        return await resolve(
            asked,
            config=hold.config,
            model=self.model,
            budget=self.budget,
            deadline=self.deadline,
            has_schema=lambda code: any(name.split(".")[0] == code for name in hold.pack.schemas),
            note=hold.note,
        )


def _tell_start(hold: Hold, before: Dialogue) -> None:
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
    if lock is not None and hold.dialogue.lock is None:
        hold.tell_release(ReleaseReason.SCHEMA_ABSENT, lock.intent)


def _expire_question(hold: Hold) -> None:
    asked = hold.dialogue.clarification
    if asked is not None and asked.is_over(hold.turn, turns=hold.config.clarification_turns):
        hold.note(StageName.CLARIFICATION_EXPIRED, {"asked_at_turn": asked.turn, "attempts": asked.attempts})
        hold.clarify(None)


def _believed(hold: Hold, judgement: Judgement) -> str | None:
    if judgement.verdict is Verdict.ACCEPTED and judgement.intent is not None:
        if judgement.intent in hold.config.reset_intent_codes:
            return judgement.intent
        hold.enter(judgement.intent, judgement.state)
        return None
    question = _asked_next(hold, judgement)
    if question is not None:
        options = [option.code for option in question.options]
        hold.note(StageName.CLARIFICATION_ASKED, {"attempts": question.attempts, "options": options})
    hold.clarify(question)
    return None


def _asked_next(hold: Hold, judgement: Judgement) -> Clarification | None:
    """What to ask back: a new question, or the open one once more; None when it was asked often enough."""
    asked, most = hold.dialogue.clarification, hold.config.clarification_attempts
    if judgement.verdict is not Verdict.UNCLEAR:
        hold.note(StageName.INTENT_RESOLVE_NO_CHANGE, {"intent": hold.dialogue.intent, "reason": judgement.reason})
        return again(asked, attempts=most) if asked else None
    if asked is not None and asked.attempts >= most:
        return None
    question = opened(judgement, turn=hold.turn, text=hold.text)
    # However it is put now, it is as old as when it was asked first.
    return replace(question, attempts=asked.attempts + 1, turn=asked.turn) if asked else question


def _told(hold: Hold, course: Course) -> dict[str, object]:
    lock = hold.dialogue.lock
    told: dict[str, object] = {"intent": hold.dialogue.intent, "state": hold.dialogue.state}
    if course is Course.SKIP_STICKY:
        return told | {"sticky_intent": True, "reason": "existing intent retained"}
    if course is Course.SKIP_COLLECTION:
        return told | {"locked": lock is not None, "lock_reason": lock.reason if lock else None}
    return told | {"reason": "the user answers a question about the form"}
