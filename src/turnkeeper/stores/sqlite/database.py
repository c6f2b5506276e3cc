"""One writer for a SQLite file: what waits together is committed together.

SQLite has one writer at a time. Writers that find it taken sleep and try again, which starves some of them. So all
writes of a process go to one thread that commits everything waiting in one transaction, a savepoint each; and the
processes on one file queue on lock files before they begin. Reads go through a second connection on the caller's own
thread: they are short, by index, and hold no statement over an await.
"""

import asyncio
import contextlib
import fcntl
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from turnkeeper.errors import StoreUnavailable
from turnkeeper.ports.store import WriteProbe
from turnkeeper.stores.migrations import migrations_of, migrations_to_run
from turnkeeper.stores.queries import Queries

sql = Queries(__package__)

MOST_WRITES_IN_A_BATCH = 256
LONGEST_BATCH_SECONDS = 0.005

T = TypeVar("T")
Tx = sqlite3.Connection
_Settled = tuple["asyncio.Future[Any] | Future[Any]", Any, BaseException | None]


class _Write:
    """One piece of work for the writer thread, and whom to tell."""

    __slots__ = ("future", "loop", "name", "work")

    def __init__(
        self,
        name: str,
        work: Callable[[Tx], Any],
        loop: asyncio.AbstractEventLoop | None,
        future: "asyncio.Future[Any] | Future[Any]",
    ) -> None:
        self.name, self.work, self.loop, self.future = name, work, loop, future


