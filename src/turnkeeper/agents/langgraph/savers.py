"""LangGraph's own savers on our databases, and what they lack: listing threads and dropping single checkpoints.

SQLite: a file of its own beside the database, so that the one writer of the database never waits for a graph.
PostgreSQL: tables of the saver in a schema of their own, over a small pool.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import aiosqlite
import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from turnkeeper.errors import AgentMemoryUnavailable

SCHEMA = "turnkeeper_graphs"
BUSY_SECONDS = 30.0
OPEN_SECONDS = 10.0
_SETUP_LOCK = 7_316_004_217

Place = tuple[str, str]


class Saver(Protocol):
    """A place of a checkpoint is the part of the graph and the id."""

    @property
    def checkpoints(self) -> BaseCheckpointSaver[Any]: ...

    async def next_threads(self, after: str, until: str | None, limit: int) -> Sequence[str]: ...

    async def places(self, thread: str) -> Sequence[Place]: ...

    async def drop(self, thread: str, places: Sequence[Place]) -> None: ...

    async def scrub(self) -> bool: ...

    async def close(self) -> None: ...


@asynccontextmanager
async def reaching_it() -> AsyncIterator[None]:
    """What a driver raises becomes one error that says what to do."""
    try:
        yield
    except (sqlite3.Error, psycopg.Error, PoolTimeout, OSError, ValueError) as error:
        # aiosqlite says with a ValueError that its connection is closed.
        raise AgentMemoryUnavailable(type(error).__name__) from error


class SqliteGraphSaver:
    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self.checkpoints: BaseCheckpointSaver[Any] = AsyncSqliteSaver(connection)

    @classmethod
    async def open(cls, path: Path, *, synchronous: str) -> "SqliteGraphSaver":
        # Made before SQLite would make it: what graphs remember is nobody else's business either.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = await aiosqlite.connect(path, timeout=BUSY_SECONDS)
        try:
            await _in_wal(connection)
            await connection.execute(f"PRAGMA synchronous = {synchronous}")
            # What is forgotten is overwritten in the file, as in the database.
            await connection.execute("PRAGMA secure_delete = ON")
            saver = cls(connection)
            await saver.checkpoints.setup()  # type: ignore[attr-defined]
        except BaseException:
            await connection.close()
            raise
        return saver

    async def next_threads(self, after: str, until: str | None, limit: int) -> Sequence[str]:
        found: list[str] = []
        # One step through the index for each thread, however many checkpoints it has.
        step = "SELECT MIN(thread_id) FROM checkpoints WHERE thread_id > ?"
        while len(found) < limit:
            rows = await self._connection.execute_fetchall(step, (found[-1] if found else after,))
            thread = next(iter(rows))[0]
            if thread is None or (until is not None and thread >= until):
                break
            found.append(thread)
        return found

    async def places(self, thread: str) -> Sequence[Place]:
        query = "SELECT checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = ?"
        return [(ns, id) for ns, id in await self._connection.execute_fetchall(query, (thread,))]

    async def drop(self, thread: str, places: Sequence[Place]) -> None:
        for table in ("writes", "checkpoints"):
            await self._connection.executemany(
                f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
                [(thread, *place) for place in places],
            )
        await self._connection.commit()

    async def scrub(self) -> bool:
        rows = await self._connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        return not next(iter(rows))[0]

    async def close(self) -> None:
        await self._connection.close()


async def _in_wal(connection: aiosqlite.Connection) -> None:
    """Several processes may open a new file at once; changing its mode waits for nobody, so it is tried again."""
    async with asyncio.timeout(OPEN_SECONDS):
        while True:
            try:
                await connection.execute_fetchall("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                await asyncio.sleep(0.02)


Pool = AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]


class PostgresGraphSaver:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.checkpoints: BaseCheckpointSaver[Any] = AsyncPostgresSaver(pool)

    @classmethod
    async def open(cls, address: str, *, pool_size: int) -> "PostgresGraphSaver":
        pool: Pool = AsyncConnectionPool(
            address,
            min_size=0,
            max_size=pool_size,
            timeout=OPEN_SECONDS,
            open=False,
            configure=_in_our_schema,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        )
        await pool.open()
        try:
            saver = cls(pool)
            await saver._set_up()
        except BaseException:
            await pool.close()
            raise
        return saver

    async def _set_up(self) -> None:
        """One node at a time. Waiting in the database would stop what it waits for: an index is made beside others."""
        async with self._pool.connection() as lock, asyncio.timeout(OPEN_SECONDS):
            await _take(lock)
            try:
                await lock.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                await AsyncPostgresSaver(lock).setup()
                # Threads are walked through in one order, whatever the language of the database.
                await lock.execute(
                    'CREATE INDEX IF NOT EXISTS checkpoints_in_order ON checkpoints (thread_id COLLATE "C")'
                )
            finally:
                await lock.execute("SELECT pg_advisory_unlock(%s)", (_SETUP_LOCK,))

    async def next_threads(self, after: str, until: str | None, limit: int) -> Sequence[str]:
        found: list[str] = []
        step = 'SELECT MIN(thread_id COLLATE "C") AS thread FROM checkpoints WHERE thread_id COLLATE "C" > %s'
        async with self._pool.connection() as connection:
            while len(found) < limit:
                row = await (await connection.execute(step, (found[-1] if found else after,))).fetchone()
                thread = None if row is None else row["thread"]
                if thread is None or (until is not None and thread >= until):
                    break
                found.append(thread)
        return found

    async def places(self, thread: str) -> Sequence[Place]:
        query = "SELECT checkpoint_ns AS ns, checkpoint_id AS id FROM checkpoints WHERE thread_id = %s"
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(query, (thread,))).fetchall()
        return [(row["ns"], row["id"]) for row in rows]

    async def drop(self, thread: str, places: Sequence[Place]) -> None:
        async with self._pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
            for table in ("checkpoint_writes", "checkpoints"):
                await cursor.executemany(
                    f"DELETE FROM {table} WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s",
                    [(thread, *place) for place in places],
                )
            # Checkpoints share the values that did not change between them.
            await cursor.execute(
                "DELETE FROM checkpoint_blobs b WHERE b.thread_id = %s AND NOT EXISTS ("
                "SELECT 1 FROM checkpoints c WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns "
                "AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version)",
                (thread,),
            )

    async def scrub(self) -> bool:
        async with self._pool.connection() as connection:
            await connection.execute("VACUUM (SKIP_LOCKED) checkpoints, checkpoint_writes, checkpoint_blobs")
        return True

    async def close(self) -> None:
        await self._pool.close()


async def _in_our_schema(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.execute(f"SET search_path = {SCHEMA}")


async def _take(connection: psycopg.AsyncConnection[DictRow]) -> None:
    while True:
        row = await (await connection.execute("SELECT pg_try_advisory_lock(%s) AS ours", (_SETUP_LOCK,))).fetchone()
        if row is not None and row["ours"]:
            return
        await asyncio.sleep(0.02)
