"""A PostgreSQL database as its operator sees it: counted, brought up to date, closed, copied."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import asyncpg

from turnkeeper.errors import MoveRefused, StoreUnavailable
from turnkeeper.ports.tables import Door, Rows, Shape, Survey
from turnkeeper.stores import units as unit_rows
from turnkeeper.stores.doors import (
    COUNT_CONTENT_IN_FILES,
    INTAKE,
    IS_FOUND,
    NO_CODE,
    OWN_COLUMNS,
    OWN_TABLES,
    REFUSAL,
    SQLSTATE,
    TABLE,
    refuse_unfit,
    rows_at_once,
)
from turnkeeper.stores.migrations import migrations_of
from turnkeeper.stores.postgres.database import (
    CONNECT_SECONDS,
    PostgresDatabase,
    door_of,
    pending_migrations,
    speaking_plainly,
)
from turnkeeper.stores.postgres.units import searchable
from turnkeeper.wording import words_by_part

if TYPE_CHECKING:
    from turnkeeper.stores.postgres.database import Connection

SEEN_MICROS = 30_000_000
MOVER_LOCK = 0x7475726E6D6F7665
# Whoever writes holds its tables for milliseconds. While we stand in line for them others stand behind us, so we give
# up soon and try again rather than let two writers and us wait for each other.
LOCK_MILLISECONDS = 200
LOCK_SECONDS = 30.0

_HOME = "(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('migrations'))"
_TABLES = f"SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = {_HOME} ORDER BY relname"
_COLUMNS = f"""
SELECT c.relname AS table, a.attname AS name, array_position(i.indkey::int[], a.attnum::int) AS place
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
 WHERE c.relkind IN ('r', 'p') AND c.relnamespace = {_HOME}
 ORDER BY c.relname, a.attnum
