"""A SQLite file as its operator sees it: counted, brought up to date, closed, copied."""

import asyncio
import contextlib
import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

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
    TABLE,
    rows_at_once,
)
from turnkeeper.stores.migrations import migrations_of
from turnkeeper.stores.sqlite.database import SqliteDatabase, WriterLock, door_of, pending_migrations
from turnkeeper.stores.sqlite.units import index_words
from turnkeeper.wording import words_by_part

SEEN_MICROS = 30_000_000
SEARCH = "unit_search"
_FOUND = f"search_row IS NOT NULL AND EXISTS (SELECT 1 FROM {SEARCH} WHERE {SEARCH}.rowid = units.search_row)"

T = TypeVar("T")


class SqliteTables:
    def __init__(self, path: Path, *, busy_seconds: float = 30.0) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None
        self._one_at_a_time = threading.Lock()

    @property
    def place(self) -> str:
        return str(self._path)

    async def open(self) -> None:
        """A file that is not there is made by `upgrade` and `prepare` alone."""
        if self._path.exists():
            await self._beside(self._connect)

    async def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await self._beside(connection.close)

    async def survey(self) -> Survey:
        return await self._beside(self._survey)

    def _survey(self) -> Survey:
        tx = self._connection
        if tx is None or not _has_tables(tx):
            return Survey(kind="SQLite", place=self.place, size_bytes=self._size(), is_made=False, tables={})
        door, moved_to = door_of(tx)
        level, min_code = tx.execute(
            "SELECT MAX(number), (SELECT MIN(min_code) FROM schema_info) FROM migrations"
        ).fetchone()
        pending = () if door is Door.FILLING else pending_migrations(tx) or ()
        counted = f"SELECT COUNT(*) FROM (SELECT 1 FROM {{}} LIMIT {Survey.COUNTED})"
        return Survey(
            kind="SQLite",
            place=self.place,
            size_bytes=self._size(),
            is_made=True,
            level=level or 0,
            min_code=min_code,
            pending=tuple(f"{each.number:04d}_{each.name}" for each in pending),
            door=door,
            moved_to=moved_to,
            tables={table: tx.execute(counted.format(table)).fetchone()[0] for table in _copied_tables(tx)},
            living_nodes=tx.execute("SELECT COUNT(*) FROM nodes WHERE seen_at > ?", (_now() - SEEN_MICROS,)).fetchone()[
                0
            ],
            open_runs=_open_runs(tx),
        )

    async def upgrade(self) -> Sequence[str]:
        before = await self.survey()
        database = SqliteDatabase(self._path, busy_seconds=self._busy_seconds)
        await database.open()
        await database.close()
        await self.open()
        every = [f"{each.number:04d}_{each.name}" for each in migrations_of(__package__)]
        return before.pending if before.is_made else every

    async def clock(self) -> int:
        return _now()

    async def vacuum(self) -> tuple[int, int]:
        return await self._beside(self._vacuum)

    def _vacuum(self) -> tuple[int, int]:
        before = self._size()
        with contextlib.closing(WriterLock(self._path)) as lock, lock.held():
            _compact(self._opened())
        if self._graphs.exists():
            with contextlib.closing(sqlite3.connect(self._graphs, timeout=self._busy_seconds)) as connection:
                _compact(connection)
        return before, self._size()

    # --- moving

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        lock = self._path.with_name(f"{self._path.name}-mover")
        file = await self._beside(lambda: os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            if not _is_ours(file):
                raise MoveRefused(f"{self.place} is being moved by another command right now. Wait for its end.")
            yield
        finally:
            os.close(file)

    async def set_door(self, door: Door, *, to: str | None = None) -> None:
        await self._beside(lambda: self._set_door(door, to))

    def _set_door(self, door: Door, to: str | None) -> None:
        with contextlib.closing(WriterLock(self._path)) as lock, lock.held(), _writing(self._opened()) as tx:
            for (name,) in tx.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'moving\\_%' ESCAPE '\\'"
            ).fetchall():
                tx.execute(f"DROP TRIGGER {name}")
            tx.execute(f"DROP TABLE IF EXISTS {TABLE}")
            if door is Door.OPEN:
                return
            for table, change in _refused(tx, door):
                tx.execute(
                    f"CREATE TRIGGER moving_{table}_{change} BEFORE {change} ON {table} "
                    f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
                )
            tx.execute(f"CREATE TABLE {TABLE} (door TEXT NOT NULL, moved_to TEXT, at INTEGER NOT NULL) STRICT")
            tx.execute(f"INSERT INTO {TABLE} (door, moved_to, at) VALUES (?, ?, ?)", (door.value, to, _now()))

    async def open_runs(self) -> int:
        return await self._beside(lambda: _open_runs(self._opened()))

    async def has_graphs(self) -> bool:
        return self._graphs.exists()

    async def contents_in_files(self) -> int:
        return int(await self._beside(lambda: self._opened().execute(COUNT_CONTENT_IN_FILES).fetchone()[0]))

    async def shapes(self) -> Sequence[Shape]:
        return await self._beside(lambda: [_shape(self._opened(), table) for table in _copied_tables(self._opened())])

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[None]:
        await self._beside(lambda: self._opened().execute("BEGIN"))
        try:
            yield
        finally:
            await self._beside(lambda: self._opened().execute("ROLLBACK"))

    async def count(self, shape: Shape) -> int:
        counted = f"SELECT COUNT(*) FROM {shape.table}"
        return int(await self._beside(lambda: self._opened().execute(counted).fetchone()[0]))

    async def rows(self, shape: Shape) -> AsyncGenerator[Rows, None]:
        columns = ", ".join(_FOUND if column == IS_FOUND else column for column in shape.columns)
        query = f"SELECT {columns} FROM {shape.table} ORDER BY {', '.join(shape.key)}"
        cursor = await self._beside(lambda: self._opened().execute(query))
        try:
            while batch := await self._beside(lambda: cursor.fetchmany(rows_at_once(shape))):
                yield batch
        finally:
            # One that was left in the middle would keep the tables from being changed.
            await self._beside(cursor.close)

    async def prepare(self) -> None:
        await self._beside(self._prepare)

    def _prepare(self) -> None:
        tx = self._connection
        if tx is not None and _has_tables(tx):
            if door_of(tx)[0] is not Door.FILLING:
                raise MoveRefused(f"{self.place} is not empty: it holds tables. Name a file that is not there yet.")
            # Nobody could open what was left half filled.
            tx.close()
            self._connection = None
            for ending in ("", "-wal", "-shm", ".graphs", ".graphs-wal", ".graphs-shm"):
                self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._connect()
        self._opened().execute("PRAGMA journal_mode = WAL")
        with _writing(self._opened()) as tx:
            SqliteDatabase(self._path).bring_up_to_date(tx)
            tx.execute("INSERT INTO schema_info (min_code) VALUES (?)", (NO_CODE,))
        self._set_door(Door.FILLING, None)

    async def put(self, shape: Shape, rows: Rows) -> None:
        await self._beside(lambda: self._put(shape, rows))

    def _put(self, shape: Shape, rows: Rows) -> None:
        columns = ["search_row" if column == IS_FOUND else column for column in shape.columns]
        insert = f"INSERT INTO {shape.table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        with _writing(self._opened()) as tx:
            tx.executemany(insert, (_indexed(tx, shape, row) for row in rows) if IS_FOUND in shape.columns else rows)

    async def declare_usable(self) -> None:
        await self._beside(self._declare_usable)

    def _declare_usable(self) -> None:
        with _writing(self._opened()) as tx:
            tx.execute("DELETE FROM schema_info WHERE min_code = ?", (NO_CODE,))
            tx.execute(f"DROP TABLE {TABLE}")
        self._opened().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # --- the file

    async def _beside(self, work: Callable[[], T]) -> T:
        """In a thread, with a plain word for what SQLite says. What was cancelled comes to its end before the next."""
        try:
            return await asyncio.to_thread(self._alone_with_it, work)
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(
                f"The database file {self.place!r} cannot be used: {error}.",
                advice="Check that its folder exists, that you may write there, and that there is room.",
            ) from error

    def _alone_with_it(self, work: Callable[[], T]) -> T:
        with self._one_at_a_time:
            return work()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreUnavailable(f"There is no database {self.place}.", advice="Check the name.")
        return self._connection

    def _connect(self) -> None:
        if self._connection is None:
            self._connection = sqlite3.connect(
                self._path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA secure_delete = ON")

    @property
    def _graphs(self) -> Path:
        return self._path.with_name(f"{self._path.name}.graphs")

    def _size(self) -> int:
        endings = ("", "-wal", ".graphs", ".graphs-wal")
        paths = [self._path.with_name(self._path.name + ending) for ending in endings]
        return sum(path.stat().st_size for path in paths if path.exists())


def _is_ours(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _writing(tx: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    tx.execute("BEGIN IMMEDIATE")
    try:
        yield tx
    except BaseException:
        tx.execute("ROLLBACK")
        raise
    tx.execute("COMMIT")


def _compact(connection: sqlite3.Connection) -> None:
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _has_tables(tx: sqlite3.Connection) -> bool:
    return tx.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def _tables(tx: sqlite3.Connection) -> list[str]:
    """Those that hold rows; the search keeps its own in tables that nobody else touches."""
    found = tx.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    return [name for (name,) in found if not name.startswith((SEARCH, "sqlite_"))]


def _copied_tables(tx: sqlite3.Connection) -> list[str]:
    return [name for name in _tables(tx) if name not in OWN_TABLES]


def _refused(tx: sqlite3.Connection, door: Door) -> Iterator[tuple[str, str]]:
    if door is Door.NO_INTAKE:
        yield INTAKE, "INSERT"
    elif door in (Door.CLOSED, Door.MOVED):
        for table in _tables(tx):
            yield from ((table, change) for change in ("INSERT", "UPDATE", "DELETE"))


def _shape(tx: sqlite3.Connection, table: str) -> Shape:
    found = tx.execute(f"PRAGMA table_info({table})").fetchall()
    columns = [name for _, name, *_ in found if name not in OWN_COLUMNS]
    if len(columns) < len(found):
        columns.append(IS_FOUND)
    key = sorted((place, name) for _, name, _, _, _, place in found if place)
    return Shape(table=table, columns=tuple(columns), key=tuple(name for _, name in key))


def _indexed(tx: sqlite3.Connection, shape: Shape, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A unit that could be found can be found again."""
    said = dict(zip(shape.columns, row, strict=True))
    if said[IS_FOUND]:
        parts = words_by_part(unit_rows.unit_of(said["data"]))
        said[IS_FOUND] = index_words(tx, said["tenant"], said["place"], said["no"], parts)
    else:
        said[IS_FOUND] = None
    return tuple(said.values())


def _open_runs(tx: sqlite3.Connection) -> int:
    return int(tx.execute("SELECT COUNT(*) FROM runs WHERE status IN ('queued', 'running')").fetchone()[0])


def _now() -> int:
    return time.time_ns() // 1000
