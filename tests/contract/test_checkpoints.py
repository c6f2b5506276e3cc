"""What a store promises about checkpoints, and about long runs whose node is gone."""

from datetime import timedelta
from typing import Any

import pytest

from tests.contract.backends import Backend, Refused, contents
from tests.contract.builders import (
    LEASE_SECONDS,
    OTHER_NODE,
    RETRY_SAFE,
    RUN_OUT,
    TENANT,
    a_kept_session,
    accept,
    answer,
    asking,
    claim,
    close_session,
    commit,
    explained,
    explanation_of,
    feed_of,
    intake_of,
    lines,
    load,
    run_of,
    run_saying,
    supersede,
    types,
)
from turnkeeper.errors import CheckpointConflict, LeaseLost
from turnkeeper.model.checkpoint import Checkpoint
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import RunId, Subject
from turnkeeper.model.lease import Lease
from turnkeeper.model.mode import Mode
from turnkeeper.model.run import Run, RunInput, RunStatus
from turnkeeper.model.session import Session
from turnkeeper.model.verdict import Judgement, Phase, Verdict
from turnkeeper.ports.runs import Claimed, ResumeTerms
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

OK = Verdict(phase=Phase.VERIFY, value=Judgement.OK, step="plan")
GOOD = Verdict(phase=Phase.SCORE, value=Judgement.ACCEPT, kind="evidence", reasons=("all there",))
LATER = NOON + timedelta(hours=1)


async def long_run(
    store: Store, session: Session, *, lease_seconds: float = RUN_OUT, **changes: Any
) -> tuple[Run, Lease]:
    """A long run; unless said otherwise its node is already gone."""
    run = run_saying("Plan a trip", session, mode=Mode.LONG_RUNNING, **changes)
    accepted = await store.runs.accept(intake_of(run, lease_seconds=lease_seconds, long_runs=9))
    assert accepted.lease is not None
    return accepted.run, accepted.lease


async def save(store: Store, lease: Lease, *verdicts: Verdict, said: str = "") -> str:
    kept = await store.checkpoints.save(lease, Checkpoint(verdicts=verdicts, said=said), verdicts[-1], at=NOON)
    return kept.id


async def resumed(store: Store, session: Session, **changes: Any) -> Claimed:
    claimed = await claim(store, session, node=OTHER_NODE, **changes)
    assert claimed is not None, "nothing was taken up"
    return claimed


