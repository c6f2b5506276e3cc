"""The databases under test, seen from outside: how to open them, and how to reach behind turnkeeper's back."""

import contextlib
import sqlite3
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import asyncpg

from tests.contract.builders import NODE
from turnkeeper.model.ids import NodeId
from turnkeeper.ports.store import Store, WriteProbe
from turnkeeper.stores.migrations import Migration, migrations_of
from turnkeeper.stores.postgres.store import postgres_store
from turnkeeper.stores.queries import named_statements
from turnkeeper.stores.sqlite.store import sqlite_store


class Refused(Exception):
    """The database itself did not allow a statement; the text is what it said."""


class Backend(Protocol):
    @property
    def package(self) -> str:
        """Where its SQL is kept."""

    def store(self, node: NodeId = NODE, probe: WriteProbe | None = None) -> Store: ...

    async def execute(self, script: str) -> list[tuple[Any, ...]]:
        """Run statements with the bare driver; gives the rows of the last one. Raises Refused."""

    async def tamper(self, statement: str) -> None:
        """Change what is append-only, as someone could who owns the server."""

    async def wipe(self) -> None:
        """Make it a database without a single table again."""

    async def shape(self) -> list[tuple[Any, ...]]:
        """Everything that the schema consists of, in a form that can be compared."""


TABLES = (
    "sessions",
    "leases",
    "runs",
    "messages",
    "turns",
    "epochs",
    "feed",
    "chunks",
    "checkpoints",
    "explanations",
    "requests",
    "audit",
    "nodes",
    "units",
    "knowledge_bases",
    "sources",
    "packs",
    "pack_overrides",
    "effects",
    "buckets",
    "blobs",
    "artifacts",
    "bindings",
    "binding_places",
    "contacts",
    "outbox",
    "layers",
    "users",
    "agent_definitions",
    "model_profiles",
    "contexts",
    "current_sessions",
    "layouts",
    "run_counts",
    "blob_pieces",
    "manifests",
    "manifest_entries",
    "pointers",
    "pointer_moves",
    "outputs",
    "approvals",
    "receipts",
    "device_sessions",
    "seal_keys",
    "carried_revisions",
    "api_keys",
)


async def contents(backend: Backend) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, to see that something has written nothing."""
    return {table: sorted(await backend.execute(f"SELECT * FROM {table}"), key=repr) for table in TABLES}


def schema_of(backend: Backend) -> str:
    return files(backend.package).joinpath("schema.sql").read_text(encoding="utf-8")


def statements_of(package: str) -> dict[str, str]:
    return named_statements(files(package).joinpath("queries.sql").read_text(encoding="utf-8"))


def known_migrations(backend: Backend) -> tuple[Migration, ...]:
    return migrations_of(backend.package)


@dataclass(frozen=True)
class SqliteBackend:
    path: Path
    package: str = "turnkeeper.stores.sqlite"

    def store(self, node: NodeId = NODE, probe: WriteProbe | None = None) -> Store:
        return sqlite_store(self.path, node, probe=probe)

    async def execute(self, script: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None, timeout=10)) as connection:
            rows: list[tuple[Any, ...]] = []
            statement = ""
            try:
                for line in script.splitlines(keepends=True):
                    statement += line
                    if sqlite3.complete_statement(statement):
                        rows = connection.execute(statement).fetchall()
                        statement = ""
                return connection.execute(statement).fetchall() if statement.strip() else rows
            except sqlite3.IntegrityError as error:
                raise Refused(str(error)) from error

    async def tamper(self, statement: str) -> None:
        await self.execute(f"DROP TRIGGER audit_keep; DROP TRIGGER audit_stay; {statement}".replace("; ", ";\n"))

    async def wipe(self) -> None:
        self.path.unlink()

    async def shape(self) -> list[tuple[Any, ...]]:
        return await self.execute(_SQLITE_SHAPE)


@dataclass(frozen=True)
class PostgresBackend:
    dsn: str
    package: str = "turnkeeper.stores.postgres"

    def store(self, node: NodeId = NODE, probe: WriteProbe | None = None) -> Store:
        return postgres_store(self.dsn, node, probe=probe)

    async def execute(self, script: str) -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(self.dsn)
        try:
            if script.lstrip().upper().startswith("SELECT"):
                return [tuple(row) for row in await connection.fetch(script)]
            await connection.execute(script)
            return []
        except asyncpg.RaiseError as error:
            raise Refused(str(error)) from error
        finally:
            await connection.close()

    async def tamper(self, statement: str) -> None:
        await self.execute(f"ALTER TABLE audit DISABLE TRIGGER ALL; {statement}")

    async def wipe(self) -> None:
        await self.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    async def shape(self) -> list[tuple[Any, ...]]:
        return await self.execute(_POSTGRES_SHAPE)


# A column that joined a table later stands behind its key in the text of the table, so columns are compared one by one.
_SQLITE_SHAPE = """
SELECT m.type, m.name, m.sql FROM sqlite_master m
 WHERE m.name NOT LIKE 'sqlite_%' AND (m.type <> 'table' OR m.sql LIKE 'CREATE VIRTUAL%')
UNION ALL
SELECT 'column', m.name || '.' || c.name, c.cid || c.type || c."notnull" || COALESCE(c.dflt_value, '') || c.pk
  FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c
 WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'
UNION ALL
SELECT 'table', t.name, t.type || t.wr || t.strict || (instr(m.sql, 'CHECK') > 0)
  FROM pragma_table_list t JOIN sqlite_master m ON m.name = t.name
 WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'
 ORDER BY 1, 2, 3
"""

_POSTGRES_SHAPE = """
SELECT 'column', c.relname::text || '.' || a.attname::text,
       format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull::text || ' ' || a.attcollation::text
       || ' ' || a.attnum::text || ' ' || COALESCE(c.reloptions::text, '')
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
UNION ALL
SELECT 'index', indexname::text, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT 'constraint', conrelid::regclass::text || '.' || conname::text, pg_get_constraintdef(oid)
  FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL
SELECT 'trigger', tgrelid::regclass::text || '.' || tgname::text, pg_get_triggerdef(oid)
  FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT 'function', proname::text, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
 ORDER BY 1, 2, 3
"""
