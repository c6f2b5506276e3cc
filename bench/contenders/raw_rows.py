"""The bare databases writing the rows that our commit writes, into our tables.

What is left between these and our stores is our own code. A column that was renamed makes them fail, not lie. Like our
stores they are given a run that was accepted before; that is not measured.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bench.contenders.contender import Contender, Said
from bench.contenders.ours import TENANT, OurStore, OurStoreOnPostgres
from bench.contenders.raw import POOL_SIZE, GroupCommit, connect_durably
from bench.work import WINDOW, Place, answer_to, state_after

_EXPLANATION = json.dumps({"stages": [{"name": "step", "began_us": 100, "took_us": 50, "data": {}}] * 6})
_SAID = '{"turn":1000,"finish":"done","seq":2000}'

_LOAD = """
SELECT s.revision, s.turns, s.last_seq, t.state
  FROM sessions s
  LEFT JOIN turns t ON t.tenant = s.tenant AND t.session_id = s.id AND t.number = s.turns
 WHERE s.tenant = ? AND s.id = ?
"""
_NEWEST = """
SELECT seq, id, turn, epoch, role, content, created_at FROM messages
 WHERE tenant = ? AND session_id = ? AND seq >= 1 ORDER BY seq DESC LIMIT ?
"""
_RELEASE = """
UPDATE leases SET holder = NULL, run_id = NULL, expires_at = 0, last_feed_no = last_feed_no + 1
 WHERE tenant = ? AND subject = ? RETURNING last_feed_no
"""
_ADVANCE = "UPDATE sessions SET revision = revision + 1, turns = turns + 1, last_seq = ? WHERE tenant = ? AND id = ?"
_MESSAGE = """
INSERT INTO messages (tenant, session_id, seq, id, turn, epoch, role, content, created_at)
VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)
"""
_TURN = """
INSERT INTO turns (tenant, session_id, number, run_id, epoch, revision, first_seq, last_seq, finish, state,
                   committed_at)
VALUES (?, ?, ?, ?, 1, ?, ?, ?, 'done', ?, ?)
"""
_RUN = """
UPDATE runs SET status = 'completed', ended_at = ?, turn = ?, finish = 'done', input = NULL WHERE tenant = ? AND id = ?
"""
_EXPLAIN = "INSERT INTO explanations (tenant, session_id, run_id, data) VALUES (?, ?, ?, ?)"
_TELL = "INSERT INTO feed (tenant, subject, no, type, run_id, at, data) VALUES (?, ?, ?, 'run.completed', ?, ?, ?)"


def _load(connection: sqlite3.Connection, session: str) -> tuple[int, int, int, str]:
    revision, turns, last_seq, state = connection.execute(_LOAD, (TENANT, session)).fetchone()
    connection.execute(_NEWEST, (TENANT, session, WINDOW)).fetchall()
    counter = json.loads(state)["counter"] if state else 0
    return revision, turns + 1, last_seq, json.dumps(state_after(counter))


def _write(
    connection: sqlite3.Connection, session: str, run: str, said: str, loaded: tuple[int, int, int, str]
) -> None:
    revision, number, last_seq, state = loaded
    now = time.time_ns() // 1000
    ((feed_no,),) = connection.execute(_RELEASE, (TENANT, session)).fetchall()
    connection.execute(_ADVANCE, (last_seq + 2, TENANT, session))
    asked = (TENANT, session, last_seq + 1, f"msg_{run[4:]}00", number, "user", said, now)
    answered = (TENANT, session, last_seq + 2, f"msg_{run[4:]}01", number, "assistant", answer_to(said), now)
    connection.executemany(_MESSAGE, (asked, answered))
    connection.execute(_TURN, (TENANT, session, number, run, revision + 1, last_seq + 1, last_seq + 2, state, now))
    connection.execute(_RUN, (now, number, TENANT, run))
    connection.execute(_EXPLAIN, (TENANT, session, run, _EXPLANATION))
    connection.execute(_TELL, (TENANT, session, feed_no, run, now, _SAID))


class _OnOurTables(Contender):
    """Sessions are made and messages taken in by our store, which is not measured here."""

    prepares = True
    _ours: OurStore

    async def create(self) -> str:
        return await self._ours.create()

    async def prepare(self, session: str, said: str) -> None:
        await self._ours.prepare(session, said)

    async def newest(self, session: str) -> Sequence[str]:
        return await self._ours.newest(session)

    async def messages(self, session: str) -> Sequence[Said]:
        return await self._ours.messages(session)

    async def counter(self, session: str) -> int | None:
        return await self._ours.counter(session)


class RawSqliteRows(_OnOurTables):
    """On the calling thread, in one transaction."""

    async def open(self, place: Place) -> None:
        self._ours = OurStore()
        await self._ours.open(place)
        self._connection = connect_durably(place.file)

    async def close(self) -> None:
        self._connection.close()
        await self._ours.close()

    async def turn(self, session: str, said: str) -> None:
        run = self._ours.accepted_run(session)
        loaded = _load(self._connection, session)
        self._connection.execute("BEGIN IMMEDIATE")
        _write(self._connection, session, run, said, loaded)
        self._connection.execute("COMMIT")


class RawSqliteGroupRows(_OnOurTables):
    async def open(self, place: Place) -> None:
        self._ours = OurStore()
        await self._ours.open(place)
        self._reader = connect_durably(place.file)
        self._group = GroupCommit(place.file)

    async def close(self) -> None:
        await self._group.close()
        self._reader.close()
        await self._ours.close()

    async def turn(self, session: str, said: str) -> None:
        run = self._ours.accepted_run(session)
        loaded = _load(self._reader, session)
        await self._group.write(lambda connection: _write(connection, session, run, said, loaded))


_PG_LOAD = """
SELECT s.revision, s.turns, s.last_seq, t.state, m.seq, m.id, m.turn, m.epoch, m.role, m.content, m.created_at
  FROM sessions s
  LEFT JOIN turns t ON t.tenant = s.tenant AND t.session_id = s.id AND t.number = s.turns
  LEFT JOIN LATERAL (SELECT * FROM messages
                      WHERE tenant = s.tenant AND session_id = s.id ORDER BY seq DESC LIMIT 20) m ON true
 WHERE s.tenant = $1 AND s.id = $2
