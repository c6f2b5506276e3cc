"""Every durable write has a name, and says when it begins, when it is written and when it is durable."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import (
    LEASE_SECONDS,
    NODE,
    TENANT,
    a_kept_session,
    a_session,
    accept,
    answer,
    asking,
    audit_of,
    claim,
    close_session,
    commit,
    end_as,
    exchange,
    explanation_of,
    held,
    lines,
    load,
    reset,
    run_of,
    supersede,
)
from turnkeeper.errors import StoreUnavailable
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import RunId
from turnkeeper.model.node import Node
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import Custody
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

WRITES = {
    "accept",
    "anchor_audit",
    "append_delta",
    "ask_to_cancel",
    "ask_to_give_way",
    "beat_node",
    "cancel",
    "change_settings",
    "claim",
    "commit",
    "create_session",
    "drop_node",
    "end",
    "forget_carried",
    "forget_requests",
    "hand_over",
    "record_audit",
    "renew",
    "reset",
    "supersede",
    "suspend",
}


class Moments:
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self._then: dict[tuple[str, str], Callable[[], object]] = {}

    def at(self, write: str, moment: str, then: Callable[[], object]) -> None:
        self._then[(write, moment)] = then

    def __call__(self, write: str, moment: str) -> None:
        self.heard.append((write, moment))
        self._then.get((write, moment), _nothing)()


def _nothing() -> None:
    """At most moments there is nothing to do."""


@contextlib.asynccontextmanager
async def opened(backend: Backend, moments: Moments) -> AsyncIterator[Store]:
    store = backend.store(NODE, moments)
    await store.database.open()
    yield store
    await store.database.close()


async def test_every_write_says_when_it_begins_is_written_and_is_durable(backend: Backend) -> None:
    moments = Moments()
    node = Node(id=NODE, started_at=NOON, seen_at=NOON, agents=frozenset())

    async with opened(backend, moments) as store:
        session = await a_kept_session(store)
        await exchange(store, session, "Hello", "Welcome")
        run, lease = await held(store, "A table", session)
        await store.feed.append_delta(lease, "Gladly.")
        store.runs.renew([lease], lease_seconds=LEASE_SECONDS)
        await store.runs.ask_to_cancel(run)
        behind = (await accept(store, "Behind", session)).run
        await store.runs.ask_to_give_way(behind, DoubleText.ROLLBACK)
        await store.runs.cancel(TENANT, behind.id, at=NOON)
        await reset(store, session, lease, revision=1)
        await store.runs.suspend(lease, asking("For how many?"), at=NOON, wait_until=NOON)
        answered = await answer(store, session, run, "Four")
        assert answered.lease is not None
        newcomer = (await accept(store, "Five!", session)).run
        await supersede(store, answered.lease, newcomer, DoubleText.ROLLBACK)
        claimed = await claim(store, session)
        assert claimed is not None
        await store.runs.end(claimed.lease, end_as(claimed.run, RunStatus.FAILED))
        last, last_lease = await held(store, "One more", session)
        await store.runs.hand_over(
            last_lease, at=NOON, new_run_id=RunId("run_x"), explanation=explanation_of(last, RunStatus.ABANDONED)
        )
        await store.runs.cancel(TENANT, (await accept(store, "Never mind", session, agents={})).run.id, at=NOON)
        await close_session(store, session)
        await store.audit.record(audit_of())
        await store.audit.anchor(at=NOON)
        await store.runs.forget_requests(before=NOON)
        mine, lease = await held(store, "Mine", a_session(custody=Custody.CLIENT))
        await store.runs.end(lease, end_as(mine, RunStatus.COMPLETED, result={"carried": {}}, carried_until=NOON))
        await store.runs.forget_carried(at=NOON)
        await store.nodes.beat(node)
        await store.nodes.leave(node)

    assert {write for write, _ in moments.heard} == WRITES
    for write in WRITES:
        told = [moment for name, moment in moments.heard if name == write]
        assert told == ["begun", "written", "durable"] * (len(told) // 3)


async def test_a_write_whose_caller_has_gone_is_finished(backend: Backend) -> None:
    loop = asyncio.get_running_loop()
    moments = Moments()
    async with opened(backend, moments) as store:
        session = await a_kept_session(store)
        run, lease = await held(store, "Hello", session)
        committing = asyncio.create_task(commit(store, run, lease, "Welcome"))
        moments.at("commit", "begun", lambda: loop.call_soon_threadsafe(committing.cancel))

        with contextlib.suppress(asyncio.CancelledError):
            await committing

    async with opened(backend, Moments()) as again:
        assert lines(await load(again, session)) == ["Hello", "Welcome"]
        assert (await run_of(again, run)).status is RunStatus.COMPLETED


async def test_a_closed_database_can_not_be_written(backend: Backend) -> None:
    store = backend.store()
    await store.database.open()
    await store.database.close()

    with pytest.raises(StoreUnavailable):
        await store.sessions.create(a_session(), audit_of())

    with pytest.raises(StoreUnavailable):
        await store.sessions.get(TENANT, a_session().id)

    with pytest.raises(StoreUnavailable):
        store.runs.renew([], lease_seconds=LEASE_SECONDS)


async def test_closing_waits_for_what_was_handed_in(backend: Backend) -> None:
    store = backend.store()
    await store.database.open()
    session = await a_kept_session(store)

    accepting = [asyncio.create_task(accept(store, "Hello", session)) for _ in range(12)]
    await asyncio.sleep(0)
    await store.database.close()
    accepted = await asyncio.gather(*accepting)

    async with opened(backend, Moments()) as again:
        kept = await again.runs.list(TENANT, session.id, before=None, limit=20)
    assert {run.id for run in kept} == {one.run.id for one in accepted}
