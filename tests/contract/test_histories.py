"""What a store promises about the past of sessions."""

import asyncio
from typing import Any

import asyncpg
import pytest

from tests.contract.backends import Backend, PostgresBackend
from tests.contract.builders import (
    a_kept_session,
    a_session,
    a_unit,
    audit_of,
    close_session,
    exchange,
    feed_of,
    held,
    knowing,
    lines,
    load,
    reset,
    waiting,
)
from tests.eventually import eventually
from turnkeeper.errors import TurnNotFound
from turnkeeper.model.history import StateAt
from turnkeeper.model.ids import RunId, SessionId
from turnkeeper.model.run import Finish
from turnkeeper.model.session import Fork, Session
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import UnitChanges
from turnkeeper.ports.sessions import Sought
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON


async def as_of(store: Store, session: Session, turn: int, window: int = 20) -> StateAt:
    kept = await store.sessions.get(session.tenant, session.id)
    return await store.histories.as_of(kept, turn, window=window, most_units=200)


async def forked(store: Store, parent: Session, turn: int, name: str) -> Session:
    """A fork as the keeper makes it."""
    then = await as_of(store, parent, turn)
    session = a_session(
        id=SessionId(name),
        turns=turn,
        revision=turn + 1,
        last_seq=then.last_seq,
        epoch=then.epoch,
        fork=Fork(session_id=parent.id, turn=turn, seq=then.last_seq),
    )
    begins = Turn(
        number=turn,
        run_id=RunId(""),
        epoch=then.epoch.number,
        messages=(),
        state=then.state,
        finish=Finish.DONE,
        committed_at=NOON,
        units=UnitChanges(added=then.units),
        preferences=then.preferences,
        dialogue=then.dialogue,
    )
    await store.sessions.create(session, audit_of("fork"), continued=begins)
    return session


async def talked(store: Store, turns: int, **changes: Any) -> Session:
    session = await a_kept_session(store, **changes)
    for number in range(1, turns + 1):
        await exchange(store, session, f"q{number}", f"a{number}", count=number)
    return session


async def test_a_session_is_as_it_was_after_each_of_its_turns(store: Store) -> None:
    session = await talked(store, 3)

    then = await as_of(store, session, 2)

    assert [message.content for message in then.messages] == ["q1", "a1", "q2", "a2"]
    assert (then.state, then.last_seq, then.epoch.number) == ({"count": 2}, 4, 1)


async def test_a_window_of_the_past_is_bounded(store: Store) -> None:
    session = await talked(store, 3)

    then = await as_of(store, session, 3, window=3)

    assert [message.content for message in then.messages] == ["a2", "q3", "a3"]


async def test_a_turn_that_is_not_there_is_not_found(store: Store) -> None:
    session = await talked(store, 1)

    with pytest.raises(TurnNotFound):
        await as_of(store, session, 2)


async def test_the_past_of_an_earlier_epoch_ends_where_that_epoch_did(store: Store) -> None:
    session = await talked(store, 1)
    _, lease = await held(store, "afresh", session)
    await reset(store, session, lease, revision=1)
    before = await as_of(store, session, 1)

    assert [message.content for message in before.messages] == ["q1", "a1"]
    assert before.epoch.number == 1


async def test_a_fork_reads_the_messages_of_all_that_it_came_from_by_index(store: Store, backend: Backend) -> None:
    parent = await talked(store, 2)
    child = await forked(store, parent, 1, "sess_child")
    await exchange(store, child, "b2", "c2")
    grandchild = await forked(store, child, 2, "sess_grandchild")
    await exchange(store, grandchild, "d3", "e3")

    loaded, narrow = await load(store, grandchild), await load(store, grandchild, window=3)
    page = await store.sessions.messages(grandchild.tenant, grandchild.id, after=1, limit=3)
    back = await store.sessions.messages_before(grandchild.tenant, grandchild.id, before=6, limit=3)

    assert lines(loaded) == ["q1", "a1", "b2", "c2", "d3", "e3"]
    assert lines(narrow) == ["c2", "d3", "e3"]
    assert [message.content for message in page] == ["a1", "b2", "c2"]
    assert [message.content for message in back] == ["b2", "c2", "d3"]
    assert lines(await load(store, parent)) == ["q1", "a1", "q2", "a2"]
    rows = await backend.execute("SELECT COUNT(*) FROM messages WHERE session_id = 'sess_grandchild'")
    assert rows[0][0] == 2


