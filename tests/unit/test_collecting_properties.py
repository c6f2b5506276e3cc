"""What holds for every form and every answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.scale import rounds
from tests.unit.forms import ANY_VALUES, NAMES, forms_with_values
from turnkeeper.intent.collecting import CLEARED, Answer, carried_over, progress, put, seeded
from turnkeeper.intent.form import form_of
from turnkeeper.intent.formats import OWN_FORMATS
from turnkeeper.intent.rendering import value_at
from turnkeeper.intent.schemas import schema_faults

DOTTED = st.sampled_from([*NAMES, *(f"{a}.{b}" for a in NAMES for b in NAMES), "unheard", "first.unheard"])
ANSWERS = st.lists(st.builds(Answer, DOTTED, ANY_VALUES | st.just(CLEARED)), max_size=6)
FORMS = forms_with_values()


def without_blanks(schema: Mapping[str, Any], value: Any) -> Any:
    """What a validator is to see: no blanks, and no names that the form does not have."""
    if schema["type"] not in ("object", ["object", "null"]) or not isinstance(value, dict):
        return value
    cleaned = {
        name: without_blanks(child, value[name]) for name, child in schema["properties"].items() if name in value
    }
    return {name: each for name, each in cleaned.items() if not is_blank(schema["properties"][name], each)}


def is_blank(schema: Mapping[str, Any], value: Any) -> bool:
    if value is None:
        return "null" not in schema["type"]
    return (isinstance(value, str) and not value.strip()) or value in ([], {})


def is_valid(schema: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    validator = jsonschema_rs.Draft202012Validator(dict(schema), validate_formats=True, formats=dict(OWN_FORMATS))
    return validator.is_valid(without_blanks(schema, dict(fields)))


@given(FORMS)
def test_every_form_of_these_tests_can_be_used(form: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert schema_faults(form[0]) == ()


@settings(max_examples=rounds(200, 2000))
@given(FORMS)
def test_a_form_is_complete_exactly_when_a_validator_accepts_all_that_it_holds(
    form: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    schema, fields = form

    state = progress(schema, fields)

    assert state.complete == is_valid(schema, fields)


@given(FORMS)
def test_a_form_is_complete_exactly_when_nothing_is_missing(form: tuple[dict[str, Any], dict[str, Any]]) -> None:
    schema, fields = form

    state = progress(schema, fields)

    assert state.complete == (state.missing == ())
    assert {fault.field for fault in state.faults if form_of(schema).field(fault.field)} <= set(state.missing)


@given(FORMS)
def test_what_is_missing_can_be_asked_for_and_comes_in_the_order_of_the_form(
    form: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    schema, fields = form
    names = [field.name for field in form_of(schema).fields]

    missing = progress(schema, fields).missing

    assert list(missing) == [name for name in names if name in missing]


@given(FORMS)
def test_progress_holds_nothing_but_valid_answers(form: tuple[dict[str, Any], dict[str, Any]]) -> None:
    schema, fields = form

    held = progress(schema, fields).fields

    assert progress(schema, held).faults == ()
    assert progress(schema, held).fields == held


@given(FORMS, ANSWERS)
def test_an_answer_that_is_not_valid_is_never_kept(
    form: tuple[dict[str, Any], dict[str, Any]], answers: list[Answer]
) -> None:
    schema = form[0]

    result = put(schema, {}, answers)

    assert progress(schema, result.fields).faults == ()
    assert set(result.kept) <= {field.name for field in form_of(schema).fields}
    assert all(
        value_at(progress(schema, result.fields).fields, name) == value_at(result.fields, name) for name in result.kept
    )


@given(FORMS, ANSWERS)
def test_no_answer_touches_a_field_that_it_does_not_name(
    form: tuple[dict[str, Any], dict[str, Any]], answers: list[Answer]
) -> None:
    schema, fields = form
    held = progress(schema, fields).fields
    named = tuple(answer.field for answer in answers)

    after = put(schema, held, answers).fields

    for field in form_of(schema).fields:
        if not any(field.name == name or field.name.startswith(f"{name}.") for name in named):
            assert value_at(after, field.name) == value_at(held, field.name)


@given(FORMS, ANSWERS)
def test_what_was_given_is_not_changed_in_place(
    form: tuple[dict[str, Any], dict[str, Any]], answers: list[Answer]
) -> None:
    schema, fields = form
    before = repr(fields)

    put(schema, fields, answers)
    progress(schema, fields)

    assert repr(fields) == before


@given(FORMS, st.data())
def test_a_required_field_that_is_taken_back_is_missing_again(
    form: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    schema, fields = form
    state = progress(schema, fields)
    required = [field.name for field in form_of(schema).root.wanted if value_at(state.fields, field.name) is not None]
    assume(required)
    name = data.draw(st.sampled_from(required))

    result = put(schema, state.fields, [Answer(name, CLEARED)])

    assert result.cleared == (name,)
    assert name in progress(schema, result.fields).missing


@given(FORMS, st.dictionaries(DOTTED, ANY_VALUES, max_size=5))
def test_params_fill_empty_fields_only_and_only_with_valid_values(
    form: tuple[dict[str, Any], dict[str, Any]], params: dict[str, Any]
) -> None:
    schema, fields = form
    held = progress(schema, fields).fields

    after = progress(schema, seeded(schema, held, params))

    assert after.faults == ()
    for field in form_of(schema).fields:
        before = value_at(held, field.name)
        assert before is None or value_at(after.fields, field.name) == before


@given(FORMS, FORMS, st.lists(DOTTED, max_size=4))
def test_only_what_is_named_and_valid_in_the_new_form_is_carried_over(
    old: tuple[dict[str, Any], dict[str, Any]], new: tuple[dict[str, Any], dict[str, Any]], names: list[str]
) -> None:
    carried = carried_over(new[0], old[1], names)

    state = progress(new[0], carried)
    assert state.faults == ()
    assert state.fields == carried
    assert all(any(name.split(".")[0] == top for name in names) for top in carried)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", "\x00", object(), {1: 2}, b"x"])
def test_what_no_store_can_keep_is_no_answer(value: Any) -> None:
    schema = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "number": {"type": "number"},
            "many": {"type": "array", "items": {"type": "string"}},
        },
    }

    result = put(schema, {}, [Answer(name, value) for name in ("text", "number", "many")])

    assert result.fields == {}


def test_a_number_that_no_store_can_keep_is_no_answer() -> None:
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}}

    result = put(schema, {}, [Answer("number", 2**70)])

    assert result.fields == {}
