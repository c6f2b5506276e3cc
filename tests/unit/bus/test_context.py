"""What a conversation is about runs out as the reference has it run out."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ovos_spec_tools import context as reference  # type: ignore[import-untyped]

from tests.scale import rounds
from tests.unit.bus.carriers import CONTEXT, KEYS, TIMES
from turnkeeper.bus import context

GATES = st.lists(
    st.sampled_from(("room", "city"))
    | st.fixed_dictionaries(
        {"key": st.sampled_from(("room", "city"))}, optional={"scope": st.sampled_from(("private", "shared", "odd"))}
    ),
    max_size=2,
)


def a_session(entries: dict[str, Any]) -> dict[str, Any]:
    return {"session_id": "s", "intent_context": copy.deepcopy(entries)} if entries else {"session_id": "s"}


def entries_of(session: dict[str, Any]) -> dict[str, Any]:
    assert session["session_id"] == "s"
    found = session.get("intent_context", {})
    assert "intent_context" not in session or found, "an empty context is left out"
    return dict(found)


@given(entries=CONTEXT, now=TIMES)
@settings(max_examples=rounds(50, 1000))
def test_pruning_leaves_what_the_reference_leaves(entries: dict[str, Any], now: int) -> None:
    session = a_session(entries)

    left = context.pruned(session, now)

    assert entries_of(left) == reference.prune(copy.deepcopy(entries), now)
    assert session == a_session(entries)


@given(before=CONTEXT, written=CONTEXT)
@settings(max_examples=rounds(50, 1000))
def test_a_turn_counts_for_what_was_there_before_and_not_for_what_was_written_in_it(
    before: dict[str, Any], written: dict[str, Any]
) -> None:
    after = {**before, **written}
    untouched = {key for key in before if after[key] == before[key]}

    left = context.decremented(a_session(after), a_session(before))

    assert entries_of(left) == reference.decrement(copy.deepcopy(after), untouched)


def test_one_remaining_turn_lives_for_exactly_the_next_round() -> None:
    first = {"intent_context": {"room": {"value": "attic", "turns_remaining": 1}}}

    second = context.pruned(context.decremented(first, {}), 0)
    third = context.pruned(context.decremented(second, second), 0)

    assert second == first
    assert third == {}


@given(entries=CONTEXT, most=st.integers(0, 5))
@settings(max_examples=rounds(30, 500))
def test_of_too_many_entries_those_go_that_would_go_first(entries: dict[str, Any], most: int) -> None:
    left = entries_of(context.capped(a_session(entries), most))

    kept, theirs = len(left), reference.enforce_cap(copy.deepcopy(entries), most)
    assert kept == len(theirs) == min(most, len(entries))
    assert sorted(map(nearness, left.values())) == sorted(map(nearness, theirs.values()))


def nearness(entry: dict[str, Any]) -> tuple[float, float]:
    turns, expires = entry.get("turns_remaining"), entry.get("expires_at")
    return (float("inf") if turns is None else turns, float("inf") if expires is None else expires)


@given(entries=CONTEXT, requires=GATES, excludes=GATES, now=TIMES)
@settings(max_examples=rounds(50, 1000))
def test_a_gate_is_open_where_the_reference_opens_it(
    entries: dict[str, Any], requires: list[Any], excludes: list[Any], now: int
) -> None:
    ours = context.is_open(a_session(entries), "lamp.skill", requires, excludes, now)

    assert ours == reference.gate_satisfied(entries, requires, excludes, "lamp.skill", now)


@given(entries=CONTEXT, now=TIMES)
@settings(max_examples=rounds(30, 500))
def test_slots_are_offered_what_the_reference_offers(entries: dict[str, Any], now: int) -> None:
    ours = context.candidates(a_session(entries), "lamp.skill", ["room", "city", *KEYS], now)

    theirs = reference.context_slot_candidates(entries, ["room", "city", *KEYS], "lamp.skill", now)
    assert ours == theirs


def test_a_requirement_that_cannot_be_read_is_never_met() -> None:
    assert not context.is_open({}, "a", [{"scope": "shared"}], [], 0)
    assert context.is_open({}, "a", [], [{"scope": "shared"}, ""], 0)
