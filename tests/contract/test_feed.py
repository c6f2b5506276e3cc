"""What a store promises about the feed, and how nodes hear of it."""

import asyncio

from tests.contract.backends import Backend
from tests.contract.builders import (
    OTHER_NODE,
    TENANT,
    a_kept_session,
    accept,
    claim,
    commit,
    end_as,
    exchange,
    feed_of,
    held,
    types,
)
from turnkeeper.model.ids import Subject, TenantId
from turnkeeper.model.run import RunError, RunStatus
from turnkeeper.ports.store import Store


async def test_a_feed_that_nothing_happened_in_is_empty(store: Store) -> None:
    session = await a_kept_session(store)

    assert await feed_of(store, session) == []
    assert await store.feed.last_no(TENANT, Subject(session.id)) == 0
    assert await store.feed.last_no(TENANT, Subject("sess_unknown")) == 0


async def test_the_feed_tells_a_turn_from_its_message_to_its_text(store: Store) -> None:
    session = await a_kept_session(store)

    run = await exchange(store, session, "Hello", "Welcome")

    accepted, completed = await feed_of(store, session)
    assert (accepted.no, accepted.type.value, accepted.run_id) == (1, "run.accepted", run.id)
    assert (completed.no, completed.type.value, completed.run_id) == (2, "run.completed", run.id)
    assert completed.data == {"turn": 1, "finish": "done", "message_seq": 2, "text": "Welcome"}
    assert await store.feed.last_no(TENANT, Subject(session.id)) == 2


async def test_a_reader_goes_on_after_the_number_it_knows(store: Store) -> None:
    session = await a_kept_session(store)
    for number in range(4):
        await exchange(store, session, f"question {number}", f"answer {number}")

    first = await feed_of(store, session, limit=3)
    second = await feed_of(store, session, after=first[-1].no, limit=3)

    assert [entry.no for entry in (*first, *second)] == [1, 2, 3, 4, 5, 6]
    assert second[-1].data["text"] == "answer 2"


