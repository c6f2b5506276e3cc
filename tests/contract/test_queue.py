"""What a store promises about taking turns: leases, the queue, and runs whose node is gone."""

import asyncio
import threading
from datetime import timedelta

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import (
    AGENT,
    LEASE_SECONDS,
    NODE,
    OTHER_AGENT,
    OTHER_NODE,
    RETRY_SAFE,
    RUN_OUT,
    TENANT,
    TERMS,
    a_kept_session,
    a_session,
    accept,
    answer,
    claim,
    clock,
    commit,
    end_as,
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
    taken_over,
    types,
    waiting,
)
from turnkeeper.errors import LeaseLost, RunNotFound, SessionNotFound
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import RunId, Subject, TenantId
from turnkeeper.model.run import WAITED_TOO_LONG, RunError, RunInput, RunStatus
from turnkeeper.ports.runs import Work
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

LATER = NOON + timedelta(hours=1)


async def test_a_free_lease_without_a_queue_gives_nothing_to_run(store: Store) -> None:
    session = await a_kept_session(store)

    assert await claim(store, session) is None


async def test_an_unknown_session_has_nothing_to_claim(store: Store) -> None:
    with pytest.raises(SessionNotFound):
        await claim(store, a_session())


async def test_nobody_else_may_run_while_the_lease_is_held(store: Store) -> None:
    session = await a_kept_session(store)
    await accept(store, "First", session)
    await accept(store, "Second", session)

    assert await claim(store, session, node=OTHER_NODE) is None


async def test_queued_runs_are_claimed_in_the_order_of_the_queue(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)
    queued = [(await accept(store, text, session)).run for text in ("Second", "Third")]
    await commit(store, run, lease, "one")

    second = await claim(store, session, node=OTHER_NODE)
    assert second is not None
    await commit(store, second.run, second.lease, "two")
    third = await claim(store, session)

    assert third is not None
    assert [second.run.id, third.run.id] == [run.id for run in queued]
    assert (second.lease.holder, third.lease.holder) == (OTHER_NODE, NODE)
    assert await run_of(store, third.run) == third.run


async def test_a_commit_says_how_many_runs_wait_behind_it(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)
    await accept(store, "Second", session)
    await accept(store, "Third", session)

    committed = await commit(store, run, lease, "one")

    assert (committed.revision, committed.queued, committed.feed_no) == (1, 2, 4)


async def test_a_message_does_not_overtake_those_that_are_queued(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)
    await accept(store, "Second", session)
    await commit(store, run, lease, "one")

    third = await accept(store, "Third", session)

    assert third.lease is None


async def test_every_holder_has_a_higher_fence_than_all_before_it(store: Store) -> None:
    session = await a_kept_session(store)

    fences = []
    for _ in range(3):
        run, lease = await held(store, "Hello", session)
        fences.append(lease.fence)
        await commit(store, run, lease, "Welcome")

    assert fences == [1, 2, 3]


async def test_a_head_of_the_queue_whose_agent_is_not_here_blocks_those_behind_it(store: Store) -> None:
    session = await a_kept_session(store)
    await accept(store, "For the porter", session, agent=OTHER_AGENT)
    await accept(store, "For the concierge", session)

    here = await claim(store, session)
    there = await claim(store, session, node=OTHER_NODE, agents={OTHER_AGENT: TERMS[AGENT]})

    assert here is None
    assert there is not None
    assert there.run.agent == OTHER_AGENT


async def test_a_run_whose_lease_ran_out_is_abandoned_and_the_next_one_runs(store: Store) -> None:
    session = await a_kept_session(store)

    frozen, _, claimed = await taken_over(store, session)

    abandoned = await run_of(store, frozen)
    assert (abandoned.status, abandoned.ended_at, abandoned.superseded_by) == (RunStatus.ABANDONED, NOON, None)
    assert abandoned.input == frozen.input
    assert claimed.lease.fence == 3


async def test_an_abandoned_run_is_explained_from_its_feed_and_says_that_it_may_be_partial(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session, lease_seconds=RUN_OUT)
    await store.feed.append_delta(lease, "Let me ")
    await store.feed.append_delta(lease, "see")

    await claim(store, session, node=OTHER_NODE)

    explanation = await explained(store, run)
    assert (explanation.status, explanation.partial) == (RunStatus.ABANDONED, True)
    assert [stage.name for stage in explanation.stages] == ["run.accepted", "output.delta", "output.delta"]


