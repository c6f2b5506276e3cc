"""What is believed of a proposal: only what is allowed, sure and without a rival."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.intent.judging import Reason, judge
from turnkeeper.model.dialogue import Clarification, Option
from turnkeeper.model.pack import Intent, IntentState
from turnkeeper.model.pack_config import PackConfig
from turnkeeper.model.resolution import Judgement, Resolution, ResolvedBy, Score, Verdict

BOOK = Intent(
    code="BOOK",
    name="Book a table",
    priority=10,
    states=(IntentState(code="START"), IntentState(code="CONFIRM", confirms=True)),
)
CANCEL = Intent(code="CANCEL", name="Cancel a booking", priority=20)
HOURS = Intent(code="HOURS", name="Opening hours", priority=20)
MENU = Intent(code="MENU", name="See the menu", priority=5)
INTENTS = (BOOK, CANCEL, HOURS, MENU)
OPEN_QUESTION = Clarification(question="Which one?", reason="collision", turn=1)
CONFIG = PackConfig(min_confidence=0.55, collision_gap_threshold=0.1, collision_floor=0.35)


def proposing(**confidences: float) -> Resolution:
    scores = tuple(Score(intent=code, confidence=confidence) for code, confidence in confidences.items())
    return Resolution(source=ResolvedBy.AGENT, scores=scores)


def judged(
    resolution: Resolution,
    *,
    intents: tuple[Intent, ...] = INTENTS,
    config: PackConfig = CONFIG,
    clarification: Clarification | None = None,
    with_schema: frozenset[str] = frozenset(),
) -> Judgement:
    return judge(
        resolution,
        intents=intents,
        config=config,
        clarification=clarification,
        has_schema=lambda code: code in with_schema,
    )


def test_the_surest_intent_that_is_sure_enough_and_has_no_rival_is_accepted() -> None:
    assert judged(proposing(BOOK=0.8, CANCEL=0.6)) == Judgement(
        verdict=Verdict.ACCEPTED, intent="BOOK", confidence=0.8, reason=Reason.CLEAR
    )


def test_an_intent_is_accepted_from_the_least_confidence_on() -> None:
    assert judged(proposing(BOOK=0.55)).verdict is Verdict.ACCEPTED
    assert judged(proposing(BOOK=0.5499)) == Judgement(
        verdict=Verdict.REJECTED, confidence=0.5499, reason=Reason.LOW_CONFIDENCE
    )


def test_an_intent_that_is_not_allowed_is_dropped_before_anything_else_is_looked_at() -> None:
    only_booking = (BOOK,)

    assert judged(proposing(MENU=0.99, BOOK=0.6), intents=only_booking).intent == "BOOK"
    assert judged(proposing(MENU=0.99), intents=only_booking).reason == Reason.NOT_ALLOWED
    assert judged(proposing(), intents=only_booking).reason == Reason.NO_INTENT


def test_w15_an_intent_that_is_not_allowed_is_not_asked_about_either() -> None:
    asks = replace(
        proposing(MENU=0.9, BOOK=0.4),
        intent="MENU",
        confidence=0.9,
        needs_clarification=True,
        question="The menu?",
        options=(Option(code="MENU", label="Menu"), Option(code="BOOK", label="Anything")),
    )

    judgement = judged(asks, intents=(BOOK, CANCEL))

    assert (judgement.verdict, judgement.intent) == (Verdict.UNCLEAR, None)
    assert judgement.options == (Option(code="BOOK", label="Book a table"),)


def test_two_intents_about_as_sure_as_each_other_are_asked_about_by_their_names() -> None:
    assert judged(proposing(BOOK=0.7, CANCEL=0.65)) == Judgement(
        verdict=Verdict.UNCLEAR,
        confidence=0.7,
        question="Did you mean Book a table or Cancel a booking?",
        options=(Option(code="BOOK", label="Book a table"), Option(code="CANCEL", label="Cancel a booking")),
        reason=Reason.COLLISION,
    )


def test_at_most_three_options_are_offered_the_surest_first() -> None:
    judgement = judged(proposing(HOURS=0.6, BOOK=0.61, CANCEL=0.62, MENU=0.59))

    assert [option.code for option in judgement.options] == ["CANCEL", "BOOK", "HOURS"]
    assert judgement.question == "Did you mean Cancel a booking, Book a table or Opening hours?"


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (0.8, 0.7, Verdict.UNCLEAR),  # a gap of exactly 0.1, whatever its last binary digit
        (0.7, 0.6, Verdict.UNCLEAR),
        (0.81, 0.7, Verdict.ACCEPTED),
        (0.4, 0.35, Verdict.UNCLEAR),  # unsure of both, and likely enough to ask
    ],
)
def test_a_gap_up_to_the_threshold_is_a_collision(first: float, second: float, verdict: Verdict) -> None:
    assert judged(proposing(BOOK=first, CANCEL=second)).verdict is verdict


def test_w18_a_rival_below_the_floor_is_no_rival() -> None:
    assert judged(proposing(BOOK=0.4, CANCEL=0.34)).reason == Reason.LOW_CONFIDENCE
    assert judged(proposing(BOOK=0.02, CANCEL=0.01)).reason == Reason.LOW_CONFIDENCE
    assert judged(proposing(BOOK=0.6, CANCEL=0.55), config=replace(CONFIG, collision_floor=0.56)).intent == "BOOK"


def test_while_a_question_is_open_a_collision_leads_to_no_other_one() -> None:
    close = proposing(BOOK=0.7, CANCEL=0.65)

    assert judged(close, clarification=OPEN_QUESTION).intent == "BOOK"


def test_of_equals_the_lower_priority_number_is_first_and_then_the_code() -> None:
    equals = proposing(HOURS=0.9, CANCEL=0.9, MENU=0.9)

    assert judged(equals, clarification=OPEN_QUESTION).intent == "MENU"
    assert [option.code for option in judged(equals).options] == ["MENU", "CANCEL", "HOURS"]


def test_a_confidence_beyond_its_bounds_counts_as_the_bound_and_one_that_is_no_number_not_at_all() -> None:
    assert judged(proposing(BOOK=7.0)).confidence == 1.0
    assert judged(proposing(BOOK=-3.0)).confidence == 0.0
    assert judged(proposing(BOOK=float("nan"), CANCEL=float("inf"), HOURS=0.6)).intent == "HOURS"


def test_an_intent_that_is_named_outright_is_one_more_score() -> None:
    named = replace(proposing(CANCEL=0.2), intent="BOOK", confidence=0.9)
    in_doubt = replace(proposing(CANCEL=0.85), intent="BOOK", confidence=0.9)

    assert judged(named).intent == "BOOK"
    assert judged(in_doubt).reason == Reason.COLLISION


def test_a_confidence_in_no_intent_makes_none_surer() -> None:
    """The original lifts the first score to it."""
    assert judged(replace(proposing(BOOK=0.3), confidence=0.99)).reason == Reason.LOW_CONFIDENCE


def test_a_resolver_that_asks_is_heard_and_sets_no_intent() -> None:
    asks = replace(proposing(BOOK=0.9, CANCEL=0.4), needs_clarification=True, question="For when?")

    assert judged(asks) == Judgement(
        verdict=Verdict.UNCLEAR,
        confidence=0.9,
        question="For when?",
        options=(Option(code="BOOK", label="Book a table"), Option(code="CANCEL", label="Cancel a booking")),
        reason=Reason.RESOLVER_ASKS,
    )


def test_a_resolver_that_asks_about_a_form_that_is_clearly_meant_is_not_heard() -> None:
    asks = replace(proposing(BOOK=0.9, CANCEL=0.4), needs_clarification=True, question="For when?")

    judgement = judged(asks, with_schema=frozenset({"BOOK"}))

    assert (judgement.verdict, judgement.intent) == (Verdict.ACCEPTED, "BOOK")
    assert (judgement.question, judgement.reason) == (None, Reason.CLARIFICATION_SUPPRESSED)


@pytest.mark.parametrize("confidences", [{"BOOK": 0.5}, {"BOOK": 0.9, "CANCEL": 0.85}])
def test_a_form_that_is_not_clearly_meant_suppresses_no_question(confidences: dict[str, float]) -> None:
    asks = replace(proposing(**confidences), needs_clarification=True, question="For when?")

    judgement = judged(asks, with_schema=frozenset({"BOOK", "CANCEL"}))

    assert (judgement.verdict, judgement.question) == (Verdict.UNCLEAR, "For when?")


def test_a_form_with_a_rival_suppresses_no_question_while_another_one_is_open() -> None:
    asks = replace(proposing(BOOK=0.9, CANCEL=0.85), needs_clarification=True, question="Book or cancel?")

    judgement = judged(asks, clarification=OPEN_QUESTION, with_schema=frozenset({"BOOK"}))

    assert (judgement.verdict, judgement.question) == (Verdict.UNCLEAR, "Book or cancel?")


def test_a_resolver_that_asks_without_a_question_is_given_one_from_its_options() -> None:
    asks = replace(proposing(BOOK=0.5), needs_clarification=True)

    assert judged(asks).question == "Did you mean Book a table?"
    assert judged(replace(asks, scores=())).verdict is Verdict.REJECTED


def test_a_state_is_believed_only_if_the_intent_has_it() -> None:
    def told(state: str) -> str | None:
        scores = (Score(intent="BOOK", confidence=0.9, state=state),)
        return judged(Resolution(source=ResolvedBy.CLASSIFIER, scores=scores)).state

    assert (told("CONFIRM"), told("INTENT_COLLISION")) == ("CONFIRM", None)


@pytest.mark.parametrize("states", [("CONFIRM", "START"), ("START", "CONFIRM"), ("CONFIRM", None), (None, "CONFIRM")])
def test_an_intent_that_is_scored_twice_has_the_same_state_in_either_order(states: tuple[str | None, ...]) -> None:
    scores = tuple(Score(intent="BOOK", confidence=0.9, state=state) for state in states)

    assert judged(Resolution(source=ResolvedBy.AGENT, scores=scores)).state == "CONFIRM"


CODES = st.sampled_from(["BOOK", "CANCEL", "HOURS", "MENU", "ADMIN", "", "book"])
SCORES = st.lists(
    st.builds(
        Score,
        intent=CODES,
        confidence=st.floats() | st.sampled_from([0.34, 0.35, 0.5, 0.55, 0.65, 1.0]),
        state=st.sampled_from([None, "START", "CONFIRM", "GONE"]),
    ),
    max_size=8,
)
RESOLUTIONS = st.builds(
    Resolution,
    source=st.sampled_from(ResolvedBy),
    scores=SCORES.map(tuple),
    intent=st.none() | CODES,
    confidence=st.floats(0, 1),
    needs_clarification=st.booleans(),
    question=st.none() | st.just("Which?"),
    options=st.lists(st.builds(Option, code=CODES, label=st.just("x")), max_size=5).map(tuple),
)
ALLOWED = st.lists(st.sampled_from(INTENTS), unique=True).map(tuple)
OPEN = st.none() | st.just(OPEN_QUESTION)
FORMS = st.frozensets(st.sampled_from(["BOOK", "CANCEL", "HOURS", "MENU"]))


@given(resolution=RESOLUTIONS, allowed=ALLOWED, clarification=OPEN, forms=FORMS)
def test_no_intent_that_is_not_allowed_is_ever_accepted_or_offered(
    resolution: Resolution, allowed: tuple[Intent, ...], clarification: Clarification | None, forms: frozenset[str]
) -> None:
    judgement = judged(resolution, intents=allowed, clarification=clarification, with_schema=forms)

    codes = {intent.code for intent in allowed}
    assert judgement.intent is None or judgement.intent in codes
    assert {option.code for option in judgement.options} <= codes


@given(resolution=RESOLUTIONS, clarification=OPEN, forms=FORMS)
def test_what_is_accepted_is_sure_enough_and_what_is_unclear_asks_something(
    resolution: Resolution, clarification: Clarification | None, forms: frozenset[str]
) -> None:
    judgement = judged(resolution, clarification=clarification, with_schema=forms)

    assert 0.0 <= judgement.confidence <= 1.0
    assert (judgement.intent is not None) == (judgement.verdict is Verdict.ACCEPTED)
    assert (judgement.question is not None) == (judgement.verdict is Verdict.UNCLEAR)
    assert judgement.verdict is not Verdict.ACCEPTED or judgement.confidence >= CONFIG.min_confidence


@given(resolution=RESOLUTIONS, clarification=OPEN, forms=FORMS, data=st.data())
def test_the_order_of_scores_and_of_intents_does_not_count(
    resolution: Resolution, clarification: Clarification | None, forms: frozenset[str], data: st.DataObject
) -> None:
    shuffled = replace(resolution, scores=tuple(data.draw(st.permutations(resolution.scores))))
    intents = tuple(data.draw(st.permutations(INTENTS)))

    assert judged(shuffled, intents=intents, clarification=clarification, with_schema=forms) == judged(
        resolution, clarification=clarification, with_schema=forms
    )


@given(resolution=RESOLUTIONS, clarification=OPEN, forms=FORMS)
def test_the_same_scores_of_either_resolver_give_the_same_judgement(
    resolution: Resolution, clarification: Clarification | None, forms: frozenset[str]
) -> None:
    first, second = (
        judged(replace(resolution, source=source), clarification=clarification, with_schema=forms)
        for source in ResolvedBy
    )

    assert first == second


def test_a_reset_that_is_only_likely_is_asked_about() -> None:
    resetting = replace(CONFIG, reset_intent_codes=("CANCEL",))

    likely = judged(proposing(CANCEL=0.89), config=resetting)
    sure = judged(proposing(CANCEL=0.9), config=resetting)

    assert (likely.verdict, likely.reason) == (Verdict.UNCLEAR, Reason.RESET_UNSURE)
    assert likely.question == "Did you mean Cancel a booking?"
    assert likely.options == (Option(code="CANCEL", label="Cancel a booking"),)
    assert (sure.verdict, sure.intent) == (Verdict.ACCEPTED, "CANCEL")
