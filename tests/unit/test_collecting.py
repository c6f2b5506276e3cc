"""Answers go into a form one by one, each judged before it is kept."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.forms import BOOKING, FILLED, FORMS
from turnkeeper.intent.collecting import CLEARED, Answer, carried_over, progress, put, seeded


def a_form(required: tuple[str, ...] = ("field",), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def test_an_empty_form_misses_all_that_is_required_in_the_order_of_its_schema() -> None:
    state = progress(BOOKING, {})

    assert state.missing == ("date", "time", "party_size", "guest.name", "guest.phone")
    assert not state.complete
    assert not state.has_any


def test_a_form_with_every_required_answer_is_complete() -> None:
    state = progress(BOOKING, FILLED)

    assert state.complete
    assert state.has_any
    assert state.fields == FILLED


def test_zero_and_false_are_answers() -> None:
    schema = a_form(("count", "sure"), count={"type": "integer"}, sure={"type": "boolean"})

    assert progress(schema, {"count": 0, "sure": False}).complete


def test_an_optional_object_is_asked_for_only_when_something_of_it_was_given() -> None:
    guest = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name"],
    }
    schema = a_form((), guest=guest)

    assert progress(schema, {}).complete
    assert progress(schema, {"guest": {"age": 40}}).missing == ("guest.name",)


@pytest.mark.parametrize("blank", [None, "", "  ", [], {}])
def test_a_blank_optional_answer_is_none_and_is_not_missing(blank: Any) -> None:
    state = progress(BOOKING, {**FILLED, "notes": blank, "seating": blank})

    assert state.complete
    assert state.fields == FILLED


def test_an_optional_object_that_holds_only_a_bad_answer_is_missing() -> None:
    guest = {"type": "object", "properties": {"age": {"type": "integer"}}}

    assert progress(a_form((), guest=guest), {"guest": {"age": "old"}}).missing == ("guest.age",)
    assert progress(a_form((), guest=guest), {"guest": "old"}).missing == ("guest.age",)


def test_an_optional_answer_that_is_not_valid_is_missing() -> None:
    state = progress(BOOKING, {**FILLED, "seating": "roof"})

    assert state.missing == ("seating",)
    assert state.options == {"seating": ("inside", "terrace", "bar")}
    assert [fault.field for fault in state.faults] == ["seating"]
    assert "seating" not in state.fields


def test_names_that_the_form_does_not_have_count_for_nothing() -> None:
    state = progress(BOOKING, {"approval": True, "date": "2026-12-24"})

    assert state.fields == {"date": "2026-12-24"}


def test_a_list_that_is_too_short_is_missing() -> None:
    schema = a_form(tags={"type": "array", "items": {"type": "string"}, "minItems": 2}, required=("tags",))

    assert progress(schema, {"tags": ["one"]}).missing == ("tags",)
    assert progress(schema, {"tags": ["one", "two"]}).complete


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "format": "date"}, "2026-02-30"),
        ({"type": "string", "format": "time"}, "19:30"),
        ({"type": "string", "format": "clock-time"}, "24:00"),
        ({"type": "string", "format": "date-time"}, "2026-12-24 19:30"),
        ({"type": "string", "format": "email"}, "ann at example"),
        ({"type": "string", "format": "uri"}, "example"),
        ({"type": "string", "format": "phone"}, "030 123456"),
        ({"type": "string", "format": "phone"}, "+000000000"),
        ({"type": "string", "format": "phone"}, "+49 30 1234567"),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "abc"),
        ({"type": "string", "maxLength": 3}, "long"),
        ({"type": "integer", "minimum": 1}, 0),
        ({"type": "integer"}, True),
        ({"type": "integer"}, 1.5),
        ({"const": "agreed"}, "no"),
        ({"type": "array", "items": {"type": "integer"}}, ["one"]),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, 1]),
    ],
)
def test_a_value_that_breaks_its_schema_is_missing(schema: dict[str, Any], value: Any) -> None:
    state = progress(a_form(field=schema), {"field": value})

    assert state.missing == ("field",)
    assert state.fields == {}


# --- W17: complete and missing must never disagree


def test_w17_a_required_text_that_holds_a_number_is_missing() -> None:
    state = progress(a_form(field={"type": "string"}), {"field": 5})

    assert state.missing == ("field",)
    assert not state.complete


def test_w17_a_required_list_that_is_empty_is_missing_also_without_a_least_length() -> None:
    state = progress(a_form(tags={"type": "array", "items": {"type": "string"}}, required=("tags",)), {"tags": []})

    assert state.missing == ("tags",)
    assert not state.complete


def test_w17_a_blank_text_is_missing_also_where_null_is_allowed() -> None:
    schema = a_form(field={"type": ["string", "null"]})

    assert progress(schema, {"field": "  "}).missing == ("field",)
    assert progress(schema, {}).missing == ("field",)
    assert progress(schema, {"field": None}).complete


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": {"a": {"type": "txt"}}}])
def test_w17_a_schema_that_cannot_be_used_holds_no_session_but_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a form cannot be made of this schema"):
        progress(schema, {})


def test_w17_an_answer_can_be_taken_back() -> None:
    result = put(BOOKING, FILLED, [Answer("guest.phone", CLEARED)])

    assert result.cleared == ("guest.phone",)
    assert progress(BOOKING, result.fields).missing == ("guest.phone",)


def test_w14_a_name_that_the_form_does_not_have_is_refused() -> None:
    result = put(BOOKING, {}, [Answer("approval.granted", True), Answer("intent_lock", {}), Answer("party_size", 2)])

    assert result.fields == {"party_size": 2}
    assert [fault.field for fault in result.refused] == ["approval.granted", "intent_lock"]


def test_w3_only_valid_answers_that_are_named_come_along_to_another_form() -> None:
    trip = FORMS["trip"]

    carried = carried_over(
        trip, {"adults": 40, "to": "Rome", "from": "Bonn", "date": "2026-12-24"}, ["adults", "to", "date"]
    )

    assert carried == {"to": "Rome"}


# --- putting answers in


@pytest.mark.parametrize(
    ("schema", "given", "kept"),
    [
        ({"type": "integer"}, "4", 4),
        ({"type": "integer"}, "four", 4),
        ({"type": "integer"}, "twenty-one", 21),
        ({"type": "integer"}, 4.0, 4),
        ({"type": "number"}, "1,200.50", 1200.5),
        ({"type": "number"}, "1.234,50 €", 1234.5),
        ({"type": "boolean"}, "yes", True),
        ({"type": "boolean"}, "No", False),
        ({"type": "string"}, 10115, "10115"),
        ({"type": "string"}, "  Ann  ", "Ann"),
        ({"enum": ["terrace", "bar"]}, "TERRACE", "terrace"),
        ({"enum": ["terrace", "bar"]}, "terrase", "terrace"),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["b1"], "x-labels": {"b1": ["Window seat", "at the window"]}}, "at the window", "b1"),
        ({"type": "string", "format": "clock-time"}, "7:05:00", "07:05"),
        ({"type": "string", "format": "phone"}, "+49 30 1234567", "+49301234567"),
        ({"type": "array", "items": {"enum": ["red", "blue"]}}, "Red and blue", ["red", "blue"]),
        ({"type": "array", "items": {"type": "integer"}}, 3, [3]),
        ({"type": ["string", "null"]}, None, None),
    ],
)
def test_a_value_is_kept_in_the_type_of_its_field(schema: dict[str, Any], given: Any, kept: Any) -> None:
    result = put(a_form(field=schema), {}, [Answer("field", given)])

    assert result.fields == {"field": kept}
    assert result.refused == ()


def test_one_bad_answer_harms_no_other() -> None:
    result = put(BOOKING, {}, [Answer("party_size", 99), Answer("date", "2026-12-24"), Answer("guest.name", "Ann")])

    assert result.fields == {"date": "2026-12-24", "guest": {"name": "Ann"}}
    assert result.kept == ("date", "guest.name")
    assert [(fault.field, fault.rule) for fault in result.refused] == [("party_size", "maximum")]


def test_a_bad_answer_leaves_the_good_one_before_it() -> None:
    result = put(BOOKING, FILLED, [Answer("party_size", 99)])

    assert result.fields == FILLED


def test_what_is_wrong_is_said_without_repeating_the_answer() -> None:
    refused = put(BOOKING, {}, [Answer("guest.email", "my secret")]).refused

    assert refused[0].message == "The e-mail address could not be read."


def test_an_object_is_answered_field_by_field() -> None:
    result = put(BOOKING, FILLED, [Answer("guest", {"email": "ann@example.com", "phone": "none", "age": 3})])

    assert result.fields["guest"] == {"name": "Ann", "phone": "+49301234567", "email": "ann@example.com"}
    assert [fault.field for fault in result.refused] == ["guest.phone", "guest.age"]


def test_of_two_answers_to_one_field_the_last_counts() -> None:
    result = put(BOOKING, {}, [Answer("party_size", 2), Answer("party_size", 3)])

    assert result.fields == {"party_size": 3}
    assert result.kept == ("party_size",)


def test_an_answer_that_is_taken_back_at_once_was_not_kept() -> None:
    result = put(BOOKING, {}, [Answer("party_size", 2), Answer("party_size", CLEARED)])

    assert (result.fields, result.kept, result.cleared) == ({}, (), ("party_size",))


def test_a_typo_between_two_choices_is_neither() -> None:
    schema = a_form(field={"enum": ["paris north", "paris south"]})

    assert put(schema, {}, [Answer("field", "paris norh")]).fields == {"field": "paris north"}
    assert put(schema, {}, [Answer("field", "paris outh")]).fields == {"field": "paris south"}
    assert put(schema, {}, [Answer("field", "paris nouth")]).refused[0].rule == "enum"


def test_an_object_that_is_taken_back_is_gone() -> None:
    result = put(BOOKING, FILLED, [Answer("guest", CLEARED)])

    assert "guest" not in result.fields
    assert result.cleared == ("guest.name", "guest.phone")


def test_params_of_the_same_name_fill_what_is_empty_and_overwrite_nothing() -> None:
    params = {
        "party_size": 8,
        "date": "2026-12-24",
        "guest": {"name": "Bob", "email": "bob@example.com"},
        "city": "Rome",
    }

    fields = seeded(BOOKING, {"party_size": 2, "guest": {"name": "Ann"}}, params)

    assert fields == {"party_size": 2, "date": "2026-12-24", "guest": {"name": "Ann", "email": "bob@example.com"}}


def test_a_param_that_is_no_valid_answer_is_left_out() -> None:
    assert seeded(BOOKING, {}, {"party_size": 99, "date": "soon", "time": None}) == {}


def test_a_schema_with_references_reads_like_one_without() -> None:
    person = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    schema = {**a_form(field={"$ref": "#/$defs/person", "title": "guest"}), "$defs": {"person": person}}

    assert progress(schema, {}).missing == ("field.name",)
    assert progress(schema, {"field": {"name": "Ann"}}).complete