async def test_the_end_of_an_abandoned_run_names_the_numbers_of_its_deltas(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "First", session, lease_seconds=RUN_OUT)
    await store.feed.append_delta(lease, "Let me ")
    await store.feed.append_delta(lease, "see")

    await claim(store, session, node=OTHER_NODE)

    entries = await feed_of(store, session)
    assert [(entry.no, entry.type.value) for entry in entries] == [(1, "run.accepted"), (4, "run.abandoned")]
    assert entries[-1].data == {"deltas": [2, 3]}


async def test_an_abandoned_run_of_a_retry_safe_agent_is_tried_again_in_its_place(store: Store) -> None:
    session = await a_kept_session(store)
    frozen, _ = await held(store, "First", session, agents=RETRY_SAFE, lease_seconds=RUN_OUT)
    second = await accept(store, "Second", session)

    claimed = await claim(store, session, node=OTHER_NODE, agents=RETRY_SAFE, new_run_id=RunId("run_again"))

    assert claimed is not None
    assert (claimed.run.id, claimed.run.retry_of, claimed.run.queue_no) == ("run_again", frozen.id, 1)
    assert claimed.run.input == frozen.input
    assert (await run_of(store, frozen)).superseded_by == "run_again"
    assert (await run_of(store, second.run)).status is RunStatus.QUEUED
    assert types(await feed_of(store, session))[-2:] == ["run.abandoned", "run.accepted"]


async def test_a_run_is_tried_again_at_most_once(store: Store) -> None:
    session = await a_kept_session(store)
    await held(store, "First", session, agents=RETRY_SAFE, lease_seconds=RUN_OUT)
    retried = await claim(store, session, agents=RETRY_SAFE, lease_seconds=RUN_OUT)
    assert retried is not None

    nothing = await claim(store, session, agents=RETRY_SAFE)

    assert nothing is None
    assert (await run_of(store, retried.run)).status is RunStatus.ABANDONED
    assert len(await store.runs.list(TENANT, session.id, before=None, limit=10)) == 2


async def test_a_retry_on_a_node_without_its_agent_waits_for_one_that_has_it(store: Store) -> None:
    session = await a_kept_session(store)
    await held(store, "First", session, agents=RETRY_SAFE, lease_seconds=RUN_OUT)

    here = await claim(store, session, agents={}, new_run_id=RunId("run_again"))
    there = await claim(store, session, node=OTHER_NODE, agents=RETRY_SAFE)

    assert here is None
    assert there is not None
    assert there.run.id == "run_again"


async def test_a_run_handed_over_by_its_own_node_is_tried_again_elsewhere(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session, agents=RETRY_SAFE)
    parting = explanation_of(run, RunStatus.ABANDONED)

    await store.runs.hand_over(lease, at=NOON, new_run_id=RunId("run_again"), explanation=parting)

    claimed = await claim(store, session, node=OTHER_NODE, agents=RETRY_SAFE)
    assert claimed is not None
    assert (claimed.run.id, claimed.run.retry_of) == ("run_again", run.id)
    assert await explained(store, run) == parting


async def test_a_run_handed_over_that_may_not_be_tried_again_is_abandoned(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)

    await store.runs.hand_over(
        lease, at=NOON, new_run_id=RunId("run_again"), explanation=explanation_of(run, RunStatus.ABANDONED)
    )

    assert (await run_of(store, run)).status is RunStatus.ABANDONED
    with pytest.raises(RunNotFound):
        await store.runs.get(TENANT, RunId("run_again"))
    assert (await accept(store, "Next", session)).lease is not None


async def test_a_queued_run_that_waited_too_long_ends_and_leaves_the_queue(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)
    late = await accept(store, "Second", session)
    await commit(store, run, lease, "one")

    claimed = await claim(store, session, at=LATER)

    ended = await run_of(store, late.run)
    assert claimed is None
    assert (ended.status, ended.error, ended.ended_at) == (RunStatus.TIMED_OUT, WAITED_TOO_LONG, LATER)
    assert (await explained(store, late.run)).error == WAITED_TOO_LONG
    assert (await accept(store, "Third", session)).lease is not None


async def test_a_waiting_run_that_nobody_answered_in_time_ends(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)

    await claim(store, session, at=NOON + timedelta(days=2))

    assert (await run_of(store, asked)).status is RunStatus.TIMED_OUT
    assert (await accept(store, "Next", session)).lease is not None


