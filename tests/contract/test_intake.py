"""What a store promises when a message comes in."""

from datetime import timedelta
from typing import Any

import pytest

from tests.contract.backends import Backend, contents
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
    close_session,
    end_as,
    exchange,
    explained,
    feed_of,
    held,
    intake_of,
    load,
    run_of,
    run_saying,
    types,
)
from turnkeeper.errors import QueueFull, SessionBusy, SessionClosed, SessionExpired, SessionNotFound, TurnkeeperError
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import Subject, TenantId, UserId
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import Custody, SessionStatus
from turnkeeper.ports.runs import AgentTerms
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON


async def test_a_message_on_an_idle_session_runs_at_once(store: Store) -> None:
    session = await a_kept_session(store)

    accepted = await accept(store, "Hello", session)

    assert accepted.lease is not None
    assert (accepted.lease.holder, accepted.lease.run_id, accepted.lease.fence) == (NODE, accepted.run.id, 1)
    assert accepted.run.status is RunStatus.RUNNING
    assert await run_of(store, accepted.run) == accepted.run


async def test_a_message_on_a_busy_session_waits_its_turn(store: Store) -> None:
    session = await a_kept_session(store)
    await accept(store, "First", session)

    second = await accept(store, "Second", session, node=OTHER_NODE)

    assert (second.lease, second.run.status) == (None, RunStatus.QUEUED)
    assert await run_of(store, second.run) == second.run


async def test_a_lease_lasts_as_long_as_was_asked_by_the_clock_of_the_database(store: Store) -> None:
    first, second = await a_kept_session(store), await a_kept_session(store)

    _, short = await held(store, "Hello", first, lease_seconds=LEASE_SECONDS)
    _, long = await held(store, "Hello", second, lease_seconds=LEASE_SECONDS + 1000)

    assert timedelta(seconds=999) < long.expires_at - short.expires_at < timedelta(seconds=1030)


async def test_the_order_of_a_session_is_the_order_of_its_queue_numbers(store: Store) -> None:
    session = await a_kept_session(store)

    accepted = [await accept(store, f"message {number}", session) for number in range(4)]

    assert [one.run.queue_no for one in accepted] == [1, 2, 3, 4]
    assert [one.run.feed_no for one in accepted] == [1, 2, 3, 4]


async def test_queue_numbers_do_not_repeat_after_the_queue_was_empty(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "First", "Answer")

    second = await accept(store, "Second", session)

    assert second.run.queue_no == 2


async def test_every_accepted_message_is_told_in_the_feed(store: Store) -> None:
    session = await a_kept_session(store)

    accepted = await accept(store, "Hello", session)

    (entry,) = await feed_of(store, session)
    assert (entry.no, entry.type.value, entry.run_id, entry.at) == (1, "run.accepted", accepted.run.id, NOON)
    assert entry.data == {"agent": AGENT, "queue_no": 1}


async def test_a_message_may_bring_its_session_with_it(store: Store) -> None:
    session = a_session(title="Dinner")

    accepted = await accept(store, "Hello", session, new_session=session)

    assert accepted.lease is not None
    assert (accepted.run.queue_no, accepted.run.feed_no, accepted.lease.fence) == (1, 1, 1)
    assert await run_of(store, accepted.run) == accepted.run
    assert (await load(store, session)).session == session
    assert types(await feed_of(store, session)) == ["run.accepted"]


async def test_a_new_session_whose_agent_is_elsewhere_queues_its_first_message(store: Store) -> None:
    session = a_session(agent=OTHER_AGENT)

    accepted = await accept(store, "Hello", session, new_session=session)
    second = await accept(store, "Anyone?", session)

    assert (accepted.lease, accepted.run.status, accepted.run.agent) == (None, RunStatus.QUEUED, OTHER_AGENT)
    assert (second.lease, second.run.queue_no) == (None, 2)


