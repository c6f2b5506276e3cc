"""What a store promises about runs that wait for a person, and about resets."""

from dataclasses import replace
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
    intake_of,
    lines,
    load,
    reset,
    run_of,
    run_saying,
    types,
    waiting,
)
from turnkeeper.errors import AnswerNotAccepted, RunNotFound, RunNotWaiting, SessionClosed, SessionMoved
from turnkeeper.model.checkpoint import Ask, AskKind, Checkpoint
from turnkeeper.model.event import Event
from turnkeeper.model.ids import TraceId
from turnkeeper.model.run import RunInput, RunStatus
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


@pytest.mark.parametrize(
    ("asked", "answered", "left"),
    [
        (("orders.read", "orders.return"), ("orders.read",), ("orders.read",)),
        (("orders.read",), ("orders.return",), ()),
        (("orders.read",), None, ("orders.read",)),
        (None, (), ()),
        (None, None, None),
    ],
)
async def test_an_answered_run_goes_on_with_the_grants_that_both_hold(
    store: Store, asked: tuple[str, ...] | None, answered: tuple[str, ...] | None, left: tuple[str, ...] | None
) -> None:
    session = await a_kept_session(store)
    run = run_saying("A table", session, input=RunInput(events=(Event(text="A table"),), grants=asked))
    lease = (await store.runs.accept(intake_of(run))).lease
    assert lease is not None
    await store.runs.suspend(lease, asking("For how many?"), at=NOON, wait_until=NOON + timedelta(days=1))
    four = run_saying("Four", session, input=RunInput(events=(Event(text="Four"),), grants=answered))

    woken = await store.runs.accept(intake_of(four, answers=run.id, answer_text="Four"))

    assert woken.run.input == replace(run.input, grants=left)
    assert (await run_of(store, run)).input == replace(run.input, grants=left)


async def test_the_feed_tells_the_trace_of_an_answer_and_the_run_keeps_its_own(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)
    four = run_saying("Four", session, trace_id=TraceId("f" * 32))

    answered = await store.runs.accept(intake_of(four, answers=asked.id, answer_text="Four"))

    assert answered.run.trace_id == asked.trace_id
    assert (await feed_of(store, session))[-1].data == {"trace_id": "f" * 32}


@pytest.mark.parametrize("channel", ["sms", "email", "api"])
async def test_an_approval_is_not_given_through_another_channel(store: Store, backend: Backend, channel: str) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Pay it", session)
    ask = Ask(said="", question="May I?", kind=AskKind.APPROVAL)
    await store.runs.suspend(lease, Checkpoint(asks=(ask,)), at=NOON, wait_until=NOON + timedelta(days=1))
    yes = run_saying("Yes", session, input=RunInput(events=(Event(text="Yes"),), channel=channel))
    before = await contents(backend)

    with pytest.raises(AnswerNotAccepted):
        await store.runs.accept(intake_of(yes, answers=run.id, answer_text="Yes"))

    assert await contents(backend) == before


@pytest.mark.parametrize("channel", ["sms", "app_chat"])
async def test_an_approval_is_given_where_it_was_asked_for_or_by_who_has_signed_in(store: Store, channel: str) -> None:
    session = await a_kept_session(store)
    run = run_saying("Pay it", session, input=RunInput(events=(Event(text="Pay it"),), channel="sms"))
    lease = (await store.runs.accept(intake_of(run))).lease
    assert lease is not None
    ask = Ask(said="", question="May I?", kind=AskKind.APPROVAL)
    await store.runs.suspend(lease, Checkpoint(asks=(ask,)), at=NOON, wait_until=NOON + timedelta(days=1))
    yes = run_saying("Yes", session, input=RunInput(events=(Event(text="Yes"),), channel=channel))

    answered = await store.runs.accept(intake_of(yes, answers=run.id, answer_text="Yes"))

    assert answered.run.status is RunStatus.RUNNING


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