async def test_a_renewed_lease_lasts_longer(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "First", session, lease_seconds=RUN_OUT)

    lost = store.runs.renew([lease], lease_seconds=LEASE_SECONDS)

    assert lost == []
    assert await claim(store, session, node=OTHER_NODE) is None


async def test_renewing_reports_the_leases_that_are_lost(store: Store) -> None:
    session, other = await a_kept_session(store), await a_kept_session(store)
    _, lost, claimed = await taken_over(store, session)
    _, kept = await held(store, "Hello", other)

    reported = store.runs.renew([kept, lost], lease_seconds=LEASE_SECONDS)

    assert reported == [lost]
    assert store.runs.renew([claimed.lease], lease_seconds=LEASE_SECONDS) == []


async def test_a_lease_that_was_given_back_cannot_be_renewed(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)
    await commit(store, run, lease, "one")

    assert store.runs.renew([lease], lease_seconds=LEASE_SECONDS) == [lease]


async def test_a_lease_is_renewed_from_a_thread_while_the_event_loop_is_blocked(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "First", session, lease_seconds=RUN_OUT)
    lost: list[object] = [None]

    def renew() -> None:
        lost[:] = store.runs.renew([lease], lease_seconds=LEASE_SECONDS)

    thread = threading.Thread(target=renew)
    thread.start()
    thread.join()

    assert lost == []