"""
_PG_WRITE = """
WITH released AS (
    UPDATE leases SET holder = NULL, run_id = NULL, expires_at = 0, last_feed_no = last_feed_no + 1
     WHERE tenant = $1 AND subject = $2 RETURNING last_feed_no
), advanced AS (
    UPDATE sessions SET revision = revision + 1, turns = turns + 1, last_seq = $5 + 1 WHERE tenant = $1 AND id = $2
), message AS (
    INSERT INTO messages (tenant, session_id, seq, id, turn, epoch, role, content, created_at)
    VALUES ($1, $2, $5, $6, $4, 1, 'user', $7, $11), ($1, $2, $5 + 1, $8, $4, 1, 'assistant', $9, $11)
), turn AS (
    INSERT INTO turns (tenant, session_id, number, run_id, epoch, revision, first_seq, last_seq, finish, state,
                       committed_at)
    VALUES ($1, $2, $4, $3, 1, $12, $5, $5 + 1, 'done', $10, $11)
), run AS (
    UPDATE runs SET status = 'completed', ended_at = $11, turn = $4, finish = 'done', input = NULL
     WHERE tenant = $1 AND id = $3
), explanation AS (
    INSERT INTO explanations (tenant, session_id, run_id, data) VALUES ($1, $2, $3, $13)
)
INSERT INTO feed (tenant, subject, no, type, run_id, at, data)
SELECT $1, $2, last_feed_no, 'run.completed', $3, $11, $14 FROM released
"""


class RawAsyncpgRows(_OnOurTables):
    """A read and one statement that writes, on a pool of 16."""

    async def open(self, place: Place) -> None:
        self._ours = OurStoreOnPostgres()
        await self._ours.open(place)
        self._pool: Any = await import_module("asyncpg").create_pool(place.server, min_size=1, max_size=POOL_SIZE)

    async def close(self) -> None:
        await self._pool.close()
        await self._ours.close()

    async def turn(self, session: str, said: str) -> None:
        run = self._ours.accepted_run(session)
        async with self._pool.acquire() as connection:
            loaded = (await connection.fetch(_PG_LOAD, TENANT, session))[0]
            counter = json.loads(loaded["state"])["counter"] if loaded["state"] else 0
            await connection.execute(
                _PG_WRITE,
                TENANT,
                session,
                run,
                loaded["turns"] + 1,
                loaded["last_seq"] + 1,
                f"msg_{run[4:]}00",
                said,
                f"msg_{run[4:]}01",
                answer_to(said),
                json.dumps(state_after(counter)),
                time.time_ns() // 1000,
                loaded["revision"] + 1,
                _EXPLANATION,
                _SAID,
            )
