"""Keeping an intent, or looking for it anew: the order in which that is decided."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from turnkeeper.intent.holding import Course, Decision, Holding, ReleaseReason, decide
from turnkeeper.intent.signals import ForceSignal, Signal
from turnkeeper.model.stages import StageName

SWITCH = ForceSignal(signal=Signal.SWITCH_PHRASE, value="switch to")

EVERY = tuple(
    Holding(
        is_locked=locked,
        has_schema=schema,
        is_complete=complete,
        is_resolved=resolved,
        sticky=sticky,
        signal=SWITCH if force else None,
        policy=policy,
    )
    for locked, schema, complete, resolved, sticky, force, policy in product((False, True), repeat=7)
)


def holding(
    *, locked: bool, collecting: bool, sticky: bool = True, force: bool = False, policy: bool = False
) -> Holding:
    return Holding(
        is_locked=locked,
        has_schema=True,
        is_complete=not collecting,
        is_resolved=True,
        sticky=sticky,
        signal=SWITCH if force else None,
        policy=policy,
    )


# The rows of the page: locked or collecting, sticky, force.
@pytest.mark.parametrize(
    ("locked", "collecting", "sticky", "force", "course"),
    [
        (True, True, True, False, Course.SKIP_STICKY),
        (False, True, True, False, Course.SKIP_STICKY),
        (True, True, True, True, Course.RESOLVE_FORCED),
        (True, True, False, True, Course.RESOLVE_FORCED),
        (False, True, True, True, Course.RESOLVE_FORCED),
        (False, True, False, True, Course.RESOLVE_FORCED),
        (True, True, False, False, Course.SKIP_COLLECTION),
        (False, False, True, False, Course.RESOLVE),
        (False, False, False, False, Course.RESOLVE),
        (False, False, True, True, Course.RESOLVE_FORCED),
        (False, False, False, True, Course.RESOLVE_FORCED),
        # "Resolver skip logic respects lock": without sticky and without a lock there is nothing to respect.
        (False, True, False, False, Course.RESOLVE),
        # "Lock removed when schema is complete": what is no longer collected holds nothing, locked or not.
        (True, False, True, False, Course.RESOLVE),
        (True, False, False, False, Course.RESOLVE),
        (True, False, True, True, Course.RESOLVE_FORCED),
        (True, False, False, True, Course.RESOLVE_FORCED),
    ],
)
def test_the_documented_truth_table_is_ours(
    locked: bool, collecting: bool, sticky: bool, force: bool, course: Course
) -> None:
    assert decide(holding(locked=locked, collecting=collecting, sticky=sticky, force=force)).course is course


def as_coded(state: Holding) -> Course:
    """What the original does, row by row of its truth table."""
    if state.is_locked or state.is_collecting:
        return Course.SKIP_COLLECTION
    return Course.SKIP_POLICY if state.policy and state.is_resolved else Course.RESOLVE


# Locked, collecting, sticky, force, policy; what the original does; what ours does, and why where it is something else.
@pytest.mark.parametrize(
    ("bits", "original", "ours"),
    [
        ("11111", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("11110", Course.SKIP_COLLECTION, Course.RESOLVE_FORCED),  # a force signal leaves the form
        ("11101", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("11100", Course.SKIP_COLLECTION, Course.SKIP_STICKY),  # the sticky stage is reached
        ("11011", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("11010", Course.SKIP_COLLECTION, Course.RESOLVE_FORCED),  # a force signal leaves the form
        ("11001", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("11000", Course.SKIP_COLLECTION, Course.SKIP_COLLECTION),
        ("10111", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("10110", Course.SKIP_COLLECTION, Course.RESOLVE_FORCED),  # a force signal leaves the form
        ("10101", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("10100", Course.SKIP_COLLECTION, Course.RESOLVE),  # a lock does not outlive its form
        ("10011", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("10010", Course.SKIP_COLLECTION, Course.RESOLVE_FORCED),  # a force signal leaves the form
        ("10001", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("10000", Course.SKIP_COLLECTION, Course.RESOLVE),  # a lock does not outlive its form
        ("01111", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("01110", Course.SKIP_COLLECTION, Course.RESOLVE_FORCED),  # a force signal leaves the form
        ("01101", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("01100", Course.SKIP_COLLECTION, Course.SKIP_STICKY),  # the sticky stage is reached
        ("01011", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("01010", Course.SKIP_COLLECTION, Course.RESOLVE_FORCED),  # a force signal leaves the form
        ("01001", Course.SKIP_COLLECTION, Course.SKIP_POLICY),  # an answer about the form is told as such
        ("01000", Course.SKIP_COLLECTION, Course.RESOLVE),  # without a lock and without sticky nothing holds
        ("00111", Course.SKIP_POLICY, Course.SKIP_POLICY),
        ("00110", Course.RESOLVE, Course.RESOLVE_FORCED),  # the same, and the signal is told
        ("00101", Course.SKIP_POLICY, Course.SKIP_POLICY),
        ("00100", Course.RESOLVE, Course.RESOLVE),
        ("00011", Course.SKIP_POLICY, Course.SKIP_POLICY),
        ("00010", Course.RESOLVE, Course.RESOLVE_FORCED),  # the same, and the signal is told
        ("00001", Course.SKIP_POLICY, Course.SKIP_POLICY),
        ("00000", Course.RESOLVE, Course.RESOLVE),
    ],
)
def test_the_truth_table_as_coded_and_ours_side_by_side(bits: str, original: Course, ours: Course) -> None:
    locked, collecting, sticky, force, policy = (bit == "1" for bit in bits)
    state = holding(locked=locked, collecting=collecting, sticky=sticky, force=force, policy=policy)

    assert (as_coded(state), decide(state).course) == (original, ours)


def test_a_correction_stays_with_the_form_unless_a_force_signal_is_given() -> None:
    plain = replace(holding(locked=False, collecting=False), corrects=True)

    assert decide(plain).course is Course.SKIP_POLICY
    assert decide(replace(plain, signal=SWITCH)).course is Course.RESOLVE_FORCED
    assert decide(replace(plain, signal=SWITCH, policy=True)).course is Course.SKIP_POLICY
    assert decide(replace(plain, is_resolved=False)).course is Course.RESOLVE


def test_intent_lock_lifecycle_a_lock_is_released_exactly_when_the_schema_is_complete_or_absent() -> None:
    for state in EVERY:
        released = decide(state).release

        assert (released is not None) == (state.is_locked and not (state.has_schema and not state.is_complete))
        assert (released is ReleaseReason.SCHEMA_ABSENT) == (state.is_locked and not state.has_schema)


def test_sticky_intent_lifecycle_it_skips_only_while_incomplete_schema_collection_is_active() -> None:
    skipped = [state for state in EVERY if decide(state).course is Course.SKIP_STICKY]

    assert skipped
    assert all(state.has_schema and not state.is_complete and state.is_resolved for state in skipped)


def test_sticky_intent_lifecycle_a_force_signal_always_resolves_unless_an_answer_about_the_form_is_given() -> None:
    for state in EVERY:
        answers = state.policy and state.is_resolved

        assert (decide(state).course is Course.RESOLVE_FORCED) == (state.signal is not None and not answers)


def test_sticky_intent_lifecycle_resolution_runs_once_collection_is_complete() -> None:
    done = [state for state in EVERY if not state.is_collecting and not state.policy]

    assert all(decide(state).course.resolves for state in done)


def test_switching_sticky_off_changes_the_stage_of_a_locked_form_and_nothing_else() -> None:
    on = decide(holding(locked=True, collecting=True, sticky=True))
    off = decide(holding(locked=True, collecting=True, sticky=False))

    assert (on.course.stage, off.course.stage) == (
        StageName.INTENT_RESOLVE_SKIPPED_STICKY_INTENT,
        StageName.INTENT_RESOLVE_SKIPPED_SCHEMA_COLLECTION,
    )
    assert (on.release, off.release) == (None, None)


def test_an_intent_that_was_never_resolved_is_neither_sticky_nor_kept_by_policy() -> None:
    unresolved = [state for state in EVERY if not state.is_resolved]

    assert not {decide(state).course for state in unresolved} & {Course.SKIP_STICKY, Course.SKIP_POLICY}


def test_no_lock_survives_its_schema_and_none_is_released_that_was_not_there() -> None:
    assert decide(holding(locked=True, collecting=False)) == Decision(
        course=Course.RESOLVE, release=ReleaseReason.SCHEMA_COMPLETE
    )
    assert all(decide(state).release is None for state in EVERY if not state.is_locked)


def test_every_course_but_plain_resolving_has_a_stage_of_its_own() -> None:
    stages = [course.stage for course in Course]

    assert len(set(stages)) == len(stages)
    assert Course.RESOLVE.stage is StageName.INTENT_RESOLVE_START
