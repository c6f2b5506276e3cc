"""Every way in which a schema is of no use for a form is named, with its place and its remedy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.unit.forms import ANY_VALUES, FORMS
from turnkeeper.intent.schemas import DEEPEST, MOST_FIELDS, schema_faults
from turnkeeper.model.control import RESERVED_NAMES

TEXT = {"type": "string"}


def a_form(**more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"field": TEXT}, **more}


def with_field(field: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"field": field}, **more}


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = TEXT
    for _ in range(depth):
        inner = {"type": "object", "properties": {"in": inner}, "required": ["in"]}
    return inner


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_can_be_used_has_no_faults(name: str) -> None:
    assert schema_faults(FORMS[name]) == ()


@pytest.mark.parametrize(
    ("schema", "pointer", "says"),
    [
        (None, "", "A form is an object"),
        ([], "", "A form is an object"),
        ("{", "", "A form is an object"),
        ({}, "", '"type": "object"'),
        ({"type": "array", "items": TEXT}, "", '"type": "object"'),
        ({"type": "object", "properties": {}}, "", '"properties"'),
        (a_form(type=["object", "null"]), "", '"type": "object"'),
        ({"type": "objct"}, "/type", "no such type"),
        (a_form(**{"$schema": "http://json-schema.org/draft-07/schema#"}), "/$schema", "2020-12"),
        (a_form(required="field"), "/required", "no JSON Schema"),
        (a_form(required=["other"]), "/required/0", "add it to properties"),
        (with_field({"type": "string", "minLength": "2"}), "/properties/field/minLength", "no JSON Schema"),
        (with_field({"type": "string", "default": object()}), "", "no JSON"),
        (with_field(True), "/properties/field", "write an object"),
        (with_field({}), "/properties/field", 'add "type"'),
        (with_field({"type": "text"}), "/properties/field/type", "no such type"),
        (with_field({"type": "null"}), "/properties/field/type", "one type"),
        (with_field({"type": ["string", "integer"]}), "/properties/field/type", "one type"),
        (with_field({"type": "string", "enum": []}), "/properties/field/enum", "list the choices"),
        (with_field({"type": "integer", "enum": [1, "two"]}), "/properties/field/enum/1", "no integer"),
        (with_field({"type": "string", "const": 4}), "/properties/field/const", "no string"),
        (with_field({"type": "string", "enum": ["", "a"]}), "/properties/field/enum/0", "blank"),
        (with_field({"type": "string", "enum": ["a"], "pattern": "b"}), "/properties/field/enum/0", "never be taken"),
        (with_field({"type": "integer", "minimum": 5, "maximum": 2}), "/properties/field/minimum", "swap"),
        (
            with_field({"type": "number", "exclusiveMinimum": 2, "maximum": 2}),
            "/properties/field/exclusiveMinimum",
            "No",
        ),
        (with_field({"type": "string", "minLength": 5, "maxLength": 2}), "/properties/field/minLength", "swap"),
        (
            with_field({"type": "array", "items": TEXT, "minItems": 3, "maxItems": 1}),
            "/properties/field/minItems",
            "swap",
        ),
        (with_field({"type": "string", "format": "fone"}), "/properties/field/format", "clock-time"),
        (with_field({"type": "string", "pattern": "("}), "/properties/field/pattern", "does not compile"),
        (with_field({"type": "string", "pattern": "a(?=b)"}), "/properties/field/pattern", "Look-around"),
        (with_field({"type": "string", "pattern": "x{999}{999}"}), "/properties/field/pattern", "maxLength"),
        (with_field({"type": "array"}), "/properties/field", "add items"),
        (with_field({"type": "object"}), "/properties/field", "list its properties"),
        (with_field({"type": "string", "minimum": 2}), "/properties/field/minimum", "nothing for type string"),
        (with_field({"type": "string", "maxlength": 2}), "/properties/field/maxlength", "x-maxlength"),
        (a_form(requird=["field"]), "/requird", "nothing for type object"),
        (a_form(additionalProperties=TEXT), "/additionalProperties", "write false"),
        (with_field({"$ref": "https://example.com/a.json"}), "/properties/field/$ref", "#/$defs/name"),
        (with_field({"$ref": "#/$defs/gone"}), "/properties/field/$ref", "#/$defs/name"),
        (with_field({"$ref": "#/properties/field"}), "/properties/field/$ref", "#/$defs/name"),
        (
            with_field({"$ref": "#/$defs/a", "minLength": 2}, **{"$defs": {"a": TEXT}}),
            "/properties/field/minLength",
            "beside a $ref",
        ),
        (
            with_field({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"type": "string", "format": "x"}}}),
            "/$defs/a/format",
            "known",
        ),
        (
            with_field({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"$ref": "#/$defs/a"}}}),
            "/$defs/a/$ref",
            "back to itself",
        ),
        (with_field(TEXT | {"x-aliases": "day"}), "/properties/field/x-aliases", "list of words"),
        (with_field(TEXT | {"x-earliest": "noon"}), "/properties/field/x-earliest", "like 11:00"),
        (with_field({"enum": ["a"], "x-labels": ["A"]}), "/properties/field/x-labels", "object"),
        (with_field({"enum": ["a"], "x-labels": {"b": "B"}}), "/properties/field/x-labels/b", "no choice"),
        ({"type": "object", "properties": {"a.b": TEXT}}, "/properties/a.b", "no dots or blanks"),
        ({"type": "object", "properties": {"a b": TEXT}}, "/properties/a b", "no dots or blanks"),
        ({"type": "object", "properties": {"a/{b}": TEXT}}, "/properties/a~1{b}", "no dots or blanks"),
        (nested(DEEPEST + 1), "/properties/in" * DEEPEST, "deep"),
        (
            with_field({"type": "object", "properties": {"name": TEXT}}, required=["field"]),
            "/properties/field",
            "required object must require",
        ),
    ],
)
def test_a_fault_is_named_with_its_place_and_its_remedy(schema: Any, pointer: str, says: str) -> None:
    faults = schema_faults(schema)

    assert [fault.pointer for fault in faults] == [pointer]
    assert says in faults[0].message


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("if", {}),
        ("allOf", [{}]),
        ("anyOf", [{}]),
        ("oneOf", [{}]),
        ("not", {}),
        ("dependentRequired", {}),
        ("dependentSchemas", {}),
        ("unevaluatedProperties", False),
        ("minProperties", 1),
        ("maxProperties", 2),
        ("patternProperties", {}),
        ("propertyNames", {}),
    ],
)
def test_what_makes_missing_undecidable_is_refused(keyword: str, value: Any) -> None:
    faults = schema_faults(a_form(**{keyword: value}))

    assert [fault.pointer for fault in faults] == [f"/{keyword}"]
    assert "which field is missing" in faults[0].message


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_a_reserved_name_is_no_field(name: str) -> None:
    faults = schema_faults({"type": "object", "properties": {name: TEXT}})

    assert [fault.pointer for fault in faults] == [f"/properties/{name}"]
    assert "reserved" in faults[0].message


def test_a_form_that_is_as_deep_and_as_long_as_allowed_can_be_used() -> None:
    assert schema_faults(nested(DEEPEST)) == ()
    assert schema_faults({"type": "object", "properties": {f"f{number}": TEXT for number in range(MOST_FIELDS)}}) == ()


def test_a_form_with_too_many_fields_is_refused_also_when_references_multiply_them() -> None:
    wide = {"type": "object", "properties": {f"f{number}": TEXT for number in range(20)}}
    schema = {
        "type": "object",
        "properties": {f"g{number}": {"$ref": "#/$defs/wide"} for number in range(20)},
        "$defs": {"wide": wide},
    }

    assert "at most 200 fields" in schema_faults(schema)[-1].message


def test_all_faults_are_named_at_once() -> None:
    schema = {
        "type": "object",
        "properties": {"reset": TEXT, "a": {"type": "integer", "minimum": 2, "maximum": 1}, "b": {}},
        "required": ["c"],
    }

    assert [fault.pointer for fault in schema_faults(schema)] == [
        "/required/0",
        "/properties/reset",
        "/properties/a/minimum",
        "/properties/b",
    ]


@given(ANY_VALUES)
def test_anything_at_all_is_judged_without_a_failure(anything: Any) -> None:
    schema_faults(anything)
    schema_faults({"type": "object", "properties": {"field": anything}})
    schema_faults({"type": "object", "properties": anything, "required": anything})
