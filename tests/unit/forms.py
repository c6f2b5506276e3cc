"""Forms for tests: a table that is booked, and any form that a pack may hold."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

DATA = Path(__file__).parent / "data"
FORMS: dict[str, Any] = json.loads((DATA / "forms.json").read_text(encoding="utf-8"))
BOOKING = FORMS["booking"]
THURSDAY = datetime(2026, 11, 12, 10, tzinfo=ZoneInfo("Europe/Berlin"))

FILLED = {
    "date": "2026-11-13",
    "time": "19:00",
    "party_size": 4,
    "guest": {"name": "Ann", "phone": "+49301234567"},
}

WORDS = ("red", "green", "blue", "deep sea")
GOOD = {
    "date": ("2026-12-24", "2027-02-28"),
    "time": ("19:30:00Z", "07:00:00+01:00"),
    "date-time": ("2026-12-24T19:30:00Z",),
    "email": ("ann@example.com",),
    "uri": ("https://example.com/a",),
    "phone": ("+4930123456", "+12025550143"),
    "clock-time": ("19:30", "00:00"),
}
BLANKS: st.SearchStrategy[Any] = st.sampled_from([None, "", "  ", [], {}])


def nullable(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from([schema, schema, {**schema, "type": [schema["type"], "null"]}])


SCALARS = st.one_of(
    st.just({"type": "string"}),
    st.just({"type": "string", "minLength": 2, "maxLength": 6}),
    st.just({"type": "string", "pattern": "^[a-z]+$"}),
    st.just({"type": "string", "enum": list(WORDS)}),
    st.sampled_from([{"type": "string", "format": each} for each in GOOD]),
    st.just({"type": "integer"}),
    st.just({"type": "integer", "minimum": 1, "maximum": 9}),
    st.just({"type": "integer", "enum": [1, 2, 3]}),
    st.just({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}),
    st.just({"type": "boolean"}),
).flatmap(nullable)
LISTS = st.builds(
    lambda items, least, unique: {"type": "array", "items": items, **least, **unique},
    SCALARS,
    st.sampled_from([{}, {"minItems": 1}, {"minItems": 2}, {"maxItems": 2}]),
    st.sampled_from([{}, {"uniqueItems": True}]),
)
NAMES = ("first", "second", "third", "fourth")


@st.composite
def objects(draw: st.DrawFn, depth: int = 0) -> dict[str, Any]:
    """An object that requires at least one of its fields, as a required one must."""
    inner = SCALARS | LISTS if depth == 2 else SCALARS | LISTS | objects(depth=depth + 1).flatmap(nullable)
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    required = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    closed = draw(st.sampled_from([{}, {"additionalProperties": False}]))
    return {"type": "object", "properties": {name: draw(inner) for name in names}, "required": required, **closed}


SCALAR_VALUES = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([0.5, 1.5, 2.0, -1.0]),
    st.booleans(),
    st.sampled_from(
        [*WORDS, "Red", "abc", "a", "seven", "4", "yes", *(text for good in GOOD.values() for text in good)]
    ),
    st.text(max_size=5),
)
ANY_VALUES = st.recursive(
    SCALAR_VALUES | BLANKS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def values_for(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    """Mostly something that fits, now and then nothing, now and then anything."""
    luck = draw(st.integers(0, 9))
    if luck < 2:
        return draw(BLANKS if luck else ANY_VALUES)
    kind = schema["type"] if isinstance(schema["type"], str) else draw(st.sampled_from(schema["type"]))
    match kind:
        case "object":
            names = [name for name in schema["properties"] if draw(st.integers(0, 9))]
            return {name: draw(values_for(schema["properties"][name])) for name in names}
        case "array":
            return draw(st.lists(values_for(schema["items"]), max_size=3))
        case "null":
            return None
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "format" in schema:
        return draw(st.sampled_from(GOOD[schema["format"]]))
    fitting: dict[str, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(["abc", "de", "fgh"]),
        "integer": st.integers(1, 9),
        "number": st.sampled_from([0.5, 1, 2.5]),
        "boolean": st.booleans(),
    }
    return draw(fitting[kind])


@st.composite
def forms_with_values(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    schema = draw(objects())
    value = draw(values_for(schema))
    return schema, value if isinstance(value, dict) else {"first": value}