async def test_a_failed_run_gives_the_lease_back_and_changes_nothing_in_the_session(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome", guests=2)
    run, lease = await held(store, "And now?", session)
    broken = RunError(code="agent_failed", message="The agent failed.", stage="hand_off")

    ended = await store.runs.end(lease, end_as(run, RunStatus.FAILED, error=broken))

    loaded = await load(store, session)
    kept = await run_of(store, run)
    assert (lines(loaded), loaded.state, loaded.session.revision) == (["Hello", "Welcome"], {"guests": 2}, 1)
    assert (kept.status, kept.error, kept.input) == (RunStatus.FAILED, broken, run.input)
    assert await explained(store, run) == explanation_of(run, RunStatus.FAILED)
    assert (ended.queued, ended.feed_no) == (0, 4)
    assert (await accept(store, "Next", session)).lease is not None


async def test_runs_are_listed_newest_first_page_by_page(store: Store) -> None:
    session, other = await a_kept_session(store), await a_kept_session(store)
    kept = [(await accept(store, f"message {number}", session)).run for number in range(5)]
    await accept(store, "elsewhere", other)

    first = await store.runs.list(TENANT, session.id, before=None, limit=3)
    second = await store.runs.list(TENANT, session.id, before=first[-1].id, limit=3)

    assert [run.id for run in (*first, *second)] == [run.id for run in reversed(kept)]


async def test_a_run_of_another_tenant_is_not_found(store: Store) -> None:
    session = await a_kept_session(store)
    accepted = await accept(store, "Hello", session)

    with pytest.raises(RunNotFound):
        await store.runs.get(TenantId("globex"), accepted.run.id)

    with pytest.raises(RunNotFound):
        await store.runs.cancel(TenantId("globex"), accepted.run.id, at=NOON)

    assert await store.runs.list(TenantId("globex"), session.id, before=None, limit=10) == []


async def test_an_open_run_has_no_explanation_yet(store: Store) -> None:
    session = await a_kept_session(store)
    accepted = await accept(store, "Hello", session)

    assert await store.explanations.get(accepted.run) is None


async def test_what_is_due_is_where_a_claim_is_worth_a_try(store: Store) -> None:
    busy, idle = await a_kept_session(store), await a_kept_session(store)
    free, behind, overdue = [await a_kept_session(store) for _ in range(3)]
    await accept(store, "being answered", busy)
    await accept(store, "queued behind it", busy)
    await exchange(store, idle, "Hello", "Welcome")
    await accept(store, "queued", free, agents={})
    await accept(store, "its node died", behind, lease_seconds=RUN_OUT)
    await accept(store, "queued behind it", behind)
    await waiting(store, overdue)

    now = await store.runs.due(agents=[AGENT], at=NOON, limit=10)
    in_two_days = await store.runs.due(agents=[AGENT], at=NOON + timedelta(days=2), limit=10)

    late = {Work(tenant=TENANT, subject=Subject(session.id)) for session in (busy, overdue)}
    expected = {Work(tenant=TENANT, subject=Subject(session.id)) for session in (free, behind)}
    assert set(now) == expected
    assert set(in_two_days) == expected | late


async def test_what_a_node_holds_can_be_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnkeeper.stores.rows.LEASES_AT_ONCE", 2)
    sessions = [await a_kept_session(store) for _ in range(5)]
    for session in sessions[:3]:
        await accept(store, "being answered", session)
    await accept(store, "being answered elsewhere", sessions[3], node=OTHER_NODE)

    held_here = [work async for work in store.runs.held_by(NODE)]

    assert {work.subject for work in held_here} == {Subject(session.id) for session in sessions[:3]}


async def test_no_more_is_due_at_once_than_was_asked_for(store: Store) -> None:
    for _ in range(3):
        await accept(store, "queued", await a_kept_session(store), agents={})

    assert len(await store.runs.due(agents=[AGENT], at=NOON, limit=2)) == 2


async def test_a_queued_run_can_be_cancelled_and_leaves_the_queue(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)
    second = await accept(store, "Second", session)

    cancelled = await store.runs.cancel(TENANT, second.run.id, at=NOON)

    committed = await commit(store, run, lease, "one")
    assert (cancelled.status, cancelled.ended_at) == (RunStatus.CANCELLED, NOON)
    assert await run_of(store, second.run) == cancelled
    assert (await explained(store, second.run)).status is RunStatus.CANCELLED
    assert committed.queued == 0


async def test_a_waiting_run_can_be_cancelled(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)

    cancelled = await store.runs.cancel(TENANT, asked.id, at=NOON)

    assert cancelled.status is RunStatus.CANCELLED
    assert types(await feed_of(store, session))[-1] == "run.cancelled"


async def test_cancelling_a_running_or_ended_run_changes_nothing(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)

    while_running = await store.runs.cancel(TENANT, run.id, at=NOON)
    await commit(store, run, lease, "one")
    after_its_end = await store.runs.cancel(TENANT, run.id, at=NOON)

    assert (while_running.status, after_its_end.status) == (RunStatus.RUNNING, RunStatus.COMPLETED)


async def test_a_holder_hears_that_it_is_asked_to_stop_and_by_whom(store: Store) -> None:
    session = await a_kept_session(store)
    first, lease = await held(store, "First", session)
    second = await accept(store, "Second", session)

    nothing_yet = await store.runs.stop_wish(lease)
    asked = await store.runs.ask_to_give_way(second.run, DoubleText.ROLLBACK)
    await store.runs.ask_to_cancel(first)

    assert nothing_yet is None
    assert asked == lease
    assert await store.runs.stop_wish(lease) == ("rollback", second.run.id)


async def test_a_wish_to_cancel_is_for_one_run_and_for_no_other(store: Store) -> None:
    session = await a_kept_session(store)
    first, lease = await held(store, "First", session)
    await store.runs.end(lease, end_as(first, RunStatus.FAILED))
    between = await store.runs.ask_to_cancel(first)
    _, next_lease = await held(store, "Second", session)

    assert between is None
    assert await store.runs.ask_to_cancel(first) is None
    assert await store.runs.stop_wish(next_lease) is None


async def test_a_newcomer_that_runs_already_is_not_asked_to_give_way_to_itself(store: Store) -> None:
    session = await a_kept_session(store)
    first, lease = await held(store, "First", session)
    newcomer = (await accept(store, "Second", session)).run
    await store.runs.end(lease, end_as(first, RunStatus.FAILED))
    claimed = await claim(store, session)
    assert claimed is not None

    asked = await store.runs.ask_to_give_way(newcomer, DoubleText.INTERRUPT)

    assert asked is None
    assert await store.runs.stop_wish(claimed.lease) is None


async def test_a_command_does_not_give_way_to_a_message(store: Store) -> None:
    session = await a_kept_session(store)
    command = run_saying("reset", session, input=RunInput(command=Command.RESET))
    accepted = await store.runs.accept(intake_of(command))
    assert accepted.lease is not None
    newcomer = (await accept(store, "Second", session)).run

    asked = [await store.runs.ask_to_give_way(newcomer, how) for how in (DoubleText.MERGE, DoubleText.INTERRUPT)]

    assert asked == [None, None]
    assert not await supersede(store, accepted.lease, newcomer, DoubleText.INTERRUPT)
    assert (await run_of(store, newcomer)).merged is False


async def test_a_merge_leaves_no_wish_behind(store: Store) -> None:
    session = await a_kept_session(store)
    first, lease = await held(store, "First", session)
    newcomer = (await accept(store, "Second", session)).run

    await store.runs.ask_to_give_way(newcomer, DoubleText.MERGE)

    assert await store.runs.stop_wish(lease) is None
    assert await store.runs.ask_to_cancel(first) == lease


async def test_what_is_queued_for_agents_of_other_nodes_is_not_due_here(store: Store) -> None:
    await accept(store, "queued", await a_kept_session(store), agents={})

    assert await store.runs.due(agents=[OTHER_AGENT], at=NOON, limit=10) == []


async def test_a_wait_is_over_in_time_also_while_another_run_holds_the_session(store: Store) -> None:
    session = await a_kept_session(store)
    await held(store, "First", session)
    late = (await accept(store, "Second", session)).run

    await claim(store, session, at=NOON + timedelta(hours=1))

    assert (await run_of(store, late)).status is RunStatus.TIMED_OUT


async def test_a_wish_to_stop_ends_with_the_run_it_was_meant_for(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)
    await store.runs.ask_to_cancel(run)
    await store.runs.end(lease, end_as(run, RunStatus.CANCELLED))

    _, next_lease = await held(store, "Second", session)

    assert await store.runs.stop_wish(next_lease) is None
    with pytest.raises(LeaseLost):
        await store.runs.stop_wish(lease)


async def test_eight_messages_at_once_get_eight_places_in_the_queue(store: Store) -> None:
    session = await a_kept_session(store)

    accepted = await asyncio.gather(*(accept(store, f"message {number}", session) for number in range(8)))

    assert sorted(one.run.queue_no for one in accepted) == list(range(1, 9))
    assert [one.run.queue_no for one in accepted if one.lease is not None] == [1]


async def test_of_two_nodes_that_claim_at_once_only_one_gets_the_run(store: Store, backend: Backend) -> None:
    other = backend.store(OTHER_NODE)
    await other.database.open()
    session = await a_kept_session(store)
    await accept(store, "queued", session, agents={})

    claims = await asyncio.gather(
        *(claim(store, session) for _ in range(4)), *(claim(other, session, node=OTHER_NODE) for _ in range(4))
    )

    await other.database.close()
    assert len([claimed for claimed in claims if claimed is not None]) == 1


async def test_eight_writers_on_one_session_keep_every_turn_whole_and_in_order(store: Store, backend: Backend) -> None:
    """Two nodes, eight callers, each with three messages, whoever is free answers."""
    other = backend.store(OTHER_NODE)
    await other.database.open()
    session = await a_kept_session(store)
    nodes = [(store, NODE), (other, OTHER_NODE)] * 4

    async def speak(number: int) -> None:
        mine, node = nodes[number]
        for count in range(3):
            run = run_saying(f"{number}.{count}", session)
            accepted = await mine.runs.accept(intake_of(run, node=node))
            held_run, lease = accepted.run, accepted.lease
            while lease is not None:
                await commit(mine, held_run, lease, f"re: {held_run.input.events[0].text}")
                claimed = await claim(mine, session, node=node)
                held_run, lease = (claimed.run, claimed.lease) if claimed else (held_run, None)

    await asyncio.gather(*(speak(number) for number in range(8)))
    leftovers = await claim(store, session)

    await other.database.close()
    loaded = await load(store, session, window=100)
    said = lines(loaded)
    assert leftovers is None
    assert (loaded.session.revision, loaded.session.turns, len(said)) == (24, 24, 48)
    assert said[1::2] == [f"re: {text}" for text in said[0::2]]
    for number in range(8):
        assert [text for text in said[0::2] if text.startswith(f"{number}.")] == [f"{number}.{c}" for c in range(3)]
    assert [entry.no for entry in await feed_of(store, session)] == list(range(1, 49))


async def test_an_answer_waits_its_turn_like_every_message(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)
    run, lease = await held(store, "By the way", session)

    answered = await answer(store, session, asked, "Four")
    await commit(store, run, lease, "Yes?")
    claimed = await claim(store, session, new_run_id=RunId(clock.new_id("run")))

    assert (answered.lease, answered.run.status, answered.run.queue_no) == (None, RunStatus.QUEUED, 3)
    assert claimed is not None
    assert claimed.run.id == asked.id
    assert claimed.checkpoint is not None
    assert claimed.checkpoint.asks[-1].answer == "Four"
