"""Finding out what a user wants: who is asked, in which order, and what happens when a model is of no use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.intent.resolving import resolve
from turnkeeper.intent.resolving_by_model import MOST_HISTORY, read_answer
from turnkeeper.model.budget import Budget, BudgetLimits
from turnkeeper.model.dialogue import Clarification, Option
from turnkeeper.model.ids import MessageId
from turnkeeper.model.message import Message, Speaker
from turnkeeper.model.pack import Intent, IntentRule, IntentState, RuleKind
from turnkeeper.model.pack_config import PackConfig, ResolverChoice
from turnkeeper.model.resolution import Judgement, ResolveInput, Score, Verdict
from turnkeeper.ports.chat_model import ChatMessage, Completion, ModelFailed, ModelFault

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def an_intent(code: str, name: str, says: str) -> Intent:
    rule = IntentRule(kind=RuleKind.CONTAINS, pattern=says)
    return Intent(code=code, name=name, description=f"To {name.lower()}", examples=(f"please {says}",), rules=(rule,))


BOOK = an_intent("BOOK", "Book a table", "book")
CANCEL = an_intent("CANCEL", "Cancel a booking", "cancel")
HOURS = an_intent("HOURS", "Opening hours", "open")
INTENTS = (BOOK, CANCEL, HOURS)
SECRET = "swordfish"
UNKNOWN_TO_RULES = f"my {SECRET} wishes to dine"
CLEAR_TO_RULES = f"book it, {SECRET}"
BOTH_TO_RULES = f"book or cancel, {SECRET}"


@dataclass(kw_only=True)
class ScriptedChat:
    """A chat model that says one thing, or fails, and remembers what it was asked."""

    says: str | ModelFault
    asked: list[Sequence[ChatMessage]] = field(default_factory=list)

    async def complete(
        self, messages: Sequence[ChatMessage], *, deadline: datetime, json: bool = False, model: str | None = None
    ) -> Completion:
        assert json
        assert deadline == NOON
        self.asked.append(messages)
        if isinstance(self.says, ModelFault):
            raise ModelFailed(self.says, "It did not work.")
        return Completion(text=self.says, model="scripted-1")


def answering(**answer: Any) -> ScriptedChat:
    return ScriptedChat(says=json.dumps(answer))


@dataclass(kw_only=True)
class Outcome:
    judgement: Judgement
    notes: list[tuple[str, Mapping[str, Any]]]
    budget: Budget

    @property
    def stages(self) -> list[str]:
        return [stage for stage, _ in self.notes]

    def said(self, stage: str) -> Mapping[str, Any]:
        return next(payload for name, payload in self.notes if name == stage)


async def resolved(
    text: str,
    *,
    by: ResolverChoice = ResolverChoice.AUTO,
    model: ScriptedChat | None = None,
    calls: int = 5,
    intents: tuple[Intent, ...] = INTENTS,
    clarification: Clarification | None = None,
    history: Sequence[Message] = (),
    prompt: str | None = None,
    with_schema: frozenset[str] = frozenset(),
) -> Outcome:
    notes: list[tuple[str, Mapping[str, Any]]] = []
    budget = Budget(BudgetLimits(model_calls=calls))
    judgement = await resolve(
        ResolveInput(
            text=text,
            intents=intents,
            current="HOURS",
            clarification=clarification,
            history=history,
            prompt=prompt,
        ),
        config=PackConfig(resolver=by),
        model=model,
        budget=budget,
        deadline=NOON,
        has_schema=lambda code: code in with_schema,
        note=lambda stage, payload: notes.append((stage, payload)),
    )
    return Outcome(judgement=judgement, notes=notes, budget=budget)


async def test_what_the_rules_know_costs_no_call_of_a_model() -> None:
    model = answering(intent="CANCEL", confidence=0.99)

    outcome = await resolved(CLEAR_TO_RULES, model=model)

    assert outcome.judgement.intent == "BOOK"
    assert outcome.stages == ["INTENT_CLASSIFICATION_MATCHED", "INTENT_RESOLVED_BY_CLASSIFIER"]
    assert (model.asked, outcome.budget.model_calls) == ([], 0)


async def test_what_the_rules_do_not_know_is_asked_of_the_model() -> None:
    outcome = await resolved(UNKNOWN_TO_RULES, model=answering(intent="BOOK", confidence=0.9))

    assert (outcome.judgement.intent, outcome.budget.model_calls) == ("BOOK", 1)
    assert outcome.stages == ["INTENT_CLASSIFIER_NO_MATCH", "INTENT_AGENT_ACCEPTED", "INTENT_RESOLVED_BY_AGENT"]
    assert outcome.said("INTENT_RESOLVED_BY_AGENT") == {"intent": "BOOK", "state": None, "confidence": 0.9}


async def test_a_collision_of_rules_is_put_to_the_model() -> None:
    outcome = await resolved(BOTH_TO_RULES, model=answering(intent="CANCEL", confidence=0.9))

    assert outcome.judgement.intent == "CANCEL"
    assert outcome.said("INTENT_CLASSIFIER_COLLISION") == {"confidence": 1.0, "options": ["BOOK", "CANCEL"]}


@pytest.mark.parametrize("model", [None, answering(intent=None, confidence=0.0), ScriptedChat(says=ModelFault.BUSY)])
async def test_a_collision_of_rules_that_no_model_settles_is_asked_of_the_user(model: ScriptedChat | None) -> None:
    outcome = await resolved(BOTH_TO_RULES, model=model)

    assert outcome.judgement.question == "Did you mean Book a table or Cancel a booking?"
    assert not any(stage.startswith("INTENT_RESOLVED") for stage in outcome.stages)


async def test_where_only_rules_are_wanted_no_model_is_asked() -> None:
    model = answering(intent="BOOK", confidence=0.9)

    outcome = await resolved(UNKNOWN_TO_RULES, by=ResolverChoice.RULES, model=model)

    assert outcome.judgement.verdict is Verdict.REJECTED
    assert (model.asked, outcome.stages) == ([], ["INTENT_CLASSIFIER_NO_MATCH"])


async def test_where_the_model_is_wanted_rules_do_not_come_before_it() -> None:
    outcome = await resolved(CLEAR_TO_RULES, by=ResolverChoice.MODEL, model=answering(intent="HOURS", confidence=0.9))

    assert outcome.judgement.intent == "HOURS"
    assert outcome.stages == ["INTENT_AGENT_ACCEPTED", "INTENT_RESOLVED_BY_AGENT"]


@pytest.mark.parametrize("fault", ModelFault)
async def test_however_a_model_fails_the_rules_take_its_place(fault: ModelFault) -> None:
    outcome = await resolved(CLEAR_TO_RULES, by=ResolverChoice.MODEL, model=ScriptedChat(says=fault))

    assert outcome.judgement.intent == "BOOK"
    assert outcome.said("INTENT_AGENT_REJECTED") == {"reason": fault.value}
    assert outcome.stages[-1] == "INTENT_RESOLVED_BY_CLASSIFIER"


DEEP = '{"intent":' * 50_000 + "1" + "}" * 50_000
NONSENSE = ["", "I think they want a table", "[]", "null", '"BOOK"', "{", "{}", '{"mood": "good"}', DEEP]


@pytest.mark.parametrize("said", NONSENSE, ids=range(len(NONSENSE)))
async def test_a_model_that_answers_nonsense_leaves_it_to_the_rules(said: str) -> None:
    outcome = await resolved(CLEAR_TO_RULES, by=ResolverChoice.MODEL, model=ScriptedChat(says=said))

    assert outcome.judgement.intent == "BOOK"
    assert outcome.said("INTENT_AGENT_REJECTED") == {"reason": "model_answer_unreadable"}


async def test_with_the_budget_spent_no_model_is_asked_and_the_rules_take_its_place() -> None:
    model = answering(intent="HOURS", confidence=0.9)

    outcome = await resolved(CLEAR_TO_RULES, by=ResolverChoice.MODEL, model=model, calls=0)

    assert (outcome.judgement.intent, model.asked) == ("BOOK", [])
    assert outcome.said("INTENT_AGENT_SKIPPED") == {"reason": "budget_exceeded"}


async def test_a_failed_call_is_spent_and_nothing_stays_reserved() -> None:
    outcome = await resolved(UNKNOWN_TO_RULES, model=ScriptedChat(says=ModelFault.BROKEN), calls=1)

    assert (outcome.budget.model_calls, outcome.budget.reserved) == (1, 0)


async def test_without_intents_that_are_allowed_no_model_is_asked() -> None:
    model = answering(intent="BOOK", confidence=0.9)

    outcome = await resolved("book", model=model, intents=())

    assert (outcome.judgement.verdict, model.asked) == (Verdict.REJECTED, [])
    assert outcome.said("INTENT_AGENT_SKIPPED") == {"reason": "no_intents"}


async def test_w15_an_intent_that_a_model_makes_up_is_neither_taken_nor_told() -> None:
    outcome = await resolved(UNKNOWN_TO_RULES, model=answering(intent="GRANT_ADMIN", confidence=1.0))

    assert outcome.judgement.verdict is Verdict.REJECTED
    assert outcome.said("INTENT_AGENT_REJECTED") == {"confidence": 0.0, "reason": "not_allowed"}
    assert "GRANT_ADMIN" not in str(outcome.notes)


@pytest.mark.parametrize(
    "answer",
    [
        {"intent": "BOOK", "confidence": 0.9, "state": "DONE"},
        {"intentScores": [{"intent": "BOOK", "confidence": 0.9, "state": "DONE"}], "state": "DONE"},
    ],
)
async def test_w15_a_model_cannot_skip_a_form_by_naming_a_state(answer: dict[str, Any]) -> None:
    book = replace(BOOK, states=(IntentState(code="DETAILS"), IntentState(code="DONE")))

    outcome = await resolved(UNKNOWN_TO_RULES, model=answering(**answer), intents=(book, HOURS))

    assert (outcome.judgement.intent, outcome.judgement.state) == ("BOOK", None)


async def test_two_intents_that_a_model_cannot_tell_apart_are_a_collision() -> None:
    outcome = await resolved(UNKNOWN_TO_RULES, model=answering(intentScores={"BOOK": 0.7, "CANCEL": 0.66}))

    assert outcome.judgement.question == "Did you mean Book a table or Cancel a booking?"
    assert outcome.said("INTENT_AGENT_COLLISION") == {"confidence": 0.7, "options": ["BOOK", "CANCEL"]}


async def test_a_model_that_asks_is_heard_unless_a_form_asks_for_itself() -> None:
    model = answering(intent="BOOK", confidence=0.9, needsClarification=True, clarificationQuestion="When?")

    heard = await resolved(UNKNOWN_TO_RULES, model=model)
    not_heard = await resolved(UNKNOWN_TO_RULES, model=model, with_schema=frozenset({"BOOK"}))

    assert heard.judgement.question == "When?"
    assert heard.stages[-1] == "INTENT_AGENT_NEEDS_CLARIFICATION"
    assert not_heard.judgement.intent == "BOOK"
    assert not_heard.said("INTENT_AGENT_CLARIFICATION_SUPPRESSED_SCHEMA_FLOW") == {"intent": "BOOK"}


@pytest.mark.parametrize("text", [CLEAR_TO_RULES, BOTH_TO_RULES, UNKNOWN_TO_RULES])
@pytest.mark.parametrize("choice", ResolverChoice)
async def test_what_is_told_never_holds_what_somebody_said(text: str, choice: ResolverChoice) -> None:
    model = answering(needsClarification=True, clarificationQuestion=f"What {SECRET}?", intent=SECRET, state=SECRET)

    outcome = await resolved(text, by=choice, model=model)

    assert outcome.notes
    assert SECRET not in str(outcome.notes)


async def test_a_model_is_shown_the_intents_the_open_question_and_the_newest_messages() -> None:
    model = answering(intent="BOOK", confidence=0.9)
    question = Clarification(
        question="Which one?", reason="collision", options=(Option(code="BOOK", label="Book"),), turn=1, text="my table"
    )

    await resolved(UNKNOWN_TO_RULES, model=model, clarification=question, history=[said(each) for each in range(1, 10)])

    shown = json.loads(model.asked[0][1].content)
    assert shown["intents"][0] == {"code": "BOOK", "description": "To book a table", "examples": ["please book"]}
    assert (shown["current"], shown["message"]) == ("HOURS", UNKNOWN_TO_RULES)
    assert shown["open_question"] == {
        "question": "Which one?",
        "options": [{"code": "BOOK", "label": "Book"}],
        "about": "my table",
    }
    assert [each["said"] for each in shown["before"]] == [f"line {each}" for each in range(10 - MOST_HISTORY, 10)]


def said(seq: int) -> Message:
    return Message(
        id=MessageId(f"msg_{seq}"),
        seq=seq,
        turn=seq,
        epoch=1,
        role=Speaker.USER,
        content=f"line {seq}",
        created_at=NOON,
    )


async def test_a_prompt_of_the_pack_says_what_for_and_the_form_of_the_answer_stays_ours() -> None:
    model = answering(intent="BOOK", confidence=0.9)

    await resolved(UNKNOWN_TO_RULES, model=model, prompt="You work for a pirate.")

    system = model.asked[0][0].content
    assert system.startswith("You work for a pirate.")
    assert "intentScores" in system
    assert "You find out" not in system


@pytest.mark.parametrize(
    "scores",
    [
        [{"intent": "BOOK", "confidence": 0.8}, {"intent": "CANCEL", "confidence": 0.1}],
        [{"code": "book", "score": "0.8"}, {"code": " CANCEL ", "score": 10}, "noise", {"intent": "HOURS"}],
        {"BOOK": 0.8, "CANCEL": 0.1, "HOURS": None, "": 1.0},
    ],
)
@pytest.mark.parametrize("name", ["intentScores", "intent_scores", "scores"])
def test_scores_are_read_in_each_of_their_spellings(name: str, scores: object) -> None:
    read = read_answer(json.dumps({name: scores}), INTENTS)

    assert read is not None
    assert read.scores == (Score(intent="BOOK", confidence=0.8), Score(intent="CANCEL", confidence=0.1))


def test_a_confidence_beyond_1_is_a_percentage_and_not_certainty() -> None:
    read = read_answer('{"intent": "BOOK", "confidence": 40}', INTENTS)

    assert read is not None
    assert read.confidence == 0.4


@pytest.mark.parametrize("confidence", ["true", '"high"', "[]", "null"])
def test_a_confidence_that_is_no_number_is_none(confidence: str) -> None:
    read = read_answer(f'{{"intent": "BOOK", "confidence": {confidence}}}', INTENTS)

    assert read is not None
    assert read.confidence == 0.0


@pytest.mark.parametrize(
    "answer",
    [
        {"clarificationQuestion": "When?"},
        {"clarification_question": "When?"},
        {"followups": ["When?", "Where?"]},
        {"follow_ups": "When?"},
        {"clarificationQuestion": "  ", "followups": ["When?"]},
        {"clarificationQuestion": "Wh\u001ben?"},
    ],
)
def test_a_question_is_read_in_each_of_its_spellings_and_steers_no_terminal(answer: dict[str, Any]) -> None:
    read = read_answer(json.dumps({"needsClarification": True, **answer}), INTENTS)

    assert read is not None
    assert (read.needs_clarification, read.question) == (True, "When?")


@pytest.mark.parametrize("question", ["x" * 501, "\u0000", 7, ["When?"], "\ud800"])
def test_a_question_that_cannot_be_shown_is_none(question: object) -> None:
    read = read_answer(json.dumps({"needsClarification": True, "clarificationQuestion": question}), INTENTS)

    assert read is None or read.question is None


def test_a_fence_or_a_sentence_around_the_answer_does_no_harm() -> None:
    fenced = 'Sure!\n```json\n{"intent": "BOOK", "confidence": 0.8}\n```\nAnything else?'

    read = read_answer(fenced, INTENTS)

    assert read is not None
    assert (read.intent, read.confidence) == ("BOOK", 0.8)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["intent", "confidence", "state", "intentScores", "scores", "needsClarification", "followups", "options"]


@given(st.dictionaries(st.sampled_from(KEYS), JSON) | JSON)
def test_whatever_a_model_answers_is_read_or_refused(answer: object) -> None:
    read = read_answer(json.dumps(answer), INTENTS)

    assert read is None or all(score.intent for score in read.scores)


@given(st.text())
def test_any_text_of_a_model_is_read_or_refused(text: str) -> None:
    read_answer(text, INTENTS)
