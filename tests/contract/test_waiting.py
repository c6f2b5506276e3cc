"""What a store promises about runs that wait for a person, and about resets."""

from datetime import timedelta

import pytest

from tests.contract.backends import Backend, contents
from tests.contract.builders import (
    OTHER_NODE,
    TENANT,
    a_kept_session,
    accept,
    answer,
    asking,
    claim,
    close_session,
    commit,
    exchange,
    explained,
    feed_of,
    held,
    lines,
    load,
    reset,
    run_of,
    types,
    waiting,
)
from turnkeeper.errors import RunNotFound, RunNotWaiting, SessionClosed, SessionMoved
from turnkeeper.model.checkpoint import Ask
from turnkeeper.model.run import RunStatus
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON


async def test_a_run_that_waits_for_a_person_holds_no_lease(store: Store) -> None:
    session = await a_kept_session(store)

    asked = await waiting(store, session, "For how many?")

    entries = await feed_of(store, session)
    assert (await run_of(store, asked)).status is RunStatus.WAITING
    assert (types(entries), entries[-1].data) == (["run.accepted", "run.waiting"], {"question": "For how many?"})
    assert await store.runs.checkpoint(TENANT, asked.id) == asking("For how many?")
    assert (await accept(store, "By the way", session)).lease is not None


async def test_suspending_says_how_many_runs_wait_behind(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "First", session)
    await accept(store, "Second", session)

    committed = await store.runs.suspend(lease, asking("Really?"), at=NOON, wait_until=NOON)

    assert committed.queued == 1
    assert await claim(store, session) is not None


async def test_deltas_shown_before_a_question_are_part_of_it(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "A table", session)
    await store.feed.append_delta(lease, "Gladly.")

    await store.runs.suspend(lease, asking("For how many?", said="Gladly."), at=NOON, wait_until=NOON)

    entries = await feed_of(store, session)
    assert types(entries) == ["run.accepted", "run.waiting"]
    assert entries[-1].data == {"question": "Gladly.\nFor how many?", "deltas": [2, 2]}


async def test_an_answer_wakes_the_run_with_its_checkpoint_under_a_new_fence(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)

    answered = await answer(store, session, asked, "Four", node=OTHER_NODE)

    assert answered.lease is not None
    assert (answered.run.id, answered.run.status, answered.lease.fence) == (asked.id, RunStatus.RUNNING, 2)
    assert answered.checkpoint is not None
    assert answered.checkpoint.asks == (Ask(said="", question="For how many?", answer="Four"),)
    assert await store.runs.checkpoint(TENANT, asked.id) == answered.checkpoint
    assert types(await feed_of(store, session))[-1] == "run.answered"
    assert await run_of(store, asked) == answered.run


async def test_a_run_may_ask_again_and_commits_on_the_revision_of_that_moment(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)
    await exchange(store, session, "What is the time?", "Noon")
    first = await answer(store, session, asked, "Four")
    assert first.lease is not None
    assert first.checkpoint is not None
    await store.runs.suspend(
        first.lease, asking("At what time?", *first.checkpoint.asks), at=NOON, wait_until=NOON + timedelta(days=1)
    )

    second = await answer(store, session, asked, "Eight")

    assert second.lease is not None
    assert second.checkpoint is not None
    assert [ask.answer for ask in second.checkpoint.asks] == ["Four", "Eight"]
    await commit(store, second.run, second.lease, "Done")
    loaded = await load(store, session)
    assert (lines(loaded)[-1], loaded.session.revision) == ("Done", 2)


async def test_only_a_waiting_run_takes_an_answer(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)
    await commit(store, run, lease, "Welcome")
    before = await contents(backend)

    with pytest.raises(RunNotWaiting):
        await answer(store, session, run, "Four")

    assert await contents(backend) == before


async def test_a_run_of_another_session_takes_no_answer_from_here(store: Store, backend: Backend) -> None:
    session, other = await a_kept_session(store), await a_kept_session(store)
    asked = await waiting(store, session)
    before = await contents(backend)

    with pytest.raises(RunNotFound):
        await answer(store, other, asked, "Four")

    assert await contents(backend) == before


async def test_a_closed_session_takes_no_answer(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)
    await close_session(store, session)

    with pytest.raises(SessionClosed):
        await answer(store, session, asked, "Four")


async def test_a_run_without_a_question_has_no_checkpoint(store: Store) -> None:
    session = await a_kept_session(store)
    accepted = await accept(store, "Hello", session)

    assert await store.runs.checkpoint(TENANT, accepted.run.id) is None


async def test_a_reset_opens_an_epoch_from_which_nothing_before_can_be_reached(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome", guests=2)
    _, lease = await held(store, "Start over", session)

    epoch = await reset(store, session, lease, revision=1)

    loaded = await load(store, session)
    assert (epoch.number, epoch.first_seq, epoch.started_at) == (2, 3, NOON)
    assert (loaded.history, loaded.state, loaded.session.epoch) == ((), {}, epoch)
    assert (loaded.session.revision, loaded.session.turns) == (2, 1)
    assert types(await feed_of(store, session))[-1] == "session.reset"


async def test_what_was_said_before_a_reset_can_still_be_read(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome")
    run, lease = await held(store, "Start over", session)
    await reset(store, session, lease, revision=1)
    await commit(store, run, lease, "A fresh start", {"fresh": True})

    messages = await store.sessions.messages(TENANT, session.id, after=0, limit=10)

    loaded = await load(store, session)
    assert [(message.epoch, message.content) for message in messages] == [
        (1, "Hello"),
        (1, "Welcome"),
        (2, "Start over"),
        (2, "A fresh start"),
    ]
    assert (lines(loaded), loaded.state) == (["Start over", "A fresh start"], {"fresh": True})


async def test_the_run_that_resets_keeps_its_lease(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Start over", session)

    await reset(store, session, lease)

    committed = await commit(store, run, lease, "A fresh start")
    assert committed.revision == 2


async def test_a_reset_cancels_the_waiting_runs_and_leaves_the_queued_ones(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)
    _, lease = await held(store, "Start over", session)
    queued = await accept(store, "And then", session)

    await reset(store, session, lease)

    assert (await run_of(store, asked)).status is RunStatus.CANCELLED
    assert (await explained(store, asked)).status is RunStatus.CANCELLED
    assert (await run_of(store, queued.run)).status is RunStatus.QUEUED


async def test_a_reset_on_a_session_that_moved_on_writes_nothing(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome")
    _, lease = await held(store, "Start over", session)
    before = await contents(backend)

    with pytest.raises(SessionMoved):
        await reset(store, session, lease, revision=0)

    assert await contents(backend) == before