async def test_the_agent_of_a_run_is_the_one_that_was_asked_for_or_that_of_its_session(store: Store) -> None:
    session = await a_kept_session(store)
    known = {AGENT: AgentTerms(), OTHER_AGENT: AgentTerms(retry_safe=True)}

    asked = await accept(store, "Hello", session, agent=OTHER_AGENT, agents=known)
    default = await accept(store, "Hello", session, agents=known)

    assert (asked.run.agent, default.run.agent) == (OTHER_AGENT, AGENT)
    assert asked.run.retry_safe


async def test_a_message_for_an_agent_that_is_not_here_is_queued(store: Store) -> None:
    session = await a_kept_session(store)

    accepted = await accept(store, "Hello", session, agent=OTHER_AGENT, agents=TERMS)

    assert (accepted.lease, accepted.run.status) == (None, RunStatus.QUEUED)


async def test_a_run_remembers_whether_it_may_be_tried_again(store: Store) -> None:
    session, brought = await a_kept_session(store), a_session()

    on_known = await accept(store, "Hello", session, agents=RETRY_SAFE)
    on_new = await accept(store, "Hello", brought, agents=RETRY_SAFE, new_session=brought)

    assert (on_known.run.retry_safe, on_new.run.retry_safe) == (True, True)
    assert await run_of(store, on_known.run) == on_known.run
    assert await run_of(store, on_new.run) == on_new.run


async def refusal(store: Store, backend: Backend, expected: type[TurnkeeperError], run: Any, **changes: Any) -> Any:
    """The refusal of this message; nothing may have been written with it."""
    before = await contents(backend)

    with pytest.raises(expected) as raised:
        await store.runs.accept(intake_of(run, **changes))

    assert await contents(backend) == before
    return raised.value


async def test_a_message_on_an_unknown_session_is_refused(store: Store, backend: Backend) -> None:
    await refusal(store, backend, SessionNotFound, run_saying("Hello", a_session()))


