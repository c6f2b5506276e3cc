"""What counts as carried, and how two sessions are merged, held against the reference."""

import copy
import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ovos_spec_tools import session as reference  # type: ignore[import-untyped]

from tests.scale import rounds
from tests.unit.bus.carriers import JSON, ODD_SESSIONS, SESSIONS
from turnkeeper.bus import carrier
from turnkeeper.bus.message import Message


@given(session=SESSIONS)
@settings(max_examples=rounds(50, 1000))
def test_of_a_sound_carrier_everything_counts_that_the_reference_counts(session: dict[str, Any]) -> None:
    as_it_came = copy.deepcopy(session)

    found = carrier.fields_of(session)

    assert found == reference.carried_fields(copy.deepcopy(session))
    assert session == as_it_came


@given(session=ODD_SESSIONS)
@settings(max_examples=rounds(50, 1000))
def test_of_an_odd_carrier_nothing_wrong_gets_through(session: dict[str, Any]) -> None:
    found = carrier.fields_of(session)

    assert None not in found.values()
    assert carrier.fields_of(found) == found
    unknown = {name: value for name, value in session.items() if name not in carrier.FIELDS and value is not None}
    assert {name: value for name, value in found.items() if name not in carrier.FIELDS} == unknown


def test_there_are_the_fields_that_the_specifications_own() -> None:
    assert set(carrier.FIELDS) == set(reference.SESSION1_REGISTERED_FIELDS)


@given(session_id=JSON)
@settings(max_examples=rounds(20, 500))
def test_what_names_no_session_is_the_default_one(session_id: Any) -> None:
    session = {"session_id": session_id}

    assert carrier.session_id_of(session) == reference.resolve_session_id(session)


@given(stored=SESSIONS, brought=SESSIONS)
@settings(max_examples=rounds(50, 1000))
def test_two_sessions_merge_as_the_reference_merges_them(stored: dict[str, Any], brought: dict[str, Any]) -> None:
    stored = {**carrier.fields_of(stored), "session_id": "default"}
    known = {name: value for name, value in stored.items() if name in carrier.FIELDS}
    was = copy.deepcopy(stored)

    result = carrier.merged(stored, brought)

    theirs = reference.merge_carrier(reference.Session.from_dict(copy.deepcopy(known)), brought)
    assert {name: result[name] for name in result if name in carrier.FIELDS} == {
        name: value for name, value in theirs.items() if name in carrier.FIELDS
    }
    assert stored == was


def test_an_unknown_field_of_the_store_stays_where_nobody_brings_another() -> None:
    assert carrier.merged({"session_id": "default", "x_vendor": 7}, {"lang": "nl"})["x_vendor"] == 7


def test_an_empty_list_of_handlers_clears_where_the_reference_would_leave_it() -> None:
    """C10: for lists that override an empty one is omission, for those that record a state it is a value."""
    stored = {"active_handlers": [{"skill_id": "a", "activated_at": 1}], "pipeline": ["stop"]}

    result = carrier.merged(stored, {"active_handlers": [], "pipeline": []})

    assert result == {"active_handlers": [], "pipeline": ["stop"]}


def test_an_entry_of_the_context_that_is_null_goes_and_the_last_one_takes_the_field_along() -> None:
    stored = {"intent_context": {"room": {"value": "attic"}, "city": {"value": "Porto"}}}

    one = carrier.merged(stored, {"intent_context": {"room": None}})
    none = carrier.merged(one, {"intent_context": {"city": None}})

    assert one == {"intent_context": {"city": {"value": "Porto"}}}
    assert none == {}


VECTORS: list[tuple[dict[str, Any], str]] = [
    ({"context": {"session": {"session_id": "default", "site_id": "kitchen"}}}, "kitchen"),
    ({"context": {"session": {}}}, "kitchen"),
    ({"context": {}}, "kitchen"),
    ({"context": {"session": {"session_id": "default", "site_id": None}}}, "kitchen"),
    ({"context": {"session": {"site_id": "hall"}}}, "hall"),
    ({"context": {"session": {"session_id": 5}}}, "hall"),
    ({"context": {"session": None}}, "hall"),
]


def test_the_default_session_follows_the_measured_steps() -> None:
    store: dict[str, Any] = {"session_id": "default"}

    seen = []
    for message, _ in VECTORS:
        brought = carrier.carried(Message(type="ovos.utterance.handle", **message))
        assert carrier.is_default(brought)
        store = carrier.merged(store, brought)
        seen.append((store["session_id"], store["site_id"]))

    assert seen == [("default", site) for _, site in VECTORS]


@pytest.mark.parametrize("session", ["default", 5, [], True, 0, ""])
def test_a_session_that_is_no_object_is_malformed_and_never_the_default_one(session: Any) -> None:
    with pytest.raises(carrier.MalformedCarrier):
        carrier.carried(Message(type="a", context={"session": session}))


def test_a_field_that_is_left_out_is_logged_with_its_type_and_not_its_value(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="turnkeeper.bus.carrier"):
        carrier.fields_of({"lang": 5, "site_id": None})

    assert [(record.__dict__["field"], record.__dict__["wire_type"]) for record in caplog.records] == [
        ("lang", "number"),
        ("site_id", "null"),
    ]


@given(current=SESSIONS, base=SESSIONS)
@settings(max_examples=rounds(30, 500))
def test_who_changes_nothing_of_a_whole_session_takes_nothing_back(
    current: dict[str, Any], base: dict[str, Any]
) -> None:
    current, base = carrier.fields_of(current), carrier.fields_of(base)

    assert carrier.replaced(current, base, base) == carrier.merged(current, {})


@given(base=SESSIONS, snapshot=SESSIONS)
@settings(max_examples=rounds(30, 500))
def test_where_nobody_else_changed_anything_a_snapshot_takes_the_place_of_the_session(
    base: dict[str, Any], snapshot: dict[str, Any]
) -> None:
    base, snapshot = carrier.fields_of(base), carrier.fields_of(snapshot)

    result = carrier.replaced(base, base, snapshot)

    assert without_id(result) == without_id(carrier.merged({}, snapshot))


def without_id(session: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in session.items() if name != "session_id"}


@given(session=st.none() | JSON)
@settings(max_examples=rounds(20, 500))
def test_nothing_that_json_can_hold_breaks_the_reading_of_a_carrier(session: Any) -> None:
    message = Message(type="a", context={"session": session})

    if session is None or isinstance(session, dict):
        assert None not in carrier.carried(message).values()
    else:
        with pytest.raises(carrier.MalformedCarrier):
            carrier.carried(message)