async def test_the_feed_of_another_tenants_session_is_empty(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome")

    assert await store.feed.read(TenantId("globex"), Subject(session.id), after=0, limit=10) == []
    assert await store.feed.last_no(TenantId("globex"), Subject(session.id)) == 0


async def test_deltas_can_be_read_while_the_run_is_running(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)

    numbers = [await store.feed.append_delta(lease, piece) for piece in ("Wel", 'co"m', "e\n")]

    deltas = await feed_of(store, session, after=1)
    assert numbers == [2, 3, 4]
    assert [(entry.no, entry.type.value, entry.run_id) for entry in deltas] == [
        (number, "output.delta", run.id) for number in numbers
    ]
    assert [entry.data for entry in deltas] == [{"text": "Wel"}, {"text": 'co"m'}, {"text": "e\n"}]
    assert await store.feed.last_no(TENANT, Subject(session.id)) == 4


async def test_deltas_and_entries_come_in_the_order_of_their_numbers(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "Hello", session)
    await store.feed.append_delta(lease, "Wel")
    await accept(store, "Anyone?", session)
    await store.feed.append_delta(lease, "come")

    entries = await feed_of(store, session)

    assert types(entries) == ["run.accepted", "output.delta", "run.accepted", "output.delta"]
    assert types(await feed_of(store, session, limit=3)) == types(entries)[:3]


async def test_deltas_are_gone_once_the_turn_is_kept_and_its_end_names_their_numbers(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)
    await store.feed.append_delta(lease, "Wel")
    await accept(store, "Anyone?", session)
    await store.feed.append_delta(lease, "come")

    await commit(store, run, lease, "Welcome")

    entries = await feed_of(store, session)
    assert [(entry.no, entry.type.value) for entry in entries] == [
        (1, "run.accepted"),
        (3, "run.accepted"),
        (5, "run.completed"),
    ]
    assert entries[-1].data == {"turn": 1, "finish": "done", "message_seq": 2, "deltas": [2, 4], "text": "Welcome"}


async def test_who_resumes_inside_the_deltas_gets_one_snapshot_and_then_the_end(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)
    for piece in ("Wel", "co", "me"):
        await store.feed.append_delta(lease, piece)
    await commit(store, run, lease, "Welcome")

    resumed = await feed_of(store, session, after=2)

    assert [(entry.no, entry.type.value) for entry in resumed] == [(4, "output.snapshot"), (5, "run.completed")]
    assert resumed[0].data == {"text": "Welcome"}


async def test_who_resumes_after_the_last_delta_gets_the_end_alone(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)
    await store.feed.append_delta(lease, "Wel")
    await store.feed.append_delta(lease, "come")
    await commit(store, run, lease, "Welcome")

    assert types(await feed_of(store, session, after=3)) == ["run.completed"]


async def test_the_end_of_a_failed_run_names_its_error_and_the_numbers_of_its_deltas(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)
    await store.feed.append_delta(lease, "Wel")
    broken = RunError(code="agent_failed", message='It said "no".')

    await store.runs.end(lease, end_as(run, RunStatus.FAILED, error=broken))

    failed = (await feed_of(store, session))[-1]
    assert (failed.no, failed.type.value) == (3, "run.failed")
    assert failed.data["error"]["message"] == 'It said "no".'
    assert failed.data["deltas"] == [2, 2]


async def test_the_end_of_a_cancelled_run_names_the_numbers_of_its_deltas(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)
    await store.feed.append_delta(lease, "Wel")
    await store.feed.append_delta(lease, "come")

    await store.runs.end(lease, end_as(run, RunStatus.CANCELLED))

    cancelled = (await feed_of(store, session))[-1]
    assert (cancelled.type.value, cancelled.data) == ("run.cancelled", {"deltas": [2, 3]})


async def test_the_deltas_of_one_run_do_not_touch_those_of_another_session(store: Store) -> None:
    one, other = await a_kept_session(store), await a_kept_session(store)
    run, lease = await held(store, "Hello", one)
    _, others = await held(store, "Hello", other)
    await store.feed.append_delta(lease, "mine")
    await store.feed.append_delta(others, "theirs")

    await commit(store, run, lease, "mine")

    assert (await feed_of(store, other))[-1].data == {"text": "theirs"}


async def test_eight_writers_at_once_number_the_feed_without_gaps(store: Store, backend: Backend) -> None:
    other = backend.store(OTHER_NODE)
    await other.database.open()
    session = await a_kept_session(store)
    _, lease = await held(store, "Hello", session)

    async def write(number: int) -> None:
        for _ in range(5):
            await accept((store, other)[number % 2], "Anyone?", session, queue_limit=100)
            await (other, store)[number % 2].feed.append_delta(lease, "x")

    await asyncio.gather(*(write(number) for number in range(8)))

    await other.database.close()
    entries = await feed_of(store, session, limit=200)
    assert [entry.no for entry in entries] == list(range(1, 82))


async def test_the_order_of_commit_is_the_order_of_the_numbers(store: Store, backend: Backend) -> None:
    """A reader that follows the feed while eight write to it never sees a number appear behind it."""
    other = backend.store(OTHER_NODE)
    await other.database.open()
    session = await a_kept_session(store)
    _, lease = await held(store, "Hello", session)
    seen: list[int] = []

    async def write() -> None:
        for _ in range(5):
            await store.feed.append_delta(lease, "x")
            await accept(store, "Anyone?", session, queue_limit=100)

    async def follow() -> None:
        while len(seen) < 81:
            seen.extend(entry.no for entry in await feed_of(other, session, after=seen[-1] if seen else 0))
            await asyncio.sleep(0)

    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(follow())
        for _ in range(8):
            tasks.create_task(write())

    await other.database.close()
    assert seen == list(range(1, 82))


async def test_a_node_hears_its_own_hint_at_once(store: Store) -> None:
    session = await a_kept_session(store)
    heard: list[tuple[object, object]] = []
    store.wakes.listen(lambda tenant, subject: heard.append((tenant, subject)))

    store.wakes.tell(TENANT, Subject(session.id))

    assert heard == [(TENANT, session.id)]


async def test_another_node_hears_that_something_happened(store: Store, backend: Backend) -> None:
    other = backend.store(OTHER_NODE)
    await other.database.open()
    session = await a_kept_session(store)
    await store.wakes.open()
    await other.wakes.open()
    heard = asyncio.Event()
    other.wakes.listen(lambda tenant, subject: heard.set())

    await accept(store, "Hello", session)
    store.wakes.tell(TENANT, Subject(session.id))
    await asyncio.wait_for(heard.wait(), timeout=10)

    await other.wakes.close()
    await store.wakes.close()
    await other.database.close()


async def test_what_was_told_is_passed_on_before_a_node_stops(store: Store, backend: Backend) -> None:
    other = backend.store(OTHER_NODE)
    await other.database.open()
    session = await a_kept_session(store)
    await store.wakes.open()
    await other.wakes.open()
    heard = asyncio.Event()
    other.wakes.listen(lambda tenant, subject: heard.set())

    await accept(store, "Hello", session)
    store.wakes.tell(TENANT, Subject(session.id))
    await store.wakes.close()
    await asyncio.wait_for(heard.wait(), timeout=10)

    await other.wakes.close()
    await other.database.close()


async def test_a_claim_of_an_abandoned_run_continues_the_numbers(store: Store) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "First", session, lease_seconds=-1.0)
    await store.feed.append_delta(lease, "Let me see")
    await accept(store, "Second", session)

    claimed = await claim(store, session)

    assert claimed is not None
    assert await store.feed.append_delta(claimed.lease, "Now") == 5
    assert [entry.no for entry in await feed_of(store, session)] == [1, 3, 4, 5]
