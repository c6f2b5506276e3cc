"""On PostgreSQL a turn costs its round trips, so they are counted, between us and the server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest

from tests.contract.builders import (
    NODE,
    TENANT,
    a_kept_session,
    a_session,
    accept,
    audit_of,
    clock,
    commit,
    end_as,
    exchange,
    explanation_of,
    held,
    load,
    turn_answering,
)
from turnkeeper.model.mount import MountKind, MountRef
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import Custody
from turnkeeper.ports.store import Store
from turnkeeper.scope.directory import Directory
from turnkeeper.stores.postgres.store import postgres_store
from turnkeeper.wiring import scopes_of

T = TypeVar("T")


class Relay:
    """Stands between us and the server, and counts how often we send something and wait."""

    def __init__(self, dsn: str) -> None:
        self._address = urlsplit(dsn)
        self._tasks: set[asyncio.Task[None]] = set()
        self.sent = 0

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return self._address._replace(netloc=f"{self._address.username}@127.0.0.1:{port}").geturl()

    async def close(self) -> None:
        self._server.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, ours: asyncio.StreamReader, to_us: asyncio.StreamWriter) -> None:
        theirs, to_them = await asyncio.open_connection(self._address.hostname, self._address.port)
        for work in (self._count(ours, to_them), self._pass_on(theirs, to_us)):
            task = asyncio.create_task(work)
            self._tasks.add(task)

    async def _count(self, ours: asyncio.StreamReader, to_them: asyncio.StreamWriter) -> None:
        while data := await ours.read(1 << 20):
            self.sent += 1
            to_them.write(data)
        to_them.close()

    async def _pass_on(self, theirs: asyncio.StreamReader, to_us: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await theirs.read(1 << 20):
                to_us.write(data)
        to_us.close()

    async def during(self, work: Coroutine[Any, Any, T]) -> tuple[T, int]:
        before = self.sent
        result = await work
        return result, self.sent - before


@pytest.fixture
async def relay(postgres_dsn: str) -> AsyncIterator[Relay]:
    relay = Relay(postgres_dsn)
    yield relay
    await relay.close()


@pytest.fixture
async def store(relay: Relay) -> AsyncIterator[Store]:
    """One connection, and every statement of a turn already prepared on it."""
    opened = postgres_store(await relay.open(), NODE, pool_size=1)
    await opened.database.open()
    known, brought = await a_kept_session(opened), a_session()
    await exchange(opened, known, "Hello", "Welcome")
    run, lease = await held(opened, "Hello", brought, new_session=brought)
    await opened.feed.append_delta(lease, "Wel")
    await opened.runs.end(lease, end_as(run, RunStatus.FAILED))
    yield opened
    await opened.database.close()


async def test_a_whole_turn_is_three_round_trips(store: Store, relay: Relay) -> None:
    session = await a_kept_session(store)

    (run, lease), for_intake = await relay.during(held(store, "A table for two", session))
    loaded, for_loading = await relay.during(load(store, session))
    _, for_commit = await relay.during(
        store.runs.commit(
            turn_answering(run, loaded, "At what time?"),
            lease,
            session_id=session.id,
            expected_revision=0,
            explanation=explanation_of(run),
        )
    )

    assert (for_intake, for_loading, for_commit) == (1, 1, 1)


async def test_the_first_message_of_a_session_is_one_round_trip(store: Store, relay: Relay) -> None:
    brought, carried = a_session(), a_session(custody=Custody.CLIENT)

    _, for_new = await relay.during(accept(store, "Hello", brought, new_session=brought))
    _, for_carried = await relay.during(accept(store, "Hello", carried))

    assert (for_new, for_carried) == (1, 1)


async def test_creating_a_session_is_one_round_trip(store: Store, relay: Relay) -> None:
    _, for_creating = await relay.during(store.sessions.create(a_session(), audit_of("create")))

    assert for_creating == 1


async def test_queueing_a_message_is_one_round_trip(store: Store, relay: Relay) -> None:
    session = await a_kept_session(store)
    await accept(store, "First", session)

    _, for_queueing = await relay.during(accept(store, "Second", session))

    assert for_queueing == 1


async def test_a_delta_and_an_end_are_one_round_trip_each(store: Store, relay: Relay) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)

    _, for_delta = await relay.during(store.feed.append_delta(lease, "Wel"))
    _, for_end = await relay.during(store.runs.end(lease, end_as(run, RunStatus.FAILED)))

    assert (for_delta, for_end) == (1, 1)


async def test_a_commit_after_deltas_is_still_one_round_trip(store: Store, relay: Relay) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)
    await store.feed.append_delta(lease, "Wel")

    _, for_loading_and_commit = await relay.during(commit(store, run, lease, "Welcome"))

    assert for_loading_and_commit == 2


async def test_what_is_gone_of_many_mounts_is_asked_for_once_a_kind(store: Store, relay: Relay) -> None:
    scopes = scopes_of(store, Directory(store.layers, store.users, store.definitions), clock)
    kinds = (MountKind.KNOWLEDGE_BASE, MountKind.POINTER, MountKind.ARTIFACT)
    refs = [MountRef(kind=kind, id=f"{no}") for kind in kinds for no in range(20)]
    await scopes.gone(TENANT, refs)

    gone, sent = await relay.during(scopes.gone(TENANT, refs))

    assert (len(gone), sent) == (60, 3)