class SqliteDatabase:
    def __init__(
        self, path: Path, *, synchronous: str = "FULL", busy_seconds: float = 5.0, probe: WriteProbe | None = None
    ) -> None:
        self._path = path
        self._synchronous = synchronous
        self._busy_seconds = busy_seconds
        self._probe = probe
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._reader: sqlite3.Connection | None = None
        self._on_rollback: list[Callable[[], None]] = []
        self._on_commit: list[Callable[[], None]] = []
        self.batches = 0

    @property
    def path(self) -> Path:
        return self._path

    async def open(self) -> None:
        try:
            await asyncio.to_thread(self._migrate)
            self._reader = self._connect()
            self._reader.execute("PRAGMA query_only = ON")
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"The database {self._path.name!r} cannot be opened: {error}.") from error
        self._thread = threading.Thread(target=self._write_batches, name="turnkeeper-writer", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        if self._thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)
            self._thread = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    async def ping(self) -> None:
        await self.write("ping", lambda _: None)

    def on_rollback(self, forget: Callable[[], None]) -> None:
        """Have `forget` called in the writer thread whenever something that was written is taken back."""
        self._on_rollback.append(forget)

    def on_commit(self, heard: Callable[[], None]) -> None:
        """Have `heard` called in the writer thread after each commit."""
        self._on_commit.append(heard)

    async def write(self, name: str, work: Callable[[Tx], T]) -> T:
        """Run `work` in the writer's transaction; returns once it is durable.

        An exception of `work` takes back what it wrote and nothing else. Cancelling the caller does not cancel it.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._hand_in(_Write(name, work, loop, future))
        return await future

    def write_from_thread(self, name: str, work: Callable[[Tx], T]) -> T:
        """The same, for a thread without an event loop."""
        future: Future[T] = Future()
        self._hand_in(_Write(name, work, None, future))
        return future.result()

    def read(self, statement: str, params: Mapping[str, Any]) -> list[sqlite3.Row]:
        """All rows at once, from the newest durable state."""
        if self._reader is None:
            raise StoreUnavailable("The database is closed.")
        try:
            return self._reader.execute(statement, params).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(f"The database cannot be read: {error}.") from error

    def data_version(self) -> int:
        """A number that changes whenever another connection has committed; costs no system call to speak of."""
        return int(self.read("PRAGMA data_version", {})[0][0])

    def clock(self) -> int:
        """The clock by which leases go: the machine's own, which all processes on this file share."""
        return time.time_ns() // 1000

    def _hand_in(self, write: _Write) -> None:
        if self._thread is None:
            raise StoreUnavailable("The database is closed.")
        self._queue.put(write)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        return connection

    def _migrate(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with WriterLock(self._path) as lock, contextlib.closing(self._connect()) as tx, lock.held():
            tx.execute("BEGIN IMMEDIATE")
            try:
                self._bring_up_to_date(tx)
            except BaseException:
                tx.execute("ROLLBACK")
                raise
            tx.execute("COMMIT")

    def _bring_up_to_date(self, tx: Tx) -> None:
        known = migrations_of(__package__)
        if not tx.execute("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").fetchone():
            schema = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
            _run_script(tx, schema)
            pending = known
        else:
            applied = {row["number"]: row["checksum"] for row in tx.execute("SELECT number, checksum FROM migrations")}
            min_code = tx.execute("SELECT MAX(min_code) FROM schema_info").fetchone()[0]
            pending = migrations_to_run(known, applied, min_code)
            for migration in pending:
                _run_script(tx, migration.script)
        for migration in pending:
            tx.execute(
                "INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
                (migration.number, migration.name, migration.checksum, self.clock()),
            )

    def _write_batches(self) -> None:
        connection: sqlite3.Connection | None = None
        with WriterLock(self._path) as lock:
            while (first := self._queue.get()) is not None:
                try:
                    connection = connection or self._connect()
                    self._commit_batch(connection, lock, first)
                except (sqlite3.Error, OSError) as error:
                    # The file may be gone or replaced: start from a new connection next time.
                    self._settle([(first, None, StoreUnavailable(f"The database cannot be opened: {error}."))])
            if connection is not None:
                connection.close()

    def _commit_batch(self, tx: Tx, lock: "WriterLock", first: _Write) -> None:
        """Write what waits, commit it with one sync, and only then tell anyone."""
        taken = [first]
        try:
            with lock.held():
                tx.execute("BEGIN IMMEDIATE")
                results = [self._perform(tx, first)]
                for write in self._waiting():
                    taken.append(write)
                    results.append(self._perform(tx, write))
                tx.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            self._take_back(tx)
            lost = StoreUnavailable(f"The database cannot be written: {error}.")
            results = [(write, None, lost) for write in taken]
        else:
            self.batches += 1
            for heard in self._on_commit:
                heard()
            if self._probe is not None:
                for write, _, _ in results:
                    self._probe(write.name, "durable")
        self._settle(results)

    def _waiting(self) -> Iterator[_Write]:
        began = time.monotonic()
        for _ in range(MOST_WRITES_IN_A_BATCH - 1):
            if time.monotonic() - began > LONGEST_BATCH_SECONDS:
                return
            try:
                write = self._queue.get_nowait()
            except queue.Empty:
                return
            if write is None:
                self._queue.put(None)
                return
            yield write

    def _perform(self, tx: Tx, write: _Write) -> tuple[_Write, Any, BaseException | None]:
        if self._probe is not None:
            self._probe(write.name, "begun")
        tx.execute("SAVEPOINT one")
        try:
            result = write.work(tx)
        except Exception as error:
            # Out of space and the like end the whole transaction: that is for the batch to handle.
            if isinstance(error, sqlite3.OperationalError):
                raise
            tx.execute("ROLLBACK TO one")
            tx.execute("RELEASE one")
            for forget in self._on_rollback:
                forget()
            return write, None, error
        tx.execute("RELEASE one")
        if self._probe is not None:
            self._probe(write.name, "written")
        return write, result, None

    def _take_back(self, tx: Tx) -> None:
        with contextlib.suppress(sqlite3.Error):
            if tx.in_transaction:
                tx.execute("ROLLBACK")
        for forget in self._on_rollback:
            forget()

    def _settle(self, results: list[tuple[_Write, Any, BaseException | None]]) -> None:
        """Tell each caller, waking every event loop once."""
        by_loop: dict[asyncio.AbstractEventLoop, list[_Settled]] = {}
        for write, result, error in results:
            if write.loop is not None:
                by_loop.setdefault(write.loop, []).append((write.future, result, error))
            elif error is not None:
                write.future.set_exception(error)
            else:
                write.future.set_result(result)
        for loop, settled in by_loop.items():
            with contextlib.suppress(RuntimeError):  # The loop is closed: nobody is left to be told.
                loop.call_soon_threadsafe(_resolve, settled)


def _resolve(settled: list[_Settled]) -> None:
    for future, result, error in settled:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _run_script(tx: Tx, script: str) -> None:
    """Run statements one by one inside the open transaction; `executescript` would commit it first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            tx.execute(statement)
            statement = ""


class WriterLock:
    """The queue of the processes on one file.

    A lock that is released and wanted again at once is usually won by the one that had it. So there are two: who wants
    the lock first takes the turnstile, and gives it free when it has the lock. The process that just wrote finds the
    next one standing in the turnstile and has to wait.
    """

    def __init__(self, path: Path) -> None:
        self._paths = (path.with_name(f"{path.name}-turnstile"), path.with_name(f"{path.name}-writer"))

    def __enter__(self) -> "WriterLock":
        self._turnstile, self._writer = (
            os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for path in self._paths
        )
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._turnstile)
        os.close(self._writer)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        fcntl.flock(self._turnstile, fcntl.LOCK_EX)
        fcntl.flock(self._writer, fcntl.LOCK_EX)
        fcntl.flock(self._turnstile, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._writer, fcntl.LOCK_UN)
