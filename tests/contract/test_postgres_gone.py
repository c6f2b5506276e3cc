"""A PostgreSQL server that goes away: a clear refusal meanwhile, and all is well when it is back."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import asyncpg
import pytest

from tests.contract.builders import (
    LEASE_SECONDS,
    NODE,
    OTHER_NODE,
    TENANT,
    a_kept_session,
    a_session,
    accept,
    audit_of,
    claim,
    commit,
    exchange,
    held,
    lines,
    load,
    run_of,
)
from tests.postgres import PostgresServer
from turnkeeper.errors import StoreUnavailable
from turnkeeper.ledger.audit import verify_audit
from turnkeeper.model.audit import chain_hash
from turnkeeper.model.ids import Subject
from turnkeeper.model.run import RunStatus
from turnkeeper.ports.store import Store
from turnkeeper.stores.postgres.store import postgres_store

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of its own, since it is stopped."""
    with PostgresServer() as started:
        started.start()
        yield started


@dataclass(frozen=True)
class House:
    server: PostgresServer
    dsn: str
    store: Store


@pytest.fixture
async def house(server: PostgresServer) -> AsyncIterator[House]:
    dsn = server.create_database(f"gone_{next(_numbers)}")
    store = postgres_store(dsn, NODE)
    await store.database.open()
    yield House(server, dsn, store)
    await store.database.close()


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(statement)
    await connection.close()


async def until_it_answers(store: Store) -> None:
    """The pool finds its broken connections one by one."""
    for _ in range(50):
        try:
            await store.database.ping()
        except StoreUnavailable:
            await asyncio.sleep(0.05)


async def test_while_the_server_is_gone_every_call_says_so(house: House) -> None:
    session = await a_kept_session(house.store)
    run, lease = await held(house.store, "Hello", session)
    loaded = await load(house.store, session)
    assert loaded.session.revision == 0

    house.server.stop("immediate")
    try:
        with pytest.raises(StoreUnavailable):
            await house.store.database.ping()
        with pytest.raises(StoreUnavailable):
            await load(house.store, session)
        with pytest.raises(StoreUnavailable):
            await accept(house.store, "Anyone?", session)
        with pytest.raises(StoreUnavailable):
            await house.store.feed.append_delta(lease, "x")
        with pytest.raises(StoreUnavailable):
            await claim(house.store, session)
        with pytest.raises(StoreUnavailable):
            await commit(house.store, run, lease, "Welcome")
        with pytest.raises(StoreUnavailable):
            house.store.runs.renew([lease], lease_seconds=LEASE_SECONDS)
        with pytest.raises(StoreUnavailable):
            await house.store.audit.record(audit_of())
    finally:
        house.server.start()


async def test_when_the_server_is_back_all_goes_on_without_a_restart(house: House) -> None:
    session = await a_kept_session(house.store)
    await exchange(house.store, session, "Hello", "Welcome")
    run, lease = await held(house.store, "Still there?", session)
    assert house.store.runs.renew([lease], lease_seconds=LEASE_SECONDS) == []

    house.server.restart("immediate")
    await until_it_answers(house.store)

    await commit(house.store, run, lease, "Always")
    assert house.store.runs.renew([lease], lease_seconds=LEASE_SECONDS) == [lease]
    assert (await accept(house.store, "Good", session)).lease is not None
    assert lines(await load(house.store, session)) == ["Hello", "Welcome", "Still there?", "Always"]
    assert (await verify_audit(house.store.audit)).holds


async def test_the_audit_holds_after_connections_broke_in_the_middle_of_intakes(house: House) -> None:
    sessions = [await a_kept_session(house.store) for _ in range(4)]

    unanswered: list[StoreUnavailable] = []

    async def speak(number: int) -> None:
        for _ in range(40):
            try:
                await accept(house.store, "Hello", sessions[number % 4], queue_limit=1000)
            except StoreUnavailable as error:
                unanswered.append(error)

    async def break_connections() -> None:
        admin = await asyncpg.connect(house.server.dsn())
        for _ in range(20):
            await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'turnkeeper'"
            )
            await asyncio.sleep(0.01)
        await admin.close()

    await asyncio.gather(*(speak(number) for number in range(8)), break_connections())

    await until_it_answers(house.store)
    await exchange(house.store, await a_kept_session(house.store), "Hello", "Welcome")
    verdict = await verify_audit(house.store.audit)
    assert unanswered != []
    assert verdict.holds


