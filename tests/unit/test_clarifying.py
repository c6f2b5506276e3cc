"""A question back to the user, and what counts as an answer to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.intent.clarifying import NEITHER, again, answered, opened
from turnkeeper.model.dialogue import Clarification, Option
from turnkeeper.model.pack import Intent
from turnkeeper.model.resolution import Judgement, Verdict

BOOK = Option(code="BOOK_TABLE", label="Book a table")
CANCEL = Option(code="CANCEL_BOOKING", label="Cancel a booking")
HOURS = Option(code="OPENING_HOURS", label="Opening hours")
INTENTS = tuple(Intent(code=option.code, name=option.label) for option in (BOOK, CANCEL, HOURS))

PIECES = [*"123#. ", "the ", "first", "one ", "table", "booking ", "cancel ", "a ", "no "]


def asked_about(*options: Option, attempts: int = 1, turn: int = 4) -> Clarification:
    return Clarification(
        question="Which one?", reason="collision", options=options, turn=turn, attempts=attempts, text="my table"
    )


def test_what_was_unclear_is_asked_with_its_options_and_the_words_that_raised_it() -> None:
    unclear = Judgement(
        verdict=Verdict.UNCLEAR, question="Did you mean this or that?", options=(BOOK, CANCEL), reason="collision"
    )

    asked = opened(unclear, turn=7, text="something with my table")

    assert asked == Clarification(
        question="Did you mean this or that?",
        reason="collision",
        options=(BOOK, CANCEL),
        turn=7,
        attempts=1,
        text="something with my table",
    )


def test_a_judgement_that_asks_nothing_opens_no_question() -> None:
    with pytest.raises(ValueError, match="asks something"):
        opened(Judgement(verdict=Verdict.REJECTED), turn=1, text="hm")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CANCEL_BOOKING", "CANCEL_BOOKING"),
        (" cancel_booking. ", "CANCEL_BOOKING"),
        ("1", "BOOK_TABLE"),
        ("2", "CANCEL_BOOKING"),
        ("2.", "CANCEL_BOOKING"),
        ("(3)", "OPENING_HOURS"),
        ("#1", "BOOK_TABLE"),
        ("option 2", "CANCEL_BOOKING"),
        ("Number two", "CANCEL_BOOKING"),
        ("no. 3", "OPENING_HOURS"),
        ("one", "BOOK_TABLE"),
        ("first", "BOOK_TABLE"),
        ("the second one", "CANCEL_BOOKING"),
        ("The 3rd option, please", "OPENING_HOURS"),
        ("I mean the first", "BOOK_TABLE"),
        ("i'll take the second one please", "CANCEL_BOOKING"),
        ("last", "OPENING_HOURS"),
        ("the last one", "OPENING_HOURS"),
        ("book a table", "BOOK_TABLE"),
        ("OPENING HOURS!", "OPENING_HOURS"),
        ("the table", "BOOK_TABLE"),
        ("hours", "OPENING_HOURS"),
        ("cancel", "CANCEL_BOOKING"),
        ("cancelling a booking", "CANCEL_BOOKING"),
        ("openning huors", "OPENING_HOURS"),
        ("neither", NEITHER),
        ("None of these", NEITHER),
        ("no, none of them", NEITHER),
        ("neither of the two", NEITHER),
        ("something else", NEITHER),
        ("No.", NEITHER),
    ],
)
def test_an_answer_is_a_code_a_place_a_label_or_none_of_these(text: str, code: str) -> None:
    assert answered(asked_about(BOOK, CANCEL, HOURS), text, INTENTS) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "4",
        "22",
        "the fourth one",
        "2 people at eight",
        "no one",
        "a",
        "the",
        "please",
        "booking",  # as like one as the other
        "not the table",
        "don't cancel",
        "what do you have on the menu?",
        "I would rather know whether you have a table outside",
        "somebody told me that one could book a table here for a whole company",
        "neither, I want to order food",
        "the former",  # of three
        "both",
    ],
)
def test_what_is_no_answer_is_left_to_the_resolver(text: str) -> None:
    assert answered(asked_about(BOOK, CANCEL, HOURS), text, INTENTS) is None


def test_a_code_is_an_answer_also_where_it_is_nothing_like_its_label() -> None:
    asked = asked_about(Option(code="INT_17", label="Book a table"), CANCEL)

    assert answered(asked, "int_17", (Intent(code="INT_17", name="Book a table"),)) == "INT_17"


def test_of_two_options_one_is_the_former_and_one_the_latter() -> None:
    asked = asked_about(BOOK, CANCEL)

    assert [answered(asked, text, INTENTS) for text in ("the former", "latter", "last")] == [
        "BOOK_TABLE",
        "CANCEL_BOOKING",
        "CANCEL_BOOKING",
    ]


def test_yes_answers_a_question_about_one_option_only() -> None:
    assert answered(asked_about(HOURS), "Yes please", INTENTS) == "OPENING_HOURS"
    assert answered(asked_about(BOOK, CANCEL), "Yes please", INTENTS) is None


def test_an_option_that_may_no_longer_be_chosen_keeps_its_place_and_is_not_chosen() -> None:
    asked = asked_about(BOOK, CANCEL, HOURS)
    without_cancelling = (INTENTS[0], INTENTS[2])

    chosen = [answered(asked, text, without_cancelling) for text in ("1", "2", "3", "CANCEL_BOOKING", "cancel")]

    assert chosen == ["BOOK_TABLE", None, "OPENING_HOURS", None, None]


def test_a_question_without_options_has_no_option_for_an_answer() -> None:
    assert [answered(asked_about(), text, INTENTS) for text in ("1", "last", "yes", "table", "no")] == [
        None,
        None,
        None,
        None,
        NEITHER,
    ]


def test_a_question_is_asked_again_until_it_was_asked_often_enough() -> None:
    asked = asked_about(BOOK, CANCEL, turn=4)

    second = again(asked, attempts=2)

    assert second is not None
    assert (second.attempts, second.turn, second.options) == (2, 4, asked.options)
    assert again(second, attempts=2) is None
    assert again(asked, attempts=1) is None


def test_a_question_expires_counted_from_the_turn_in_which_it_was_asked_first() -> None:
    asked = asked_about(BOOK, CANCEL, turn=4)
    second = again(asked, attempts=2)

    assert second is not None
    assert [each.is_over(turn, turns=3) for each in (asked, second) for turn in (7, 8)] == [False, True] * 2


@given(
    text=st.text() | st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    allowed=st.sets(st.sampled_from(INTENTS)),
)
def test_whatever_is_answered_only_an_option_that_is_allowed_is_chosen(text: str, allowed: set[Intent]) -> None:
    chosen = answered(asked_about(BOOK, CANCEL), text, tuple(allowed))

    assert chosen in {None, NEITHER, *({intent.code for intent in allowed} & {"BOOK_TABLE", "CANCEL_BOOKING"})}


def test_where_there_is_one_option_only_a_yes_or_its_name_is_an_answer() -> None:
    asked = asked_about(CANCEL)

    assert answered(asked, "cancel a bookin", INTENTS) is None
    assert answered(asked, "yes", INTENTS) == answered(asked, "Cancel a booking", INTENTS) == "CANCEL_BOOKING"