async def test_a_checkpoint_and_its_verdict_are_kept_and_told_in_one_go(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await long_run(store, session)

    first = await save(store, lease, OK, said="I look")
    second = await save(store, lease, OK, GOOD, said="I look and see")

    kept = await store.checkpoints.list(TENANT, run.id)
    assert [each.seq for each in kept] == [1, 2]
    assert [each.id for each in kept] == [first, second]
    assert kept[1].checkpoint == Checkpoint(verdicts=(OK, GOOD), said="I look and see")
    assert [each.checkpoint.feed_no for each in kept] == [3, 5]
    entries = await feed_of(store, session)
    assert types(entries)[1:] == ["critic.verdict", "checkpoint.saved"] * 2
    assert [entry.no for entry in entries] == [1, 2, 3, 4, 5]
    assert entries[3].data == {
        "phase": "score",
        "value": "accept",
        "kind": "evidence",
        "reasons": ["all there"],
        "step_id": None,
    }
    assert entries[4].data == {"checkpoint_id": second, "checkpoint_seq": 2}


async def test_a_stale_writer_keeps_no_checkpoint(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    _, lost = await long_run(store, session)
    await resumed(store, session)
    before = await contents(backend)

    with pytest.raises(CheckpointConflict) as refused:
        await save(store, lost, OK)

    assert refused.value.code == "checkpoint_conflict"
    assert await contents(backend) == before


async def test_a_stale_writer_tells_nothing(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    _, lost = await long_run(store, session)
    await resumed(store, session)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await store.feed.append(lost, FeedType.BUDGET_UPDATE, {}, at=NOON)

    assert await contents(backend) == before


async def test_what_happens_in_a_run_is_told_under_the_next_number(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await long_run(store, session)

    no = await store.feed.append(lease, FeedType.BUDGET_UPDATE, {"tokens": 7}, at=LATER)

    told = (await feed_of(store, session))[-1]
    assert (told.no, told.type.value, told.run_id, told.at) == (no, "budget.update", run.id, LATER)
    assert (no, told.data) == (2, {"tokens": 7})


async def test_a_long_run_whose_node_is_gone_goes_on_under_its_own_id_and_a_new_fence(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await long_run(store, session)
    checkpoint = await save(store, lease, OK, said="I look")

    claimed = await resumed(store, session, at=LATER)

    assert claimed.run.id == run.id
    assert (claimed.run.status, claimed.run.started_at) == (RunStatus.RUNNING, NOON)
    assert claimed.lease.fence > lease.fence
    assert claimed.checkpoint == Checkpoint(verdicts=(OK,), said="I look")
    told = (await feed_of(store, session))[-1]
    assert (told.type.value, told.data) == ("run.resumed", {"from": checkpoint, "attempt": 1, "text": "I look"})
    assert await run_of(store, run) == claimed.run


async def test_a_long_run_without_a_checkpoint_goes_on_too(store: Store) -> None:
    session = await a_kept_session(store)
    run, _ = await long_run(store, session)

    claimed = await resumed(store, session)

    assert (claimed.run.id, claimed.checkpoint) == (run.id, None)
    assert (await feed_of(store, session))[-1].data == {"from": None, "attempt": 1, "text": ""}


async def test_what_the_dead_node_had_said_is_gone_and_the_kept_text_takes_its_place(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await long_run(store, session)
    await store.feed.append_delta(lease, "I look")
    await save(store, lease, OK, said="I look")
    await store.feed.append_delta(lease, " and stumble")

    claimed = await resumed(store, session)
    await store.feed.append_delta(claimed.lease, " and see")

    entries = await feed_of(store, session)
    assert types(entries)[1:] == ["critic.verdict", "checkpoint.saved", "run.resumed", "output.delta"]
    assert entries[-2].data["text"] == "I look"
    assert entries[-2].data["deltas"] == [2, 5]
    await commit(store, claimed.run, claimed.lease, "I look and see")
    end = (await feed_of(store, session))[-1]
    assert (end.data["text"], end.data["deltas"]) == ("I look and see", [7, 7])
    assert (await run_of(store, run)).status is RunStatus.COMPLETED


async def test_an_interrupted_run_keeps_what_was_shown_before_and_after_it_was_resumed(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await long_run(store, session)
    await save(store, lease, OK, said="I look")
    claimed = await resumed(store, session)
    await store.feed.append_delta(claimed.lease, " and see")
    await save(store, claimed.lease, OK, GOOD, said="I look and see")
    newcomer = (await accept(store, "Stop", session)).run

    await supersede(store, claimed.lease, newcomer, DoubleText.INTERRUPT)

    assert lines(await load(store, session)) == ["Plan a trip", "I look and see"]


async def test_messages_behind_a_long_run_do_not_overtake_it(store: Store) -> None:
    session = await a_kept_session(store)
    run, _ = await long_run(store, session)
    behind = (await accept(store, "And then", session)).run

    claimed = await resumed(store, session)
    committed = await commit(store, claimed.run, claimed.lease, "A trip")
    then = await resumed(store, session)

    assert (claimed.run.id, committed.queued, then.run.id) == (run.id, 1, behind.id)


async def test_a_long_run_that_comes_to_nothing_every_time_is_abandoned(store: Store) -> None:
    session = await a_kept_session(store)
    run, _ = await long_run(store, session)
    terms = ResumeTerms(takeovers=2)

    for attempt in (1, 2):
        await resumed(store, session, lease_seconds=RUN_OUT, resume=terms)
        assert (await feed_of(store, session))[-1].data["attempt"] == attempt
    nothing = await claim(store, session, resume=terms)

    assert nothing is None
    assert (await run_of(store, run)).status is RunStatus.ABANDONED
    assert (await explained(store, run)).partial


async def test_a_new_checkpoint_gives_a_long_run_new_patience(store: Store) -> None:
    session = await a_kept_session(store)
    run, _ = await long_run(store, session)
    terms = ResumeTerms(takeovers=1)
    claimed = await resumed(store, session, lease_seconds=RUN_OUT, resume=terms)
    await save(store, claimed.lease, OK)

    again = await resumed(store, session, lease_seconds=RUN_OUT, resume=terms)

    assert again.run.id == run.id
    assert (await feed_of(store, session))[-1].data["attempt"] == 1
    assert await claim(store, session, resume=terms) is None


async def test_a_long_run_that_was_to_be_cancelled_is_cancelled_when_its_node_is_gone(store: Store) -> None:
    session = await a_kept_session(store)
    run, _ = await long_run(store, session)
    await store.runs.ask_to_cancel(run)

    nothing = await claim(store, session)

    assert nothing is None
    assert (await run_of(store, run)).status is RunStatus.CANCELLED
    assert (await accept(store, "Hello", session)).lease is not None


async def test_a_long_run_waits_for_a_node_that_has_its_agent_until_its_time_is_over(store: Store) -> None:
    session = await a_kept_session(store)
    run, _ = await long_run(store, session)
    terms = ResumeTerms(long_run_seconds=7200)

    nobody = await claim(store, session, agents={}, resume=terms)
    queued = await run_of(store, run)
    due = await store.runs.due(agents=[session.agent], at=LATER, limit=10)
    claimed = await resumed(store, session, at=LATER, resume=terms)

    assert nobody is None
    assert (queued.status, queued.wait_until) == (RunStatus.QUEUED, NOON + timedelta(hours=2))
    assert [work.subject for work in due] == [Subject(session.id)]
    assert (claimed.run.id, claimed.run.started_at) == (run.id, NOON)


async def test_a_node_that_goes_away_queues_its_long_run_again(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await long_run(store, session, lease_seconds=LEASE_SECONDS)
    await save(store, lease, OK, said="I look")

    await store.runs.hand_over(
        lease, at=NOON, new_run_id=RunId("run_never"), explanation=explanation_of(run, RunStatus.ABANDONED)
    )

    assert (await run_of(store, run)).status is RunStatus.QUEUED
    assert (await feed_of(store, session))[-1].data["attempt"] == 0
    claimed = await resumed(store, session)
    assert claimed.run.id == run.id
    assert claimed.checkpoint == Checkpoint(verdicts=(OK,), said="I look")
    assert types(await feed_of(store, session)).count("run.resumed") == 1


async def test_any_other_run_whose_node_is_gone_is_abandoned(store: Store) -> None:
    session = await a_kept_session(store)
    accepted = await accept(store, "Hello", session, lease_seconds=RUN_OUT)

    nothing = await claim(store, session)

    assert nothing is None
    assert (await run_of(store, accepted.run)).status is RunStatus.ABANDONED


async def test_a_long_run_is_resumed_rather_than_tried_again(store: Store) -> None:
    session = await a_kept_session(store)
    run = run_saying("Plan a trip", session, mode=Mode.LONG_RUNNING)
    await store.runs.accept(intake_of(run, lease_seconds=RUN_OUT, agents=RETRY_SAFE, long_runs=9))

    claimed = await resumed(store, session)

    assert (claimed.run.id, claimed.run.retry_of) == (run.id, None)


async def test_the_time_that_a_long_run_waits_for_a_person_is_not_counted(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await long_run(store, session, lease_seconds=LEASE_SECONDS)
    asked_at, day = NOON + timedelta(minutes=5), timedelta(days=1)
    await store.runs.suspend(lease, asking("For how many?"), at=asked_at, wait_until=asked_at + day)

    with_answer = run_saying("Four", session, accepted_at=asked_at + timedelta(hours=20))
    answered = await store.runs.accept(intake_of(with_answer, answers=run.id, answer_text="Four"))

    assert answered.run.started_at == NOON + timedelta(hours=20)
    assert answered.run.ends_by(600) == asked_at + timedelta(hours=20, minutes=5)


async def test_the_caller_of_a_long_run_says_how_long_it_may_take(store: Store) -> None:
    session = await a_kept_session(store)
    limited = RunInput(events=run_saying("x", session).input.events, limits={"max_session_duration_ms": 90_000})

    run, _ = await long_run(store, session, input=limited)

    assert (await run_of(store, run)).ends_by(600) == NOON + timedelta(seconds=90)


async def test_questions_and_verdicts_share_one_line_of_checkpoints(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await long_run(store, session, lease_seconds=LEASE_SECONDS)
    await save(store, lease, OK)
    question = Checkpoint(verdicts=(OK,), asks=asking("For how many?").asks)
    await store.runs.suspend(lease, question, at=NOON, wait_until=NOON + timedelta(days=1))

    answered = await answer(store, session, run, "Four")

    kept = await store.checkpoints.list(TENANT, run.id)
    assert [each.seq for each in kept] == [1, 2, 3]
    assert [each.checkpoint.feed_no for each in kept] == [3, 4, 5]
    assert answered.checkpoint == kept[-1].checkpoint
    assert kept[-1].checkpoint.verdicts == (OK,)
    assert kept[-1].checkpoint.asks[-1].answer == "Four"


async def test_checkpoints_go_only_when_their_session_is_long_over(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await long_run(store, session, lease_seconds=LEASE_SECONDS)
    await save(store, lease, OK)
    await close_session(store, session)

    while_it_runs = await store.checkpoints.forget(before=LATER)
    await commit(store, run, lease, "A trip")
    with pytest.raises(Refused):
        await backend.execute("DELETE FROM checkpoints")
    forgotten = await store.checkpoints.forget(before=LATER)

    assert (while_it_runs, forgotten) == (0, 1)
    assert await store.checkpoints.list(TENANT, run.id) == []
    assert await store.checkpoints.forget(before=LATER) == 0