async def test_the_chain_goes_on_after_a_write_that_was_durable_although_its_connection_broke(house: House) -> None:
    session = await a_kept_session(house.store)
    (head,) = [entry async for entry in house.store.audit.entries(TENANT)]
    late = chain_hash(head.hash, TENANT, head.chain, 2, head.body)
    await execute(
        house.dsn,
        f"INSERT INTO audit VALUES ('{TENANT}', '{head.chain}', 2, '{head.body}', decode('{late.hex()}', 'hex'))",
    )

    await accept(house.store, "Hello", session)
    await house.store.audit.record(audit_of())

    verdict = await verify_audit(house.store.audit)
    assert (verdict.holds, verdict.entries) == (True, 4)


async def test_a_node_that_lost_its_ears_looks_everywhere_when_it_hears_again(house: House) -> None:
    other = postgres_store(house.dsn, OTHER_NODE)
    await other.database.open()
    await house.store.wakes.open()
    await other.wakes.open()
    anywhere, somewhere = asyncio.Event(), asyncio.Event()
    events = {None: anywhere, TENANT: somewhere}
    house.store.wakes.listen(lambda tenant, subject: events[tenant].set())

    await execute(
        house.server.dsn(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'turnkeeper'",
    )
    await asyncio.wait_for(anywhere.wait(), timeout=20)
    other.wakes.tell(TENANT, Subject("sess_1"))
    await asyncio.wait_for(somewhere.wait(), timeout=20)

    await other.wakes.close()
    await house.store.wakes.close()
    await other.database.close()


async def test_a_database_that_became_read_only_says_so(house: House) -> None:
    session = await a_kept_session(house.store)
    name = house.dsn.rsplit("/", 1)[1]
    await execute(house.server.dsn(), f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    read_only = postgres_store(house.dsn, OTHER_NODE)
    await read_only.database.open()

    with pytest.raises(StoreUnavailable):
        await read_only.database.ping()
    with pytest.raises(StoreUnavailable):
        await accept(read_only, "Hello", session)
    loaded = await load(read_only, session)

    await read_only.database.close()
    assert loaded.history == ()


async def test_a_node_frozen_inside_a_transaction_does_not_keep_the_session_from_the_others(house: House) -> None:
    """Its connection is closed by the server; here the frozen node is a bare connection with the lease row locked."""
    session = await a_kept_session(house.store)
    frozen = await asyncpg.connect(house.dsn, server_settings={"idle_in_transaction_session_timeout": "200"})
    await frozen.execute("BEGIN")
    await frozen.execute("SELECT * FROM leases FOR UPDATE")

    accepted = await asyncio.wait_for(accept(house.store, "Hello", session), timeout=10)

    frozen.terminate()
    assert (await run_of(house.store, accepted.run)).status is RunStatus.RUNNING


async def test_a_server_that_cannot_be_reached_is_named_without_the_password() -> None:
    store = postgres_store("postgresql://ada:s3cret@127.0.0.1:1/conversations", NODE)

    with pytest.raises(StoreUnavailable) as raised:
        await store.database.open()

    assert "'conversations' on 127.0.0.1:1 cannot be opened" in str(raised.value)
    assert "s3cret" not in str(raised.value)


async def test_an_address_that_cannot_be_read_gives_no_part_of_the_password_away() -> None:
    store = postgres_store("postgresql://ada:s3/cret@127.0.0.1/conversations", NODE)

    with pytest.raises(StoreUnavailable) as raised:
        await store.database.open()

    assert "cannot be read" in str(raised.value)
    assert "s3" not in str(raised.value)
    assert raised.value.__cause__ is None


async def test_a_database_that_does_not_exist_is_named(server: PostgresServer) -> None:
    store = postgres_store(server.dsn("nowhere"), NODE)

    with pytest.raises(StoreUnavailable, match="'nowhere'"):
        await store.database.open()


async def test_after_a_failed_opening_a_call_says_that_the_database_is_closed(server: PostgresServer) -> None:
    store = postgres_store(server.dsn("nowhere"), NODE)
    with pytest.raises(StoreUnavailable):
        await store.database.open()

    with pytest.raises(StoreUnavailable, match="closed"):
        await store.sessions.create(a_session(), audit_of())
    await store.database.close()