async def test_a_fork_opens_as_the_session_does_whose_messages_it_shares(store: Store) -> None:
    parent = await talked(store, 2)
    child = await forked(store, parent, 2, "sess_child")
    await exchange(store, child, "b3", "c3")
    grandchild = await forked(store, child, 1, "sess_grandchild")

    openings = await store.sessions.openings(parent.tenant, [child.id, grandchild.id])
    sought = Sought(fork_of=parent.id)
    forks = await store.sessions.list(parent.tenant, owner=None, before=None, limit=9, sought=sought)

    assert openings == {child.id: "q1", grandchild.id: "q1"}
    assert [session.id for session in forks] == [child.id]
    assert await store.sessions.count(parent.tenant, owner=None, sought=sought) == 1


async def test_a_fork_at_a_turn_before_its_parent_was_forked_is_that_of_the_first_one(store: Store) -> None:
    parent = await talked(store, 3)
    child = await forked(store, parent, 2, "sess_child")

    then = await as_of(store, child, 1)

    assert (then.session_id, then.state) == (parent.id, {"count": 1})


async def test_units_of_the_past_are_those_that_held_then(store: Store) -> None:
    session = await a_kept_session(store)
    await knowing(store, session, a_unit("The port is 80.", slot="port"))
    first = await as_of(store, session, 1)
    await exchange(store, session, "and?", "nothing new")

    assert [unit.claim for unit in first.units] == ["The port is 80."]
    assert [unit.claim for unit in (await as_of(store, session, 2)).units] == ["The port is 80."]


async def test_the_places_that_a_waiting_run_may_go_on_from_are_named(store: Store) -> None:
    session = await talked(store, 1)
    await waiting(store, session)

    named = await store.histories.heads(session.tenant, session.id, newest=20)

    assert (named.heads, named.is_busy) == ([], False)
    await held(store, "busy", session)
    assert (await store.histories.heads(session.tenant, session.id, newest=20)).is_busy


async def test_that_a_memory_was_dropped_is_told_once_and_only_of_what_is_over(store: Store) -> None:
    session = await talked(store, 1)
    early = await store.histories.mark_pruned(session.tenant, session.id, {"messages": 2}, at=NOON)
    await close_session(store, session)

    told = [await store.histories.mark_pruned(session.tenant, session.id, {"messages": 2}, at=NOON) for _ in range(2)]

    kept = await store.sessions.get(session.tenant, session.id)
    assert (early, told, kept.pruned_at) == (False, [True, False], NOON)
    assert (await feed_of(store, session))[-1].data == {"status": "closed", "what": ["pruned"], "messages": 2}


async def test_on_postgresql_whoever_tells_that_a_memory_was_dropped_waits_for_the_lease_first(
    postgres_dsn: str,
) -> None:
    store = PostgresBackend(postgres_dsn).store()
    await store.database.open()
    session = await talked(store, 1)
    await close_session(store, session)
    other = await asyncpg.connect(postgres_dsn)
    held, waits = (
        f"SELECT 1 FROM {table} WHERE {name} = '{session.id}' FOR UPDATE NOWAIT"
        for table, name in (("leases", "subject"), ("sessions", "id"))
    )
    watching = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"

    async def is_waiting() -> bool:
        return bool(await other.fetchval(watching))

    async with other.transaction():
        await other.execute(held)
        marking = asyncio.create_task(store.histories.mark_pruned(session.tenant, session.id, {}, at=NOON))
        await eventually(is_waiting)
        await other.execute(waits)

    assert await marking
    await other.close()
    await store.database.close()