async def test_a_message_on_another_tenants_session_is_refused(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    elsewhere = a_session(id=session.id, tenant=TenantId("globex"))

    await refusal(store, backend, SessionNotFound, run_saying("Hello", elsewhere))


async def test_a_message_on_another_users_session_is_refused(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)

    await refusal(store, backend, SessionNotFound, run_saying("Hello", session, user=UserId("grace")))


async def test_who_sees_the_whole_tenant_may_speak_in_every_session_of_it(store: Store) -> None:
    session = await a_kept_session(store)
    run = run_saying("Hello", session, user=UserId("admin"))

    accepted = await store.runs.accept(intake_of(run, sees_whole_tenant=True))

    assert accepted.run.user == "admin"


async def test_a_closed_session_takes_no_message(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await close_session(store, session)

    await refusal(store, backend, SessionClosed, run_saying("Hello", session))


async def test_a_session_that_was_idle_for_too_long_takes_no_message(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store, last_active_at=NOON - timedelta(seconds=86_400))

    await refusal(store, backend, SessionExpired, run_saying("Hello", session))


async def test_a_session_is_usable_until_the_last_moment_of_its_idle_time(store: Store) -> None:
    session = await a_kept_session(store, last_active_at=NOON - timedelta(seconds=86_400) + timedelta(microseconds=1))

    accepted = await accept(store, "Just in time", session)

    assert accepted.lease is not None


async def test_a_session_does_not_expire_while_it_is_held(store: Store) -> None:
    session = await a_kept_session(store)
    await accept(store, "A long question", session)
    late = run_saying(
        "Still there?", session, accepted_at=NOON + timedelta(days=3), wait_until=NOON + timedelta(days=4)
    )

    accepted = await store.runs.accept(intake_of(late))

    assert accepted.run.status is RunStatus.QUEUED


async def test_a_session_that_is_marked_as_expired_takes_no_message(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    expired = f"status = '{SessionStatus.EXPIRED}', closed_at = 1"
    await backend.execute(f"UPDATE sessions SET {expired} WHERE tenant = '{TENANT}' AND id = '{session.id}'")

    await refusal(store, backend, SessionExpired, run_saying("Hello", session))


async def test_a_full_queue_refuses_the_next_message(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    for number in range(3):
        await accept(store, f"message {number}", session, queue_limit=2)

    refused = await refusal(store, backend, QueueFull, run_saying("One too many", session), queue_limit=2)

    assert refused.facts["queued"] == 2


async def test_a_queue_that_became_shorter_takes_messages_again(store: Store) -> None:
    session = await a_kept_session(store)
    await accept(store, "First", session, queue_limit=1)
    second = await accept(store, "Second", session, queue_limit=1)
    await store.runs.cancel(TENANT, second.run.id, at=NOON)

    third = await accept(store, "Third", session, queue_limit=1)

    assert third.run.queue_no == 3


async def test_reject_names_who_holds_the_session_since_when_and_what_it_does(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, _ = await held(store, "First", session)

    refused = await refusal(store, backend, SessionBusy, run_saying("Second", session), double_text=DoubleText.REJECT)

    assert refused.facts["holder"] == run.id
    assert refused.facts["since"] is not None
    assert refused.facts["state"] == "answering another message"


async def test_reject_also_counts_messages_that_are_still_queued(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await accept(store, "First", session, agents={})

    refused = await refusal(store, backend, SessionBusy, run_saying("Second", session), double_text=DoubleText.REJECT)

    assert (refused.facts["holder"], refused.facts["state"]) == (None, "about to answer queued messages")


async def test_reject_takes_the_message_when_nothing_is_going_on(store: Store) -> None:
    session = await a_kept_session(store)

    accepted = await accept(store, "First", session, double_text=DoubleText.REJECT)

    assert (accepted.lease is not None, accepted.double_text) == (True, DoubleText.REJECT)


async def test_the_session_says_what_becomes_of_a_second_message_if_the_request_does_not(
    store: Store, backend: Backend
) -> None:
    session = await a_kept_session(store, double_text=DoubleText.REJECT)
    await accept(store, "First", session)

    await refusal(store, backend, SessionBusy, run_saying("Second", session))

    asked_otherwise = await accept(store, "Second", session, double_text=DoubleText.ENQUEUE)
    assert asked_otherwise.double_text is DoubleText.ENQUEUE


async def test_the_agent_says_what_becomes_of_a_second_message_if_nobody_else_does(
    store: Store, backend: Backend
) -> None:
    session = await a_kept_session(store)
    rejecting = {AGENT: AgentTerms(double_text=DoubleText.REJECT)}
    await accept(store, "First", session, agents=rejecting)

    await refusal(store, backend, SessionBusy, run_saying("Second", session), agents=rejecting)

    of_session = await a_kept_session(store, double_text=DoubleText.MERGE)
    assert (await accept(store, "Hello", of_session, agents=rejecting)).double_text is DoubleText.MERGE


async def test_a_lease_that_ran_out_is_not_taken_at_intake(store: Store) -> None:
    session = await a_kept_session(store)
    await accept(store, "First", session, lease_seconds=RUN_OUT)

    second = await accept(store, "Second", session)

    assert second.lease is None


async def test_a_run_under_client_custody_has_a_queue_of_its_own(store: Store) -> None:
    carried = a_session(custody=Custody.CLIENT)

    first = await accept(store, "Hello", carried)
    second = await accept(store, "Hello again", carried)

    assert first.lease is not None
    assert second.lease is not None
    assert (first.lease.subject, second.lease.subject) == (Subject(first.run.id), Subject(second.run.id))
    with pytest.raises(SessionNotFound):
        await load(store, carried)


async def test_a_run_under_client_custody_ends_with_its_result(store: Store) -> None:
    carried = a_session(custody=Custody.CLIENT)
    run, lease = await held(store, "Hello", carried)
    result = {"text": "Welcome", "turnkeeper": {"state": {"x": 1}}}

    await store.runs.end(lease, end_as(run, RunStatus.COMPLETED, result=result))

    ended = await run_of(store, run)
    entries = await store.feed.read(TENANT, Subject(run.id), after=0, limit=10)
    assert (ended.status, ended.result) == (RunStatus.COMPLETED, result)
    assert types(entries) == ["run.accepted", "run.completed"]
    assert entries[-1].data["text"] == "Welcome"
    assert (await explained(store, run)).status is RunStatus.COMPLETED
