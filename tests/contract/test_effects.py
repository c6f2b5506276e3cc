"""What a store promises about the ledger of effects."""

from datetime import timedelta

import pytest

from tests.contract.backends import Backend, contents
from tests.contract.builders import (
    OTHER_NODE,
    TENANT,
    a_kept_session,
    accept,
    close_session,
    commit,
    feed_of,
    held,
    run_of,
    supersede,
    taken_over,
    types,
)
from turnkeeper.errors import LeaseLost
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.effect import Effect, EffectStatus
from turnkeeper.model.ids import RunId, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.model.run import RunStatus
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

LATER = NOON + timedelta(seconds=5)


async def begin(store: Store, lease: Lease, key: str = "mail", *, repeatable: bool = False) -> Effect:
    return await store.effects.begin(lease, lease.run_id, key, at=NOON, repeatable=repeatable)


async def finish(store: Store, lease: Lease, key: str, status: EffectStatus, result: object = None) -> None:
    await store.effects.finish(lease, lease.run_id, key, at=LATER, status=status, result=result)


async def test_an_effect_is_written_down_before_and_after_it_happens(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Write to Ada", session)

    begun = await begin(store, lease)
    (listed,) = await store.effects.list(TENANT, run.id)
    await finish(store, lease, "mail", EffectStatus.DONE, {"id": 7})

    assert begun == Effect(key="mail", status=EffectStatus.STARTED, attempts=1, started_at=NOON)
    assert listed == begun
    assert await store.effects.list(TENANT, run.id) == [
        Effect(key="mail", status=EffectStatus.DONE, attempts=1, started_at=NOON, ended_at=LATER, result={"id": 7})
    ]


async def test_the_feed_tells_of_an_effect_by_its_key_alone(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "Write to Ada", session)

    await begin(store, lease)
    await finish(store, lease, "mail", EffectStatus.DONE, {"secret": "words"})

    _, started, finished = await feed_of(store, session)
    assert (started.no, started.type.value) == (2, "tool.started")
    assert started.data == {"key": "mail", "status": "started", "attempt": 1}
    assert (finished.no, finished.type.value) == (3, "tool.finished")
    assert finished.data == {"key": "mail", "status": "done", "attempt": 1}


async def test_an_effect_that_gave_nothing_is_told_from_one_whose_result_was_lost(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "Write to Ada", session)
    for key, is_lost in (("nothing", False), ("lost", True)):
        await begin(store, lease, key)
        await store.effects.finish(
            lease, lease.run_id, key, at=LATER, status=EffectStatus.DONE, result=None, result_lost=is_lost
        )

    nothing, lost = await begin(store, lease, "nothing"), await begin(store, lease, "lost")

    assert (nothing.status, nothing.result, nothing.result_lost) == (EffectStatus.DONE, None, False)
    assert (lost.status, lost.result, lost.result_lost) == (EffectStatus.DONE, None, True)


async def test_an_effect_that_is_done_is_found_and_nothing_is_written(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "Write to Ada", session)
    await begin(store, lease)
    await finish(store, lease, "mail", EffectStatus.DONE, [1, None, "two"])
    before = await contents(backend)

    found = await begin(store, lease)

    assert (found.status, found.result) == (EffectStatus.DONE, [1, None, "two"])
    assert await contents(backend) == before


async def test_an_effect_that_failed_may_be_tried_again(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "Write to Ada", session)
    await begin(store, lease)
    await finish(store, lease, "mail", EffectStatus.FAILED)

    again = await begin(store, lease)

    assert (again.status, again.attempts, again.ended_at) == (EffectStatus.STARTED, 2, None)


async def test_an_effect_that_was_begun_and_never_ended_is_unknown_for_whoever_comes_by(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Write to Ada", session)
    await begin(store, lease)

    found = await begin(store, lease)
    again = await begin(store, lease)

    assert (found.status, found.attempts) == (EffectStatus.UNKNOWN, 1)
    assert again.status is EffectStatus.UNKNOWN
    (kept,) = await store.effects.list(TENANT, run.id)
    assert kept.status is EffectStatus.UNKNOWN
    assert [entry.data["status"] for entry in (await feed_of(store, session))[2:]] == ["unknown", "unknown"]


async def test_a_repeatable_effect_is_begun_again(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "Write to Ada", session)
    await begin(store, lease)
    await begin(store, lease)

    again = await begin(store, lease, repeatable=True)

    assert (again.status, again.attempts) == (EffectStatus.STARTED, 2)


async def test_a_later_attempt_finds_the_effects_of_the_first(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "Write to Ada", session)
    first = RunId("run_of_yesterday")
    await store.effects.begin(lease, first, "mail", at=NOON, repeatable=False)
    await store.effects.finish(lease, first, "mail", at=NOON, status=EffectStatus.DONE, result="sent")

    found = await store.effects.begin(lease, first, "mail", at=NOON, repeatable=False)
    other = await begin(store, lease)

    assert found.result == "sent"
    assert other.status is EffectStatus.STARTED


@pytest.mark.parametrize("known", [False, True])
async def test_who_has_lost_the_lease_begins_no_effect(store: Store, backend: Backend, known: bool) -> None:
    session = await a_kept_session(store)
    _, lost, claimed = await taken_over(store, session)
    if known:
        await store.effects.begin(claimed.lease, lost.run_id, "mail", at=NOON, repeatable=False)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await begin(store, lost, repeatable=True)

    assert await contents(backend) == before


async def test_who_has_lost_the_lease_finishes_no_effect(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    _, lost, claimed = await taken_over(store, session)
    await store.effects.begin(claimed.lease, lost.run_id, "mail", at=NOON, repeatable=False)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await finish(store, lost, "mail", EffectStatus.DONE)

    assert await contents(backend) == before


async def test_from_its_first_effect_on_a_run_is_not_merged(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "A table", session)
    await begin(store, lease)
    newcomer = (await accept(store, "for four", session, node=OTHER_NODE)).run

    merged = await supersede(store, lease, newcomer, DoubleText.MERGE)

    assert not merged
    assert (await run_of(store, run)).status is RunStatus.RUNNING
    assert (await run_of(store, newcomer)).merged is False


async def test_a_run_with_effects_and_no_output_commits_like_any_other(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Write to Ada", session)
    await begin(store, lease)
    await finish(store, lease, "mail", EffectStatus.DONE)

    await commit(store, run, lease, "Sent.")

    entries = await feed_of(store, session)
    assert types(entries) == ["run.accepted", "tool.started", "tool.finished", "run.completed"]
    assert [entry.no for entry in entries] == [1, 2, 3, 4]


async def test_effects_of_another_tenant_are_not_seen(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Write to Ada", session)
    await begin(store, lease)

    assert await store.effects.list(TenantId("globex"), run.id) == []


async def test_effects_go_with_the_checkpoints_of_a_session_that_is_long_over(store: Store) -> None:
    session, open_one = await a_kept_session(store), await a_kept_session(store)
    run, lease = await held(store, "Write to Ada", session)
    other, other_lease = await held(store, "Write to Ben", open_one)
    for each, of in ((lease, run), (other_lease, other)):
        await begin(store, each)
        await finish(store, each, "mail", EffectStatus.DONE)
        await commit(store, of, each, "Sent.")
    await close_session(store, session)

    early = await store.checkpoints.forget(before=NOON - timedelta(seconds=1))
    forgotten = await store.checkpoints.forget(before=NOON)

    assert (early, forgotten) == (0, 1)
    assert await store.effects.list(TENANT, run.id) == []
    assert len(await store.effects.list(TENANT, other.id)) == 1
