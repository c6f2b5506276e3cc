"""What one turn finds out about the intent of its session, from what it starts with to what is said."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from turnkeeper.intent.asking import (
    confirmation_for,
    dropped,
    question_about,
    question_for,
    waiting,
    what_to_change,
    what_was_wrong,
)
from turnkeeper.intent.collecting import Answer, FieldFault, Progress, Put, progress, put, seeded
from turnkeeper.intent.extracting import Reading, Wish, read_answers
from turnkeeper.intent.form import Kind, form_of
from turnkeeper.intent.holding import Holding, ReleaseReason
from turnkeeper.intent.rendering import render
from turnkeeper.intent.scoring import score
from turnkeeper.intent.signals import ForceSignal
from turnkeeper.intent.switching import entered
from turnkeeper.intent.walking import advanced, is_confirming, is_done, schema_at
from turnkeeper.model.dialogue import Clarification, Dialogue, IntentLock, IntentView
from turnkeeper.model.pack import UNKNOWN, Intent, JsonSchema, Pack, Response
from turnkeeper.model.pack_config import PackConfig
from turnkeeper.model.resolution import ResolveInput
from turnkeeper.model.stages import StageName

Note = Callable[[str, Mapping[str, Any]], None]
NOTHING = Progress()
SURELY_ANOTHER = 0.9


@dataclass(slots=True, kw_only=True)
class Hold:
    """`now` is in the time zone of the pack, `params` are those of this request.

    `dialogue` changes as the turn goes on; nothing of it is kept here. A message that `is_answered` says nothing beside
    the answer to a question back, and so nothing to the form.
    """

    pack: Pack
    config: PackConfig
    dialogue: Dialogue
    text: str
    params: Mapping[str, Any]
    turn: int
    now: datetime
    note: Note
    channel: str
    locale: str | None = None
    reading: Reading = field(default_factory=Reading)
    refused: tuple[FieldFault, ...] = ()
    was_understood: bool = True
    has_begun: bool = False
    has_waited: bool = False
    was_done: bool = False
    said_no: bool = False
    has_collected: bool = False
    is_answered: bool = False
    dropped: str | None = None
    params_not_taken: Sequence[str] = ()
    left: str | None = None

    # --- where the session stands

    @property
    def intent(self) -> Intent | None:
        return self.pack.intent(self.dialogue.intent)

    @property
    def schema(self) -> JsonSchema | None:
        return schema_at(self.pack, self.intent, self.dialogue.state) if self.intent else None

    @property
    def progress(self) -> Progress:
        return NOTHING if self.schema is None else progress(self.schema, self.dialogue.context)

    @property
    def awaits_yes(self) -> bool:
        """Whether a yes is waited for; while a field is asked about anew, what is said is for that field."""
        return is_confirming(self.pack, self.dialogue) and self.dialogue.asked is None

    @property
    def allowed(self) -> tuple[Intent, ...]:
        """What may be resolved at all: on this channel, in this language."""
        spoken = (self.locale or "").split("-")[0].lower()
        return tuple(
            intent
            for intent in self.pack.intents
            if (not intent.channels or self.channel in intent.channels)
            and (not intent.locales or not spoken or spoken in {each.split("-")[0].lower() for each in intent.locales})
        )

    def holding(self, signal: ForceSignal | None) -> Holding:
        """What the decision is made from. The text is read here, for an answer to a question about the form."""
        self.was_done = is_done(self.pack, self.dialogue)
        is_confirmed = self.awaits_yes
        self.reading = self.read(self.text)
        complete = self.progress.complete
        reading = self.reading
        # A question back is newer than any about the form: what is said now is its answer.
        is_open = self.schema is not None and not self.was_done and self.dialogue.clarification is None
        confirms = complete and is_confirmed and reading.wish is not None
        return Holding(
            is_locked=self.dialogue.lock is not None,
            has_schema=self.schema is not None,
            is_complete=complete,
            is_resolved=self.dialogue.is_resolved,
            sticky=self.config.sticky_intent,
            signal=signal,
            policy=is_open and (confirms or reading.wish is Wish.DROP),
            corrects=is_open and complete and reading.is_correction and bool(reading.answers or reading.names_field),
        )

    # --- what changes

    def enter(self, code: str, state: str | None) -> None:
        """Go to an intent, closing the question that was open about it."""
        intent = self.pack.intent(code)
        assert intent is not None, "only intents of the pack are accepted"
        left = self.dialogue
        self.dialogue = replace(entered(self.pack, left, intent, state), clarification=None)
        self.has_waited = code in left.forms and bool(self.dialogue.context)
        self.has_begun = self.dialogue.intent != left.intent or self.was_done
        if left.lock is not None and self.dialogue.lock is None:
            self.tell_release(ReleaseReason.INTENT_SWITCHED, left.intent)
        if self.has_begun:
            self.was_done = False
            self.left = left.intent if left.intent in self.dialogue.forms else None

    def clarify(self, clarification: Clarification | None) -> None:
        self.dialogue = replace(self.dialogue, clarification=clarification)

    def release(self, reason: ReleaseReason) -> None:
        self.tell_release(reason, self.dialogue.intent)
        self.dialogue = replace(self.dialogue, lock=None)

    def tell_release(self, reason: ReleaseReason, intent: str) -> None:
        self.note(StageName.INTENT_LOCK_RELEASED, {"reason": reason, "intent": intent})

    def read(self, text: str) -> Reading:
        if self.schema is None:
            return Reading()
        return read_answers(
            text,
            self.schema,
            self.dialogue.context,
            asked=self.dialogue.asked,
            confirming=self.awaits_yes,
            now=self.now,
            region=self.pack.region,
            locale=self.locale,
        )

    def collect(self, answers: Sequence[Answer]) -> None:
        """Put what was read, and what params of the same names say, into the form; then go as far as that leads."""
        intent = self.intent
        if intent is None or self.was_done:
            return
        if self.reading.wish is Wish.DROP and not self.has_begun:
            self._drop(intent)
            return
        result = self._put(self.schema, answers) if self.schema is not None else None
        has_answer = result is None or bool(result.kept or result.cleared)
        wish = self.reading.wish if self.awaits_yes and not has_answer else None
        self.said_no = wish is Wish.NO
        self.dialogue = advanced(self.pack, intent, self.dialogue, wish)
        if result is not None:
            self._tell_status(result)

    def _put(self, schema: JsonSchema, answers: Sequence[Answer]) -> Put:
        self.note(StageName.SCHEMA_EXTRACTION_START, {"intent": self.dialogue.intent, "state": self.dialogue.state})
        result = put(schema, self.dialogue.context, answers)
        self.has_collected, self.refused = True, result.refused
        self.was_understood = bool(result.kept or result.cleared or self.reading.wish or self.has_begun)
        misses = 0 if self.was_understood else self.dialogue.misses + 1
        # Params of this request alone: what an earlier one said was for another form, or was taken back since.
        fields = seeded(schema, result.fields, self.params)
        self.dialogue = replace(self.dialogue, context=fields, misses=misses)
        known = {each.name.split(".")[0] for each in form_of(schema).fields}
        self.params_not_taken = sorted(
            name for name, value in self.params.items() if name in known and value is not None and name not in fields
        )
        return result

    def _drop(self, intent: Intent) -> None:
        """The user does not want it any more: nothing of it stays."""
        if self.dialogue.lock is not None:
            self.tell_release(ReleaseReason.DROPPED, intent.code)
        self.dropped = intent.name
        self.dialogue = Dialogue(params=self.dialogue.params, forms=self.dialogue.forms)

    def means_another(self, answers: Sequence[Answer]) -> bool:
        """Whether a message that was taken for a free text is surely what another intent is asked for with."""
        if self.schema is None or len(answers) != 1 or not isinstance(answers[0].value, str):
            return False
        named = form_of(self.schema).field(answers[0].field)
        if named is None or named.kind is not Kind.TEXT:
            return False
        asked = ResolveInput(text=self.text, intents=self.allowed, current=self.dialogue.intent)
        return any(
            each.intent != self.dialogue.intent and each.confidence >= SURELY_ANOTHER for each in score(asked).scores
        )

    def _tell_status(self, result: Put) -> None:
        state = self.progress
        told = {
            "intent": self.dialogue.intent,
            "state": self.dialogue.state,
            "complete": state.complete,
            "has_any": state.has_any,
            "kept": list(result.kept),
            "cleared": list(result.cleared),
            "missing": list(state.missing),
            "refused": [fault.field for fault in self.refused],
        }
        self.note(StageName.SCHEMA_STATUS, told)

    def lock(self, at: datetime) -> None:
        """Hold the session here while a field is missing, and let go of it as soon as none is."""
        before, missing = self.dialogue.lock, self.progress.missing
        if missing and before is None:
            self.note(StageName.INTENT_LOCK_SET, {"intent": self.dialogue.intent, "missing": list(missing)})
        if not missing and before is not None:
            self.release(ReleaseReason.SCHEMA_COMPLETE if self.has_collected else ReleaseReason.SCHEMA_ABSENT)
        taken_at = before.taken_at if before else at
        lock = IntentLock(intent=self.dialogue.intent, missing=missing, taken_at=taken_at) if missing else None
        self.dialogue = replace(self.dialogue, lock=lock)

    # --- what is said

    @property
    def afterword(self) -> str | None:
        """What is said behind the answer: that a form was left for something that is answered at once."""
        left = self.pack.intent(self.left) if self.left and self.schema is None else None
        return waiting(left.name, locale=self.locale) if left else None

    def speak(self) -> tuple[str | None, IntentView]:
        """The text that settles the turn, or None for the agent; and what the agent is told either way."""
        question = self._question()
        response = self._response()
        view = self._view(question, response)
        if self.dropped is not None:
            return dropped(self.dropped, locale=self.locale), view
        if self.dialogue.clarification is not None:
            return self.dialogue.clarification.question, view
        if response is not None and response.text is not None:
            wrong = what_was_wrong(self.schema, self.refused, self.locale) if self.schema else ""
            return f"{wrong} {self._rendered(response.text, question)}".strip(), view
        return (question if response is None else None), view

    def _question(self) -> str | None:
        """What the keeper asks by itself, where something is to be asked. Remembers which field it is about."""
        schema, intent = self.schema, self.intent
        if schema is None or intent is None or self.was_done:
            self.dialogue = replace(self.dialogue, asked=None)
            return None
        state, about = self.progress, self.reading.names_field
        if about is not None:
            self.dialogue = replace(self.dialogue, asked=about)
            return question_about(schema, about, locale=self.locale).text
        if not state.complete:
            asked = question_for(
                schema,
                state,
                refused=self.refused,
                intent_name=intent.name,
                just_started=self.has_begun,
                was_understood=self.was_understood,
                has_waited=self.has_waited,
                misses=self.dialogue.misses,
                asks_back=self.text.rstrip().endswith("?"),
                locale=self.locale,
            )
            self.dialogue = replace(self.dialogue, asked=asked.field)
            return asked.text
        return self._question_when_complete(schema, intent)

    def _question_when_complete(self, schema: JsonSchema, intent: Intent) -> str | None:
        """What to change, after a no; else whether to go on, where a state waits for a yes."""
        held = self.dialogue.context
        self.dialogue = replace(self.dialogue, asked=None)
        if self.said_no:
            return what_to_change(schema, held, intent_name=intent.name, locale=self.locale)
        if is_confirming(self.pack, self.dialogue):
            return confirmation_for(schema, held, intent_name=intent.name, refused=self.refused, locale=self.locale)
        return None

    def _response(self) -> Response | None:
        """Of an intent that was done before this turn nothing is said again: that was another question."""
        code, state = self.dialogue.intent, self.dialogue.state
        if self.was_done:
            code, state = UNKNOWN, UNKNOWN
        response = self.pack.response(code, state, self.locale)
        asks_what_to_change = self.said_no or self.reading.names_field is not None
        if asks_what_to_change and response is not None and response.text is not None:
            return None
        return response

    def _rendered(self, text: str, question: str | None) -> str:
        intent, state = self.intent, self.progress
        variables = {
            "intent": intent.name if intent else "",
            "state": self.dialogue.state,
            "missing": list(state.missing),
            "options": [option for offered in state.options.values() for option in offered],
            "question": question or "",
            "params": self.dialogue.params,
        }
        return render(text, fields=self.dialogue.context, variables=variables)

    def _view(self, question: str | None, response: Response | None) -> IntentView:
        intent, state = self.intent, self.progress
        return IntentView(
            code=self.dialogue.intent,
            state=self.dialogue.state,
            name=intent.name if intent else "",
            fields=self.dialogue.context,
            missing=state.missing,
            options=state.options,
            locked=self.dialogue.lock is not None,
            question=question,
            hint=response.hint if response else None,
            prompts=self.pack.prompts,
            tools=self.pack.tools,
        )
