"""The bare databases: the least that a durable turn can cost.

Two tables, no model, no checks. On SQLite once on the calling thread and once through a writer thread that commits
everything waiting together; on PostgreSQL two round trips, a read and one statement that writes.
"""

import asyncio
import json
import queue
import sqlite3
import threading
import uuid
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.contenders.contender import BlockingContender, Contender, Said
from bench.work import WINDOW, Place, answer_to, state_after

POOL_SIZE = 16

_SCHEMA = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, turns INTEGER NOT NULL, state TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE messages (session_id TEXT NOT NULL, seq INTEGER NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL,"
    " PRIMARY KEY (session_id, seq)) WITHOUT ROWID",
)
_READ_SESSION = "SELECT turns, state FROM sessions WHERE id = ?"
_READ_MESSAGES = "SELECT seq, role, content FROM messages WHERE session_id = ? ORDER BY seq DESC LIMIT ?"
_ADVANCE = "UPDATE sessions SET turns = turns + 1, state = ? WHERE id = ? AND turns = ?"
_APPEND = "INSERT INTO messages (session_id, seq, role, content) VALUES (?, ?, ?, ?)"


def connect_durably(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=30, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _load(connection: sqlite3.Connection, session: str) -> tuple[int, dict[str, Any]]:
    turns, state = connection.execute(_READ_SESSION, (session,)).fetchone()
    connection.execute(_READ_MESSAGES, (session, WINDOW)).fetchall()
    return turns, json.loads(state)


def _write(connection: sqlite3.Connection, session: str, turns: int, said: str, state: str) -> None:
    if connection.execute(_ADVANCE, (state, session, turns)).rowcount == 0:
        raise RuntimeError("another turn came first")
    rows = ((session, 2 * turns + 1, "user", said), (session, 2 * turns + 2, "assistant", answer_to(said)))
    connection.executemany(_APPEND, rows)


class RawSqlite(BlockingContender):
    """One connection on the calling thread. Eight writers each wait for the one before, as any program would do it."""

    async def open(self, place: Place) -> None:
        self._connection = connect_durably(place.file)
        self._one_at_a_time = threading.Lock()
        if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sessions'").fetchone():
            for statement in _SCHEMA:
                self._connection.execute(statement)

    async def close(self) -> None:
        self._connection.close()

    async def create(self) -> str:
        session = uuid.uuid4().hex
        self._connection.execute("INSERT INTO sessions VALUES (?, 0, '{}')", (session,))
        return session

    def turn_now(self, session: str, said: str) -> None:
        with self._one_at_a_time:
            turns, state = _load(self._connection, session)
            after = json.dumps(state_after(state.get("counter", 0)))
            self._connection.execute("BEGIN IMMEDIATE")
            _write(self._connection, session, turns, said, after)
            self._connection.execute("COMMIT")

    async def newest(self, session: str) -> Sequence[str]:
        found = self._connection.execute(_READ_MESSAGES, (session, WINDOW)).fetchall()
        return [content for _, _, content in reversed(found)]

    async def messages(self, session: str) -> Sequence[Said]:
        return self._connection.execute(
            "SELECT role, content FROM messages WHERE session_id = ? ORDER BY seq", (session,)
        ).fetchall()

    async def counter(self, session: str) -> int | None:
        return int(_load(self._connection, session)[1].get("counter", 0))


class GroupCommit:
    """One thread that commits everything waiting in one transaction, and then tells everyone."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._queue: queue.SimpleQueue[tuple[Callable[[sqlite3.Connection], None], asyncio.Future[None]] | None]
        self._queue = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._commit_batches, daemon=True)
        self._thread.start()

    async def write(self, work: Callable[[sqlite3.Connection], None]) -> None:
        written: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((work, written))
        await written

    async def close(self) -> None:
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _commit_batches(self) -> None:
        connection = connect_durably(self._file)
        while (first := self._queue.get()) is not None:
            batch = [first]
            connection.execute("BEGIN IMMEDIATE")
            first[0](connection)
            while not self._queue.empty():
                later = self._queue.get()
                if later is None:
                    self._queue.put(None)
                    break
                later[0](connection)
                batch.append(later)
            connection.execute("COMMIT")
            self._loop.call_soon_threadsafe(_settle, [written for _, written in batch])
        connection.close()


def _settle(batch: list[asyncio.Future[None]]) -> None:
    for written in batch:
        written.set_result(None)


class RawSqliteGroup(Contender):
    async def open(self, place: Place) -> None:
        self._bare = RawSqlite()
        await self._bare.open(place)
        self._reader = connect_durably(place.file)
        self._group = GroupCommit(place.file)
        self._turns_of: dict[str, asyncio.Lock] = {}

    async def close(self) -> None:
        await self._group.close()
        self._reader.close()
        await self._bare.close()

    async def create(self) -> str:
        return await self._bare.create()

    async def turn(self, session: str, said: str) -> None:
        async with self._turns_of.setdefault(session, asyncio.Lock()):
            turns, state = _load(self._reader, session)
            after = json.dumps(state_after(state.get("counter", 0)))
            await self._group.write(lambda connection: _write(connection, session, turns, said, after))

    async def newest(self, session: str) -> Sequence[str]:
        return await self._bare.newest(session)

    async def messages(self, session: str) -> Sequence[Said]:
        return await self._bare.messages(session)

    async def counter(self, session: str) -> int | None:
        return await self._bare.counter(session)


_PG_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (id text PRIMARY KEY, turns bigint NOT NULL, state text NOT NULL);
CREATE TABLE IF NOT EXISTS messages (session_id text NOT NULL, seq bigint NOT NULL, role text NOT NULL,
                                     content text NOT NULL, PRIMARY KEY (session_id, seq));
"""
_PG_READ = """
SELECT s.turns, s.state, m.seq, m.role, m.content
  FROM sessions s
  LEFT JOIN LATERAL (SELECT * FROM messages WHERE session_id = s.id ORDER BY seq DESC LIMIT 20) m ON true
 WHERE s.id = $1
"""
_PG_WRITE = """
WITH advanced AS (
    UPDATE sessions SET turns = turns + 1, state = $2 WHERE id = $1 AND turns = $3 RETURNING turns
)
INSERT INTO messages (session_id, seq, role, content)
SELECT $1, v.seq, v.role, v.content
  FROM advanced, (VALUES ($3 * 2 + 1, 'user', $4::text), ($3 * 2 + 2, 'assistant', $5::text)) AS v (seq, role, content)
"""
_PG_MESSAGES = "SELECT role, content FROM messages WHERE session_id = $1 ORDER BY seq"


class RawAsyncpg(Contender):
    """A pool of 16; a read and one statement that writes. A turn that came too late is tried again."""

    async def open(self, place: Place) -> None:
        asyncpg = import_module("asyncpg")
        self._pool: Any = await asyncpg.create_pool(place.server, min_size=1, max_size=POOL_SIZE)
        await self._pool.execute(_PG_SCHEMA)

    async def close(self) -> None:
        await self._pool.close()

    async def create(self) -> str:
        session = uuid.uuid4().hex
        await self._pool.execute("INSERT INTO sessions VALUES ($1, 0, '{}')", session)
        return session

    async def turn(self, session: str, said: str) -> None:
        async with self._pool.acquire() as connection:
            while True:
                loaded = await connection.fetch(_PG_READ, session)
                turns, state = loaded[0]["turns"], json.loads(loaded[0]["state"])
                after = json.dumps(state_after(state.get("counter", 0)))
                if await connection.execute(_PG_WRITE, session, after, turns, said, answer_to(said)) == "INSERT 0 2":
                    return

    async def newest(self, session: str) -> Sequence[str]:
        found = await self._pool.fetch(_PG_READ, session)
        return [row["content"] for row in reversed(found)]

    async def messages(self, session: str) -> Sequence[Said]:
        return [(row["role"], row["content"]) for row in await self._pool.fetch(_PG_MESSAGES, session)]

    async def counter(self, session: str) -> int | None:
        state: str = await self._pool.fetchval("SELECT state FROM sessions WHERE id = $1", session)
        return int(json.loads(state).get("counter", 0))


class RawPsycopg(BlockingContender):
    """The statements of a write sent in one go; a row lock in the read keeps other writers of the session out."""

    async def open(self, place: Place) -> None:
        pool = import_module("psycopg_pool")
        self._pool: Any = pool.ConnectionPool(place.server, min_size=1, max_size=POOL_SIZE, open=True)
        with self._pool.connection() as connection:
            connection.execute(_PG_SCHEMA)

    async def close(self) -> None:
        self._pool.close()

    async def create(self) -> str:
        session = uuid.uuid4().hex
        with self._pool.connection() as connection:
            connection.execute("INSERT INTO sessions VALUES (%s, 0, '{}')", (session,))
        return session

    def turn_now(self, session: str, said: str) -> None:
        with self._pool.connection() as connection:
            with connection.pipeline():
                locked = connection.execute("SELECT turns, state FROM sessions WHERE id = %s FOR UPDATE", (session,))
                newest = connection.execute(_READ_MESSAGES.replace("?", "%s"), (session, WINDOW))
            turns, state = locked.fetchone()
            newest.fetchall()
            after = json.dumps(state_after(json.loads(state).get("counter", 0)))
            with connection.pipeline():
                connection.execute(_ADVANCE.replace("?", "%s"), (after, session, turns))
                append = _APPEND.replace("?", "%s")
                connection.execute(append, (session, 2 * turns + 1, "user", said))
                connection.execute(append, (session, 2 * turns + 2, "assistant", answer_to(said)))
                connection.commit()

    async def newest(self, session: str) -> Sequence[str]:
        with self._pool.connection() as connection:
            found = connection.execute(_READ_MESSAGES.replace("?", "%s"), (session, WINDOW)).fetchall()
        return [content for _, _, content in reversed(found)]

    async def messages(self, session: str) -> Sequence[Said]:
        with self._pool.connection() as connection:
            found: list[Said] = connection.execute(_PG_MESSAGES.replace("$1", "%s"), (session,)).fetchall()
        return found

    async def counter(self, session: str) -> int | None:
        with self._pool.connection() as connection:
            state = connection.execute("SELECT state FROM sessions WHERE id = %s", (session,)).fetchone()[0]
        return int(json.loads(state).get("counter", 0))
