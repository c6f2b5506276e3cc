"""The keeper asks by itself, one question at a time, and fills exact responses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.unit.forms import BOOKING, FILLED, FORMS, forms_with_values
from turnkeeper.intent.asking import (
    Asked,
    confirmation_for,
    dropped,
    question_about,
    question_for,
    waiting,
    what_to_change,
)
from turnkeeper.intent.collecting import Answer, progress, put
from turnkeeper.intent.rendering import render, variables_of


def ask(
    schema: dict[str, Any],
    fields: dict[str, Any],
    *answers: Answer,
    just_started: bool = False,
    was_understood: bool = True,
    asks_back: bool = False,
    misses: int = 0,
) -> Asked:
    result = put(schema, fields, answers)
    return question_for(
        schema,
        progress(schema, result.fields),
        refused=result.refused,
        intent_name="Book a table",
        just_started=just_started,
        was_understood=was_understood,
        asks_back=asks_back,
        misses=misses,
    )


def a_form(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def test_the_first_missing_field_is_asked_for() -> None:
    assert ask(BOOKING, {}) == Asked(text="What is the date?", field="date")
    assert ask(BOOKING, {"date": "2026-12-24"}).field == "time"


def test_a_form_that_begins_says_what_it_is_for() -> None:
    assert ask(BOOKING, {}, just_started=True).text == "Book a table: let's begin. What is the date?"


def test_what_is_asked_again_is_asked_in_other_words_and_with_help() -> None:
    again = ask(BOOKING, {}, was_understood=False).text

    assert ask(BOOKING, {}).text not in again
    assert again.endswith("Write it like 2026-12-24, or say tomorrow or Friday.")


def test_a_question_is_not_called_an_answer() -> None:
    asked = ask(BOOKING, {}, was_understood=False, asks_back=True).text

    assert asked.startswith("Let me finish this first. ")


def test_after_two_misses_a_way_out_is_told() -> None:
    way_out = 'Say "reset" to start over, or "switch to ..." for something else.'

    assert way_out not in ask(BOOKING, {}, was_understood=False, misses=1).text
    assert ask(BOOKING, {}, was_understood=False, misses=2).text.endswith(way_out)


def test_a_form_that_is_dropped_or_waits_is_named() -> None:
    assert dropped("Book a table") == "All right, I have dropped that: Book a table."
    assert waiting("Book a table") == '"Book a table" waits; say "switch to Book a table" to go on with it.'


def test_what_is_wrong_is_told_in_words_that_fit_one_thing_and_many() -> None:
    schema = a_form(bikes={"type": "integer", "maximum": 8})

    assert ask(schema, {}, Answer("bikes", 9)).text.startswith("Please give at most 8 for the bikes.")


def test_a_list_is_summed_up_with_an_and() -> None:
    schema = a_form(meals={"type": "array", "items": {"type": "string"}})

    for meals, said in ((["lunch"], "lunch"), (["tea", "lunch", "dinner"], "tea, lunch and dinner")):
        assert f"meals {said}." in confirmation_for(schema, {"meals": meals}, intent_name="x")


def test_two_fields_in_a_row_are_not_asked_for_in_the_same_words() -> None:
    first, second = ask(BOOKING, {}), ask(BOOKING, {"date": "2026-12-24"})

    assert first.text.replace("date", "time") != second.text


def test_a_refused_answer_is_asked_for_again_with_what_was_wrong() -> None:
    asked = ask(BOOKING, {}, Answer("party_size", 99))

    assert asked.field == "party_size"
    assert asked.text.startswith("Please give at most 20 for the number of guests.")


def test_an_optional_answer_that_was_refused_is_named_and_the_form_goes_on() -> None:
    asked = ask(BOOKING, {"date": "2026-12-24"}, Answer("seating", "roof"))

    assert asked.field == "time"
    assert asked.text.startswith("Please choose one of inside, Terrace, bar for the seating.")


def test_a_name_that_only_a_model_made_up_is_not_spoken_of() -> None:
    assert ask(BOOKING, {}, Answer("approval", True)).text == "What is the date?"


def test_choices_are_listed_and_a_long_list_is_cut() -> None:
    schema = a_form(size={"enum": ["small", "large"]})
    long = a_form(size={"enum": [f"size {number}" for number in range(20)]})

    assert ask(schema, {}).text == "Which size: small or large?"
    assert "and 13 more" in ask(long, {}).text


def test_a_title_or_description_that_is_a_question_is_asked_as_it_stands() -> None:
    schema = a_form(date={"type": "string", "format": "date", "description": "When would you like to come?"})

    assert ask(schema, {}).text == "When would you like to come?"


def test_an_example_of_the_schema_helps() -> None:
    schema = a_form(code={"type": "string", "pattern": "^[A-Z]{2}$", "examples": ["AB"]})

    assert ask(schema, {}, Answer("code", "x")).text.endswith("For example: AB.")


def test_the_summary_names_every_answer_as_people_say_it() -> None:
    fields = {**FILLED, "seating": "terrace", "high_chair": False}

    assert confirmation_for(BOOKING, fields, intent_name="Book a table") == (
        "Book a table: date 2026-11-13, time 19:00, number of guests 4, name Ann, phone number +49301234567, "
        "seating Terrace, high chair no. Shall I go ahead?"
    )


def test_a_summary_begins_with_what_was_not_taken() -> None:
    refused = put(BOOKING, FILLED, [Answer("party_size", 99), Answer("made_up", 1)]).refused

    text = confirmation_for(BOOKING, FILLED, intent_name="Book a table", refused=refused)

    assert text.startswith("Please give at most 20 for the number of guests. Book a table: date 2026-11-13")


def test_titles_are_written_as_they_stand_inside_a_sentence() -> None:
    schema = a_form(date={"type": "string", "title": "Day"}, vat={"type": "string", "title": "VAT number"})

    assert ask(schema, {}).text == "What is the day?"
    assert ask(schema, {"date": "Friday"}).text == "Please tell me the VAT number."


def test_after_a_no_it_is_asked_which_answer_to_change() -> None:
    text = what_to_change(FORMS["order"], {"items": ["pizza"], "delivery": True}, intent_name="Order")

    assert text == "What would you like to change: dishes or delivery?"


def test_a_field_that_is_to_be_changed_is_asked_for() -> None:
    assert question_about(BOOKING, "date") == Asked(text="What is the date?", field="date")


def test_what_a_user_said_is_not_read_as_a_name_to_fill_in() -> None:
    fields = {**FILLED, "guest": {**FILLED["guest"], "name": "{intent}"}}  # type: ignore[dict-item]

    assert "name {intent}" in confirmation_for(BOOKING, fields, intent_name="Book a table")


@given(forms_with_values(), st.booleans(), st.booleans())
def test_whatever_is_missing_can_be_asked_for(
    form: tuple[dict[str, Any], dict[str, Any]], just_started: bool, was_understood: bool
) -> None:
    schema, fields = form
    state = progress(schema, fields)
    assume(state.missing)

    asked = question_for(schema, state, intent_name="x", just_started=just_started, was_understood=was_understood)

    assert asked.field == state.missing[0]
    assert all(question_about(schema, missing).text for missing in state.missing)


@given(forms_with_values())
def test_any_answers_can_be_confirmed(form: tuple[dict[str, Any], dict[str, Any]]) -> None:
    schema, fields = form

    assert confirmation_for(schema, fields, intent_name="x")
    assert what_to_change(schema, fields, intent_name="x")


# --- exact responses


def test_names_are_filled_with_fields_and_variables() -> None:
    text = "{intent}: {guest.name}, {date}, {params.city}, missing {missing}{{x}}"
    variables = {"intent": "Book a table", "params": {"city": "Rome"}, "missing": ["time", "party_size"]}

    rendered = render(text, fields=FILLED, variables=variables)

    assert rendered == "Book a table: Ann, 2026-11-13, Rome, missing time, party_size{x}"


def test_what_is_not_known_leaves_nothing_behind() -> None:
    assert render("[{notes}{guest.age}{date.year}]", fields=FILLED, variables={}) == "[]"


@pytest.mark.parametrize("text", ["{date.__class__}", "{guest.name.upper}", "{0}", "{guest.0}"])
def test_a_response_cannot_reach_into_a_value(text: str) -> None:
    assert render(text, fields=FILLED, variables={}) == ""


@pytest.mark.parametrize(
    "text", ["{date[0]}", "{date!r}", "{date:>10}", "{}", "{ }", "{guest.name.upper()}", "{date", "}"]
)
def test_braces_around_what_is_no_name_stay_as_they_are(text: str) -> None:
    assert render(text, fields=FILLED, variables={}) == text


def test_what_is_filled_in_is_not_filled_again() -> None:
    assert render("{notes}", fields={"notes": "{date}", "date": "x"}, variables={}) == "{date}"


def test_the_names_of_a_response_can_be_listed_with_their_places() -> None:
    named = [(each.path, each.at) for each in variables_of("Hi {guest.name}, {{no}} {date}")]

    assert named == [(("guest", "name"), 3), (("date",), 24)]


@pytest.mark.parametrize(
    ("text", "at"), [("a {date", 2), ("date} b", 4), ("{date!r}", 0), ("{}", 0), ("x {a b}", 2), ("{{date}", 6)]
)
def test_braces_that_are_wrong_have_no_name_but_a_place(text: str, at: int) -> None:
    (wrong,) = variables_of(text)

    assert (wrong.path, wrong.at) == ((), at)


@given(st.text(alphabet="{}ab.[]!: "))
def test_any_text_can_be_rendered(text: str) -> None:
    render(text, fields={"a": 1}, variables={"b": [1]})
