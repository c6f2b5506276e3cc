"""The published schema of a checkpoint: what we give out is valid by it, and it lets nothing else pass."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import jsonschema_rs
import pytest

from tests.contract.builders import a_session, run_saying
from turnkeeper.ledger.checkpoints import checkpoint_document
from turnkeeper.model.checkpoint import Ask, AskKind, Checkpoint, KeptCheckpoint
from turnkeeper.model.effect import Effect, EffectStatus
from turnkeeper.model.mode import Mode
from turnkeeper.model.pack import PackPin
from turnkeeper.model.run import RunStatus
from turnkeeper.model.verdict import Judgement, Phase, Verdict
from turnkeeper.schemas import schema
from turnkeeper.testing.clock import NOON

SCHEMA = schema("session-checkpoint")
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA, validate_formats=True)
GOOD = Verdict(phase=Phase.SCORE, value=Judgement.ESCALATE, step="plan", kind="cost", reasons=("900 euros",))
EFFECTS = (
    Effect(key="a", status=EffectStatus.DONE, attempts=1, started_at=NOON, ended_at=NOON, result={"id": 1}),
    Effect(key="b", status=EffectStatus.DONE, attempts=2, started_at=NOON, ended_at=NOON + timedelta(seconds=9)),
    Effect(key="c", status=EffectStatus.STARTED, attempts=1, started_at=NOON + timedelta(seconds=9)),
)


def document(**changes: Any) -> dict[str, Any]:
    """A checkpoint with everything in it."""
    session = a_session(packs=(PackPin(id="desk", version="1.0.0", hash="a" * 64),))
    run = run_saying("Go", session, mode=Mode.LONG_RUNNING, status=RunStatus.WAITING)
    ask = Ask(said="Well.", question="May I?", kind=AskKind.APPROVAL)
    checkpoint = replace(Checkpoint(verdicts=(GOOD,), asks=(ask,), used={"tool_calls": 2.0}, feed_no=7), **changes)
    kept = KeptCheckpoint(run_id=run.id, seq=2, at=NOON, checkpoint=checkpoint)
    return checkpoint_document(kept, run, session, EFFECTS, kept_for=timedelta(days=7))


def test_a_checkpoint_is_valid_and_says_what_it_knows() -> None:
    told = document()

    VALIDATOR.validate(told)
    assert json.loads(json.dumps(told)) == told
    assert told["checkpoint_id"].endswith("-0002")
    assert told["prev_checkpoint_id"] == told["checkpoint_id"][:-1] + "1"
    assert told["verdict"]["reasons"] == ["900 euros"]
    assert (told["pending"]["kind"], told["pending"]["prompt"]) == ("approval", "Well.\nMay I?")
    assert (told["budget_used"], told["events_cursor"]) == ({"tool_calls": 2.0}, 7)


def test_effects_are_told_as_they_stood_when_the_checkpoint_was_kept() -> None:
    steps = document()["step_results"]

    assert [(step["step_id"], step["status"], step["result"]) for step in steps] == [
        ("a", "done", {"id": 1}),
        ("b", "started", None),
    ]


def test_a_checkpoint_with_nothing_but_a_verdict_is_valid() -> None:
    told = document(asks=())

    VALIDATOR.validate(told)
    assert told["pending"] is None


def test_the_hash_is_that_of_what_is_kept() -> None:
    same, other = document(), document(said="More")

    assert same["state_sha256"] == document()["state_sha256"]
    assert same["state_sha256"] != other["state_sha256"]


def objects_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every field of every object that the schema closes."""
    found: list[tuple[Any, ...]] = []
    if isinstance(value, Mapping) and path[-1:] not in (("budget_used",), ("result",)):
        for name, inner in value.items():
            found += [(*path, name), *objects_in(inner, (*path, name))]
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += objects_in(inner, (*path, index))
    return found


@pytest.mark.parametrize("place", objects_in(document()), ids=str)
def test_without_any_one_field_it_is_not_valid(place: tuple[Any, ...]) -> None:
    told = document()
    parent = _at(told, place[:-1])

    del parent[place[-1]]

    assert not VALIDATOR.is_valid(told)


@pytest.mark.parametrize("place", [(), ("verdict",), ("pending",), ("step_results", 0), ("pack_pins", 0)], ids=str)
def test_with_a_field_more_it_is_not_valid(place: tuple[Any, ...]) -> None:
    told = document()

    _at(told, place)["more"] = 1

    assert not VALIDATOR.is_valid(told)


def _at(told: Any, place: tuple[Any, ...]) -> Any:
    for name in place:
        told = told[name]
    return told
