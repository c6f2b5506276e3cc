"""A run that lost its lease has lost the right to write: each of its writes is refused and leaves no trace."""

import pytest

from tests.contract.backends import Backend, contents
from tests.contract.builders import (
    a_kept_session,
    asking,
    claim,
    commit,
    end_as,
    explanation_of,
    held,
    reset,
    supersede,
    taken_over,
)
from turnkeeper.errors import LeaseLost
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import RunId
from turnkeeper.model.run import RunStatus
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON


async def test_a_late_commit_is_refused(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    frozen, lost, _ = await taken_over(store, session)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await commit(store, frozen, lost, "Too late")

    assert await contents(backend) == before


async def test_a_late_end_is_refused(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    frozen, lost, _ = await taken_over(store, session)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await store.runs.end(lost, end_as(frozen, RunStatus.FAILED))

    assert await contents(backend) == before


async def test_a_late_question_is_refused(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    _, lost, _ = await taken_over(store, session)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await store.runs.suspend(lost, asking("For how many?"), at=NOON, wait_until=NOON)

    assert await contents(backend) == before


async def test_a_late_reset_is_refused(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    _, lost, _ = await taken_over(store, session)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await reset(store, session, lost)

    assert await contents(backend) == before


async def test_a_late_delta_is_refused(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    _, lost, _ = await taken_over(store, session)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await store.feed.append_delta(lost, "Too late")

    assert await contents(backend) == before


async def test_a_late_handing_over_is_refused(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    frozen, lost, _ = await taken_over(store, session)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await store.runs.hand_over(lost, at=NOON, new_run_id=RunId("run_x"), explanation=explanation_of(frozen))

    assert await contents(backend) == before


async def test_a_late_look_for_a_wish_to_stop_says_that_the_lease_is_lost(store: Store) -> None:
    session = await a_kept_session(store)
    _, lost, _ = await taken_over(store, session)

    with pytest.raises(LeaseLost):
        await store.runs.stop_wish(lost)


async def test_a_late_supersede_does_nothing(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    _, lost, claimed = await taken_over(store, session)
    before = await contents(backend)

    happened = await supersede(store, lost, claimed.run, DoubleText.ROLLBACK)

    assert not happened
    assert await contents(backend) == before


async def test_a_run_that_gave_its_lease_back_may_not_write_any_more(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)
    await store.runs.end(lease, end_as(run, RunStatus.FAILED))
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await commit(store, run, lease, "After all")
    with pytest.raises(LeaseLost):
        await store.runs.end(lease, end_as(run, RunStatus.FAILED))
    with pytest.raises(LeaseLost):
        await store.feed.append_delta(lease, "After all")

    assert await contents(backend) == before
    assert await claim(store, session) is None