"""
_REFUSE = f"""
CREATE OR REPLACE FUNCTION refuse_while_moving() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = '{SQLSTATE}';
END
$$
"""


class PostgresTables:
    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._database = PostgresDatabase(dsn)
        self._connection: Connection | None = None

    @property
    def place(self) -> str:
        address = urlsplit(self._dsn)
        who = f"{address.username}@" if address.username else ""
        return f"postgresql://{who}{address.hostname or ''}{f':{address.port}' if address.port else ''}{address.path}"

    async def open(self) -> None:
        with self._database.saying_what_is_wrong():
            self._connection = await asyncpg.connect(
                self._dsn, timeout=CONNECT_SECONDS, server_settings={"application_name": "turnkeeper db"}
            )

    async def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with contextlib.suppress(OSError, TimeoutError, asyncpg.InterfaceError):
                await connection.close(timeout=CONNECT_SECONDS)

    async def survey(self) -> Survey:
        with _plainly():
            return await self._survey()

    async def _survey(self) -> Survey:
        tx = self._opened()
        size = await tx.fetchval("SELECT pg_database_size(current_database())")
        if not await self._is_made():
            return Survey(kind="PostgreSQL", place=self.place, size_bytes=size, is_made=False, tables={})
        door, moved_to = await door_of(tx)
        pending = () if door is Door.FILLING else await pending_migrations(tx)
        counted = f"SELECT count(*) FROM (SELECT 1 FROM {{}} LIMIT {Survey.COUNTED}) AS t"
        seen = "SELECT count(*) FROM nodes WHERE seen_at > $1"
        return Survey(
            kind="PostgreSQL",
            place=self.place,
            size_bytes=size,
            is_made=True,
            level=await tx.fetchval("SELECT coalesce(max(number), 0) FROM migrations"),
            min_code=await tx.fetchval("SELECT min(min_code) FROM schema_info"),
            pending=tuple(f"{each.number:04d}_{each.name}" for each in pending),
            door=door,
            moved_to=moved_to,
            tables={table: await tx.fetchval(counted.format(table)) for table in await self._copied_tables()},
            living_nodes=await tx.fetchval(seen, time.time_ns() // 1000 - SEEN_MICROS),
            open_runs=await self.open_runs(),
        )

    async def upgrade(self) -> Sequence[str]:
        before = await self.survey()
        await self._database.open()
        await self._database.close()
        every = [f"{each.number:04d}_{each.name}" for each in migrations_of(__package__)]
        return before.pending if before.is_made else every

    async def clock(self) -> int:
        return await self._number("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")

    async def vacuum(self) -> tuple[int, int]:
        with _plainly():
            tx = self._opened()
            before = await tx.fetchval("SELECT pg_database_size(current_database())")
            names = await self._tables() + [
                f"turnkeeper_graphs.{row['tablename']}"
                for row in await tx.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'turnkeeper_graphs'")
            ]
            await tx.execute(f"VACUUM (ANALYZE) {', '.join(names)}")
            return before, await tx.fetchval("SELECT pg_database_size(current_database())")

    # --- moving

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        with _plainly():
            is_ours = await self._opened().fetchval("SELECT pg_try_advisory_lock($1)", MOVER_LOCK)
        if not is_ours:
            raise MoveRefused(f"{self.place} is being moved by another command right now. Wait for its end.")
        try:
            yield
        finally:
            # A connection that broke has given it back already.
            if not self._opened().is_closed():
                await self._opened().execute("SELECT pg_advisory_unlock($1)", MOVER_LOCK)

    async def set_door(self, door: Door, *, to: str | None = None) -> None:
        if self._opened().is_closed():
            await self.open()
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                with _plainly():
                    async with self._opened().transaction():
                        await self._set_door(door, to)
                return
            except StoreUnavailable as error:
                is_busy = isinstance(error.__cause__, asyncpg.LockNotAvailableError | asyncpg.DeadlockDetectedError)
                if not is_busy or time.monotonic() > until:
                    raise
                await asyncio.sleep(LOCK_MILLISECONDS / 1000)

    async def _set_door(self, door: Door, to: str | None) -> None:
        tx, tables = self._opened(), await self._tables()
        await tx.execute(f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}")
        # Whoever is in the middle of a write comes to its end first; whoever comes later finds the triggers.
        await tx.execute(f"LOCK TABLE {', '.join(tables)} IN EXCLUSIVE MODE")
        if door is Door.OPEN:
            await tx.execute(f"DROP TABLE IF EXISTS {TABLE}")
            await tx.execute("DROP FUNCTION IF EXISTS refuse_while_moving CASCADE")
            return
        await tx.execute(_REFUSE)
        # Nothing is taken away while it is moved: that would have to wait for those who read.
        for table, changes in _refused([name for name in tables if name != TABLE], door):
            await tx.execute(
                f"CREATE OR REPLACE TRIGGER moving_{door} BEFORE {changes} ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION refuse_while_moving()"
            )
        await tx.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} (door TEXT NOT NULL, moved_to TEXT, at BIGINT NOT NULL)")
        await tx.execute(f"DELETE FROM {TABLE}")
        await tx.execute(f"INSERT INTO {TABLE} (door, moved_to, at) VALUES ($1, $2, $3)", door.value, to, _now())

    async def open_runs(self) -> int:
        return await self._number("SELECT count(*) FROM runs WHERE status IN ('queued', 'running')")

    async def has_graphs(self) -> bool:
        return await self._opened().fetchval("SELECT to_regclass('turnkeeper_graphs.checkpoints')") is not None

    async def contents_in_files(self) -> int:
        return await self._number(COUNT_CONTENT_IN_FILES)

    async def shapes(self) -> Sequence[Shape]:
        columns: dict[str, list[str]] = {}
        keys: dict[str, list[tuple[int, str]]] = {}
        with _plainly():
            found = await self._opened().fetch(_COLUMNS)
        for table, name, place in found:
            columns.setdefault(table, []).append(IS_FOUND if name in OWN_COLUMNS else name)
            if place is not None:
                keys.setdefault(table, []).append((place, name))
        return [
            Shape(table=table, columns=tuple(names), key=tuple(name for _, name in sorted(keys[table])))
            for table, names in columns.items()
            if table not in OWN_TABLES
        ]

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[None]:
        with _plainly():
            async with self._opened().transaction(isolation="repeatable_read", readonly=True):
                yield

    async def count(self, shape: Shape) -> int:
        return await self._number(f"SELECT count(*) FROM {shape.table}")

    async def rows(self, shape: Shape) -> AsyncGenerator[Rows, None]:
        columns = ", ".join("(words IS NOT NULL)::int" if each == IS_FOUND else each for each in shape.columns)
        query = f"SELECT {columns} FROM {shape.table} ORDER BY {', '.join(shape.key)}"
        with _plainly():
            cursor = await self._opened().cursor(query)
            while batch := await cursor.fetch(rows_at_once(shape)):
                yield [tuple(row) for row in batch]

    async def prepare(self) -> None:
        with _plainly():
            if await self._is_made():
                if (await door_of(self._opened()))[0] is not Door.FILLING:
                    raise MoveRefused(f"{self.place} is not empty: it holds tables of a turnkeeper.")
                await self._drop()
            async with self._opened().transaction():
                await self._database.bring_up_to_date(self._opened())
                await self._opened().execute("INSERT INTO schema_info (min_code) VALUES ($1)", NO_CODE)
                await self._set_door(Door.FILLING, None)

    async def _drop(self) -> None:
        """Nobody could open what was left half filled."""
        async with self._opened().transaction():
            await self._opened().execute(f"DROP TABLE {', '.join(await self._tables())} CASCADE")
            await self._opened().execute("DROP FUNCTION IF EXISTS refuse_change, refuse_while_moving CASCADE")
            await self._opened().execute("DROP SCHEMA IF EXISTS turnkeeper_graphs CASCADE")

    async def put(self, shape: Shape, rows: Rows) -> None:
        refuse_unfit(shape, rows)
        with _plainly():
            if IS_FOUND not in shape.columns:
                await self._opened().copy_records_to_table(shape.table, records=rows, columns=shape.columns)
                return
            columns = ["words" if column == IS_FOUND else column for column in shape.columns]
            values = [f"${no}::text::tsvector" if name == "words" else f"${no}" for no, name in enumerate(columns, 1)]
            insert = f"INSERT INTO {shape.table} ({', '.join(columns)}) VALUES ({', '.join(values)})"
            await self._opened().executemany(insert, [_worded(shape, row) for row in rows])

    async def declare_usable(self) -> None:
        with _plainly():
            async with self._opened().transaction():
                await self._opened().execute("DELETE FROM schema_info WHERE min_code = $1", NO_CODE)
                await self._set_door(Door.OPEN, None)
            await self._opened().execute(f"ANALYZE {', '.join(await self._tables())}")

    # --- the server

    def _opened(self) -> "Connection":
        if self._connection is None:
            raise StoreUnavailable("The database is closed.")
        return self._connection

    async def _number(self, query: str) -> int:
        with _plainly():
            return int(await self._opened().fetchval(query))

    async def _is_made(self) -> bool:
        return await self._opened().fetchval("SELECT to_regclass('migrations')") is not None

    async def _tables(self) -> list[str]:
        return [name for (name,) in await self._opened().fetch(_TABLES)]

    async def _copied_tables(self) -> list[str]:
        return [name for name in await self._tables() if name not in OWN_TABLES]


@contextlib.contextmanager
def _plainly() -> Iterator[None]:
    try:
        with speaking_plainly():
            yield
    except asyncpg.InsufficientPrivilegeError as error:
        raise MoveRefused(f"The server says: {error}. Use the role that owns the tables.") from error


def _refused(tables: Sequence[str], door: Door) -> Iterator[tuple[str, str]]:
    if door is Door.NO_INTAKE:
        yield INTAKE, "INSERT"
    elif door is Door.CLOSED:
        yield from ((table, "INSERT OR UPDATE OR DELETE") for table in tables)


def _worded(shape: Shape, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A unit that could be found can be found again."""
    said = dict(zip(shape.columns, row, strict=True))
    said[IS_FOUND] = searchable(words_by_part(unit_rows.unit_of(said["data"]))) if said[IS_FOUND] else None
    return tuple(said.values())


def _now() -> int:
    return time.time_ns() // 1000
