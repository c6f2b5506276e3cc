"""What a store promises about its tables: how they come to be, and what the database itself refuses."""

import asyncio
import re
import sqlite3
from contextlib import closing
from importlib.resources import files

import pytest

from tests.contract.backends import TABLES, Backend, Refused, known_migrations, schema_of, statements_of
from tests.contract.builders import (
    NODE,
    OTHER_NODE,
    a_kept_session,
    answer,
    audit_of,
    commit,
    exchange,
    held,
    lines,
    load,
    reset,
    waiting,
)
from turnkeeper.errors import SchemaDamaged, SchemaTooNew
from turnkeeper.ports.store import Store
from turnkeeper.stores.migrations import migrations_of

APPEND_ONLY = ("messages", "turns", "epochs", "feed", "checkpoints", "explanations", "audit")

# Once a day, once for a user who leaves, when an operator looks, or over few rows.
MEANT_TO_WALK = {
    "acting_owners",
    "artifacts_of_user",
    "contexts_since",
    "count_sessions",
    "export_contacts",
    "forget_requests",
    "gone_nodes",
    "layers_that_mention",
    "leases_held",
    "list_seal_keys",
    "live_runs",
    "living_nodes",
    "make_first_seal_key",
    "moves_of_session",
    "sessions_after",
    "sources_of_session",
    "stays_of_user",
    "stored_bytes",
    "storage_totals",
}

# A write that PostgreSQL does in one round trip is one statement there and several here.
ONLY_SQLITE = {
    "append_chunk",
    "close_collection",
    "close_door",
    "close_erasure",
    "complete_run",
    "erase_unit_search",
    "insert_unit",
    "index_unit",
    "last_unit_no",
    "place_in_search",
    "units_by_no",
    "unindex_unit",
    "newest_messages",
}
ONLY_POSTGRES = {
    "accept_first_message",
    "accept_message",
    "commit_turn",
    "create_session",
    "end_held_run",
    "insert_units",
    "load_conversation",
    "lock_base",
    "lock_keys",
    "lock_lease",
    "lock_long_runs",
    "lock_seal_keys",
    "lock_sessions",
    "lock_storage",
    "sweep_erased",
}


async def test_a_new_database_has_every_migration(store: Store, backend: Backend) -> None:
    applied = await backend.execute("SELECT number, name, checksum FROM migrations ORDER BY number")

    assert applied == [(one.number, one.name, one.checksum) for one in known_migrations(backend)]


async def test_the_migrations_lead_to_the_same_tables_as_the_schema(backend: Backend) -> None:
    await backend.execute(schema_of(backend))
    fresh = await backend.shape()
    await backend.wipe()

    for migration in known_migrations(backend):
        await backend.execute(migration.script)

    assert await backend.shape() == fresh
    assert len(fresh) > len(TABLES)


async def test_an_old_database_is_brought_up_to_date_when_it_is_opened(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome")
    again = backend.store(OTHER_NODE)

    await again.database.open()

    kept = lines(await load(again, session))
    await again.database.close()
    assert kept == ["Hello", "Welcome"]


async def test_nodes_that_open_a_fresh_database_at_once_all_find_it_usable(backend: Backend) -> None:
    stores = [backend.store(NODE) for _ in range(5)]

    await asyncio.gather(*(store.database.open() for store in stores))

    for store in stores:
        await store.database.ping()
        await store.database.close()
    assert len(await backend.execute("SELECT * FROM schema_info")) == 1


async def test_a_migration_with_other_contents_than_ours_is_damage(store: Store, backend: Backend) -> None:
    await backend.execute("UPDATE migrations SET checksum = 'another' WHERE number = 1")

    with pytest.raises(SchemaDamaged):
        await backend.store(OTHER_NODE).database.open()


async def test_a_database_that_needs_newer_code_is_refused(store: Store, backend: Backend) -> None:
    await backend.execute("UPDATE schema_info SET min_code = 9999")

    with pytest.raises(SchemaTooNew):
        await backend.store(OTHER_NODE).database.open()


async def test_a_newer_database_that_still_allows_our_code_is_used(store: Store, backend: Backend) -> None:
    await backend.execute("INSERT INTO migrations (number, name, checksum, applied_at) VALUES (9999, 'n', 'c', 1)")
    old_code = backend.store(OTHER_NODE)

    await old_code.database.open()

    await old_code.database.ping()
    await old_code.database.close()


async def test_what_is_append_only_refuses_to_be_changed(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome")
    asked = await waiting(store, session)
    answered = await answer(store, session, asked, "Four")
    assert answered.lease is not None
    await reset(store, session, answered.lease, revision=1)

    for table in APPEND_ONLY:
        assert await backend.execute(f"SELECT * FROM {table}") != []
        with pytest.raises(Refused, match=f"{table} is append-only"):
            await backend.execute(f"UPDATE {table} SET tenant = 'globex'")
        with pytest.raises(Refused, match=f"{table} is append-only"):
            await backend.execute(f"DELETE FROM {table}")


async def test_a_lease_is_never_deleted(store: Store, backend: Backend) -> None:
    await a_kept_session(store)

    with pytest.raises(Refused):
        await backend.execute("DELETE FROM leases")


async def test_every_table_has_the_tenant_first_in_its_key(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)
    await commit(store, run, lease, "Welcome")
    await store.audit.record(audit_of())

    for table in TABLES:
        created = re.search(rf"CREATE TABLE {table} \((.*?)\n\)", schema_of(backend), re.DOTALL)
        assert created is not None
        assert created[1].strip().startswith("tenant ")
    keys = re.findall(r"(?:PRIMARY KEY|CREATE INDEX \w+ ON \w+) \((\w+)", schema_of(backend))
    assert set(keys) == {"tenant"}
    assert len(keys) >= len(TABLES)


async def test_every_statement_names_the_tenant(backend: Backend) -> None:
    touches_no_row = (
        {"open_collection", "open_door", "open_erasure", "sweep_erased"}
        if backend.package.endswith("postgres")
        else set()
    )
    statements = statements_of(backend.package)
    silent = [name for name in statements.keys() - touches_no_row if "tenant" not in statements[name]]

    assert silent == []


def test_both_stores_have_the_same_statements() -> None:
    sqlite, postgres = (set(statements_of(f"turnkeeper.stores.{package}")) for package in ("sqlite", "postgres"))

    assert sqlite - postgres == ONLY_SQLITE
    assert postgres - sqlite == ONLY_POSTGRES


def test_no_statement_reads_all_rows_of_a_tenant_unless_it_is_meant_to() -> None:
    # Without statistics SQLite takes the primary key over an index, so a statement names the index that it needs.
    schema = files("turnkeeper.stores.sqlite").joinpath("schema.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(schema)
        plans = {name: _plan(database, each) for name, each in statements_of("turnkeeper.stores.sqlite").items()}

    walks = {name for name, plan in plans.items() if re.search(r"USING PRIMARY KEY \(tenant=\?\)", plan)}
    assert {name for name in walks if not name.startswith(("erase_", "rename_in_"))} == MEANT_TO_WALK


def _plan(database: sqlite3.Connection, statement: str) -> str:
    unknown = dict.fromkeys(re.findall(r":([a-z_]+)", statement))
    return "\n".join(row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {statement}", unknown))


def test_both_stores_have_the_same_migrations() -> None:
    sqlite, postgres = (migrations_of(f"turnkeeper.stores.{package}") for package in ("sqlite", "postgres"))

    assert [(one.number, one.name) for one in sqlite] == [(one.number, one.name) for one in postgres]
