"""What a store promises when a newcomer takes the place of the running run."""

from dataclasses import replace
from typing import Any

import pytest

from tests.contract.backends import Backend, contents
from tests.contract.builders import (
    a_kept_session,
    accept,
    answer,
    asking,
    claim,
    commit,
    exchange,
    explained,
    explanation_of,
    feed_of,
    held,
    intake_of,
    lines,
    load,
    run_of,
    run_saying,
    supersede,
    types,
    waiting,
)
from turnkeeper.errors import LeaseLost
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.event import Event
from turnkeeper.model.ids import UserId
from turnkeeper.model.mode import Mode
from turnkeeper.model.run import Finish, Run, RunInput, RunStatus
from turnkeeper.model.session import Session
from turnkeeper.ports.runs import Claimed
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON


async def the_next(store: Store, session: Session, by: Run) -> Claimed:
    claimed = await claim(store, session)
    assert claimed is not None
    assert claimed.run.id == by.id
    return claimed


async def test_rollback_ends_the_running_run_and_keeps_nothing_of_it(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome", guests=2)
    run, lease = await held(store, "First", session)
    await store.feed.append_delta(lease, "Let me see")
    newcomer = (await accept(store, "No, wait", session)).run

    happened = await supersede(store, lease, newcomer, DoubleText.ROLLBACK)

    loaded = await load(store, session)
    ended = await run_of(store, run)
    assert happened
    assert (ended.status, ended.superseded_by, ended.turn) == (RunStatus.SUPERSEDED, newcomer.id, None)
    assert (lines(loaded), loaded.state, loaded.session.revision) == (["Hello", "Welcome"], {"guests": 2}, 1)
    assert (await feed_of(store, session))[-1].data == {"by": newcomer.id, "how": "rollback", "deltas": [4, 4]}
    assert (await explained(store, run)).partial


async def test_a_superseded_run_has_lost_the_right_to_write(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)
    newcomer = (await accept(store, "No, wait", session)).run
    await supersede(store, lease, newcomer, DoubleText.ROLLBACK)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await commit(store, run, lease, "Too late")

    assert await contents(backend) == before


async def test_the_newcomer_runs_next_under_a_higher_fence(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "First", session)
    newcomer = (await accept(store, "No, wait", session)).run
    await supersede(store, lease, newcomer, DoubleText.ROLLBACK)

    claimed = await the_next(store, session, newcomer)

    assert claimed.lease.fence > lease.fence
    await commit(store, claimed.run, claimed.lease, "Yes?")
    assert lines(await load(store, session)) == ["No, wait", "Yes?"]


async def test_the_holder_that_stops_by_itself_brings_its_own_explanation(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)
    newcomer = (await accept(store, "No, wait", session)).run
    own = explanation_of(run, RunStatus.SUPERSEDED)

    await supersede(store, lease, newcomer, DoubleText.ROLLBACK, explanation=own)

    assert await explained(store, run) == own


async def test_interrupt_keeps_one_turn_with_the_text_already_shown(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome", guests=2)
    run, lease = await held(store, "Tell me a story", session)
    await store.feed.append_delta(lease, "Once upon ")
    await store.feed.append_delta(lease, "a time")
    newcomer = (await accept(store, "Shorter!", session)).run

    happened = await supersede(store, lease, newcomer, DoubleText.INTERRUPT)

    loaded = await load(store, session)
    ended = await run_of(store, run)
    last = (await feed_of(store, session))[-1]
    assert happened
    assert lines(loaded)[2:] == ["Tell me a story", "Once upon a time"]
    assert (loaded.state, loaded.session.revision, loaded.session.turns) == ({"guests": 2}, 2, 2)
    assert (ended.status, ended.turn, ended.finish) == (RunStatus.SUPERSEDED, 2, Finish.INTERRUPTED)
    assert (await explained(store, run)).turn == 2
    assert (last.type.value, last.data["text"], last.data["deltas"]) == ("run.superseded", "Once upon a time", [4, 5])


async def test_interrupt_before_anything_was_shown_keeps_what_the_user_said(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Tell me a story", session)
    newcomer = (await accept(store, "Shorter!", session)).run

    await supersede(store, lease, newcomer, DoubleText.INTERRUPT)

    loaded = await load(store, session)
    assert (lines(loaded), loaded.session.revision) == (["Tell me a story"], 1)
    assert (await run_of(store, run)).finish is Finish.INTERRUPTED
    assert (await feed_of(store, session))[-1].data["message_seq"] is None


async def test_interrupt_keeps_what_was_asked_and_answered_before(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session, "For how many?")
    answered = await answer(store, session, asked, "Four")
    assert answered.lease is not None
    await store.feed.append_delta(answered.lease, "So four")
    newcomer = (await accept(store, "Five!", session)).run

    await supersede(store, answered.lease, newcomer, DoubleText.INTERRUPT)

    assert lines(await load(store, session)) == ["A table, please", "For how many?", "Four", "So four"]


async def test_merge_answers_both_messages_as_one(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "A table", session)
    newcomer = (await accept(store, "for two", session)).run

    happened = await supersede(store, lease, newcomer, DoubleText.MERGE)

    claimed = await the_next(store, session, newcomer)
    await commit(store, claimed.run, claimed.lease, "At what time?")
    first, second = await run_of(store, run), await run_of(store, newcomer)
    assert happened
    assert [event.text for event in claimed.run.input.events] == ["A table", "for two"]
    assert (first.status, first.superseded_by, first.merged) == (RunStatus.SUPERSEDED, newcomer.id, True)
    assert (second.status, second.merged) == (RunStatus.COMPLETED, True)
    assert lines(await load(store, session)) == ["A table", "for two", "At what time?"]
    assert (await load(store, session)).session.turns == 1


async def test_merge_comes_too_late_once_something_was_put_out(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "A table", session)
    await store.feed.append_delta(lease, "Gladly")
    newcomer = (await accept(store, "for two", session)).run

    happened = await supersede(store, lease, newcomer, DoubleText.MERGE)

    assert not happened
    assert (await run_of(store, run)).status is RunStatus.RUNNING
    assert (await run_of(store, newcomer)).merged is False
    await commit(store, run, lease, "Gladly")
    await the_next(store, session, newcomer)


async def test_merge_comes_too_late_once_something_was_asked(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)
    answered = await answer(store, session, asked, "Four")
    assert answered.lease is not None
    newcomer = (await accept(store, "at eight", session)).run

    happened = await supersede(store, answered.lease, newcomer, DoubleText.MERGE)

    assert not happened
    assert (await run_of(store, newcomer)).merged is False


@pytest.mark.parametrize(
    "otherwise",
    [
        {"input": RunInput(events=(Event(text="for two"),), channel="sms")},
        {"input": RunInput(events=(Event(text="for two"),), grants=("tables.book", "tables.cancel"))},
        {"input": RunInput(events=(Event(text="for two"),), grants=None)},
        {"input": RunInput(events=(Event(text="for two"),), claims={"user": {"role": "chef"}})},
        {"input": RunInput(events=(Event(text="for two"),), packs=("tables@1.0.0",))},
        {"mode": Mode.STREAM},
        {"mode": Mode.LONG_RUNNING},
        {"user": UserId("cora")},
    ],
    ids=["channel", "more grants", "every grant", "claims", "packs", "mode", "long run", "user"],
)
async def test_two_messages_that_may_do_different_things_are_not_merged(
    store: Store, otherwise: dict[str, Any]
) -> None:
    session = await a_kept_session(store)
    first = run_saying("A table", session)
    first = replace(first, input=replace(first.input, grants=("tables.book",)))
    accepted = await store.runs.accept(intake_of(first))
    assert accepted.lease is not None
    second = replace(first, id=run_saying("for two", session).id, **otherwise)
    newcomer = (await store.runs.accept(intake_of(second, sees_whole_tenant=True))).run

    happened = await supersede(store, accepted.lease, newcomer, DoubleText.MERGE)

    assert not happened
    assert (await run_of(store, first)).status is RunStatus.RUNNING
    assert (await run_of(store, newcomer)).merged is False
    assert (await run_of(store, newcomer)).input == second.input


async def test_a_long_run_is_merged_with_nothing(store: Store) -> None:
    session = await a_kept_session(store)
    long = run_saying("A table", session, mode=Mode.LONG_RUNNING)
    accepted = await store.runs.accept(intake_of(long))
    assert accepted.lease is not None
    newcomer = (await store.runs.accept(intake_of(run_saying("for two", session, mode=Mode.LONG_RUNNING)))).run

    happened = await supersede(store, accepted.lease, newcomer, DoubleText.MERGE)

    assert not happened
    assert (await run_of(store, long)).status is RunStatus.RUNNING
    assert (await run_of(store, newcomer)).merged is False


async def test_merge_does_not_overtake_a_run_that_is_queued_in_front(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "A table", session)
    in_front = (await accept(store, "What is the time?", session)).run
    newcomer = (await accept(store, "for two", session)).run

    happened = await supersede(store, lease, newcomer, DoubleText.MERGE)

    assert not happened
    assert (await run_of(store, run)).status is RunStatus.RUNNING
    assert (await run_of(store, newcomer)).merged is False
    await commit(store, run, lease, "Gladly")
    await the_next(store, session, in_front)


async def test_superseding_a_run_that_has_ended_does_nothing(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "A table", session)
    newcomer = (await accept(store, "for two", session)).run
    await commit(store, run, lease, "Gladly")
    before = await contents(backend)

    for how in (DoubleText.ROLLBACK, DoubleText.INTERRUPT, DoubleText.MERGE):
        assert not await supersede(store, lease, newcomer, how)

    assert await contents(backend) == before


async def test_a_suspended_run_is_not_superseded(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "A table", session)
    newcomer = (await accept(store, "for two", session)).run
    await store.runs.suspend(lease, asking("For how many?"), at=NOON, wait_until=NOON)

    happened = await supersede(store, lease, newcomer, DoubleText.ROLLBACK)

    assert not happened
    assert (await run_of(store, run)).status is RunStatus.WAITING
    assert "run.superseded" not in types(await feed_of(store, session))
