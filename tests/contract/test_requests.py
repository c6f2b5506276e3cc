"""What a store promises about a request that comes twice."""

import asyncio
from datetime import timedelta

import pytest

from tests.contract.backends import Backend, contents
from tests.contract.builders import (
    RUN_OUT,
    TENANT,
    a_kept_session,
    a_session,
    accept,
    claim,
    commit,
    end_as,
    held,
    intake_of,
    run_of,
    run_saying,
)
from turnkeeper.errors import DuplicateRequest
from turnkeeper.model.ids import UserId
from turnkeeper.model.run import RunError, RunStatus
from turnkeeper.ports.runs import RequestKey
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

REQUEST = RequestKey(key="delivery-1", body_hash=b"\x00\x01the body")
OTHER_BODY = RequestKey(key="delivery-1", body_hash=b"\x00\x01another body")


async def test_the_same_request_attaches_to_the_run_it_already_has(store: Store) -> None:
    session = await a_kept_session(store)
    first = await accept(store, "Hello", session, request=REQUEST)

    again = await accept(store, "Hello", session, request=REQUEST)

    assert (again.run, again.attached, again.lease) == (first.run, True, None)
    assert len(await store.runs.list(TENANT, session.id, before=None, limit=10)) == 1


async def test_the_same_request_without_a_session_id_makes_one_session(store: Store) -> None:
    first_try, second_try = a_session(), a_session()
    first = await accept(store, "Hello", first_try, new_session=first_try, request=REQUEST)

    again = await accept(store, "Hello", second_try, new_session=second_try, request=REQUEST)

    assert (again.run, again.attached) == (first.run, True)
    assert [kept.id for kept in await store.sessions.list(TENANT, owner=None, before=None, limit=9)] == [first_try.id]


async def test_the_same_request_gets_the_first_answer_after_it_completed(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session, request=REQUEST)
    await commit(store, run, lease, "Welcome")

    again = await accept(store, "Hello", session, request=REQUEST)

    assert (again.run.id, again.run.status, again.attached) == (run.id, RunStatus.COMPLETED, True)


async def test_the_same_request_gets_the_first_answer_after_it_failed_for_good(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session, request=REQUEST)
    broken = RunError(code="agent_failed", message="The agent failed.")
    await store.runs.end(lease, end_as(run, RunStatus.FAILED, error=broken))

    again = await accept(store, "Hello", session, request=REQUEST)

    assert (again.run.id, again.run.error, again.attached) == (run.id, broken, True)


async def test_after_a_retryable_end_the_same_request_is_a_new_run(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session, request=REQUEST)
    passing = RunError(code="store_unavailable", message="Try again.", retryable=True)
    await store.runs.end(lease, end_as(run, RunStatus.FAILED, error=passing))

    again = await accept(store, "Hello", session, request=REQUEST)
    once_more = await accept(store, "Hello", session, request=REQUEST)

    assert (again.run.id == run.id, again.attached) == (False, False)
    assert again.lease is not None
    assert (once_more.run.id, once_more.attached) == (again.run.id, True)


async def test_after_its_node_died_the_same_request_is_a_new_run(store: Store) -> None:
    session = await a_kept_session(store)
    run, _ = await held(store, "Hello", session, request=REQUEST, lease_seconds=RUN_OUT)
    await claim(store, session)

    again = await accept(store, "Hello", session, request=REQUEST)

    assert (await run_of(store, run)).status is RunStatus.ABANDONED
    assert (again.run.status, again.attached) == (RunStatus.RUNNING, False)


async def test_another_body_under_the_same_request_id_is_refused_and_writes_nothing(
    store: Store, backend: Backend
) -> None:
    session = await a_kept_session(store)
    await accept(store, "Hello", session, request=REQUEST)
    before = await contents(backend)

    with pytest.raises(DuplicateRequest):
        await accept(store, "Something else", session, request=OTHER_BODY)

    assert await contents(backend) == before


async def test_two_users_may_use_the_same_request_id(store: Store) -> None:
    session = await a_kept_session(store)
    await accept(store, "Hello", session, request=REQUEST)
    hers = run_saying("Something else", session, user=UserId("grace"))

    accepted = await store.runs.accept(intake_of(hers, request=OTHER_BODY, sees_whole_tenant=True))

    assert not accepted.attached


async def test_a_known_request_is_known_also_when_its_session_has_closed_meanwhile(store: Store) -> None:
    session = await a_kept_session(store, last_active_at=NOON)
    first = await accept(store, "Hello", session, request=REQUEST)
    late = run_saying("Hello", session, accepted_at=NOON + timedelta(days=9), wait_until=NOON + timedelta(days=10))
    await store.runs.cancel(TENANT, first.run.id, at=NOON)

    again = await store.runs.accept(intake_of(late, request=REQUEST))

    assert (again.run.id, again.attached) == (first.run.id, True)


async def test_of_many_same_requests_at_once_only_one_runs(store: Store) -> None:
    sessions = [a_session() for _ in range(8)]

    accepted = await asyncio.gather(
        *(accept(store, "Hello", session, new_session=session, request=REQUEST) for session in sessions)
    )

    assert len({one.run.id for one in accepted}) == 1
    assert sorted(one.attached for one in accepted) == [False] + [True] * 7
    assert len(await store.sessions.list(TENANT, owner=None, before=None, limit=9)) == 1


async def test_of_many_retries_at_once_only_one_runs(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session, request=REQUEST)
    await store.runs.end(lease, end_as(run, RunStatus.TIMED_OUT))
    retries = [a_session() for _ in range(8)]

    accepted = await asyncio.gather(
        *(accept(store, "Hello", retry, new_session=retry, request=REQUEST) for retry in retries)
    )

    assert len({one.run.id for one in accepted}) == 1
    assert sorted(one.attached for one in accepted) == [False] + [True] * 7


async def test_old_request_keys_are_forgotten_and_young_ones_kept(store: Store) -> None:
    session = await a_kept_session(store)
    young = RequestKey(key="delivery-2", body_hash=b"young")
    await accept(store, "Hello", session, request=REQUEST)
    late = run_saying("Hello", session, accepted_at=NOON + timedelta(hours=1))
    await store.runs.accept(intake_of(late, request=young))

    forgotten = await store.runs.forget_requests(before=NOON + timedelta(minutes=1))

    assert forgotten == 1
    assert not (await accept(store, "Hello", session, request=REQUEST)).attached
    assert (await accept(store, "Hello", session, request=young)).attached
