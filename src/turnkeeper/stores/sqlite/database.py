"""One writer for a SQLite file: what waits together is committed together.

SQLite has one writer at a time. Writers that find it taken sleep and try again, which starves some of them. So all
writes of a process go through one connection that commits everything waiting in one transaction, a savepoint each;
and the processes on one file queue on lock files before they begin. The statements run on the event loop's own
thread, where they cost microseconds; only what waits for the disk or for another process, the COMMIT and the lock, is
handed to a second thread: one hop for a whole batch. Reads go through another connection: they are short, by index,
and hold no statement over an await.
"""

import asyncio
import contextlib
import fcntl
import os
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from turnkeeper.errors import DatabaseMoving, StoreUnavailable
from turnkeeper.ports.store import WriteProbe
from turnkeeper.ports.tables import Door
from turnkeeper.stores.doors import REFUSAL, TABLE, heed
from turnkeeper.stores.migrations import Migration, migrations_of, migrations_to_run
from turnkeeper.stores.queries import Queries

sql = Queries(__package__)

MOST_WRITES_IN_A_BATCH = 256
LONGEST_BATCH_SECONDS = 0.005
PAGES_BEFORE_A_CHECKPOINT = 4000

T = TypeVar("T")
Tx = sqlite3.Connection


class _Write:
    """One piece of work for the next batch, what came of it, and who waits for it."""

    __slots__ = ("error", "future", "name", "result", "work")

    def __init__(self, name: str, work: Callable[[Tx], Any], future: "asyncio.Future[Any]") -> None:
        self.name, self.work, self.future = name, work, future
        self.result: Any = None
        self.error: Exception | None = None


class SqliteDatabase:
    def __init__(
        self, path: Path, *, synchronous: str = "FULL", busy_seconds: float = 5.0, probe: WriteProbe | None = None
    ) -> None:
        self._path = path
        self._synchronous = synchronous
        self._busy_seconds = busy_seconds
        self._probe = probe
        self._waiting: deque[_Write] = deque()
        self._batch: list[_Write] = []
        self._is_writing = False
        self._patience: asyncio.TimerHandle | None = None
        self._since_the_start = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._open: _Open | None = None
        self._on_rollback: list[Callable[[], None]] = []

    async def open(self) -> None:
        with contextlib.ExitStack() as undo:
            try:
                # Conversations are nobody else's business, so the file is made before SQLite would make it.
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
                writer = undo.enter_context(contextlib.closing(self._connect()))
                lock = undo.enter_context(contextlib.closing(WriterLock(self._path)))
                door, _ = door_of(writer)
                if not _is_up_to_date(writer, door):
                    await asyncio.to_thread(self._migrate, writer, lock)
                reader = undo.enter_context(contextlib.closing(self._connect()))
            except (sqlite3.Error, OSError) as error:
                raise StoreUnavailable(
                    f"The database file {str(self._path)!r} cannot be opened: {error}.",
                    advice="Check that its folder exists and that you may write there.",
                ) from error
            undo.pop_all()
        loop = asyncio.get_running_loop()
        self._open = _Open(loop=loop, writer=writer, lock=lock, reader=reader, aside=self._aside)

    async def close(self) -> None:
        """What was handed in is still written."""
        if self._open is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2 * self._busy_seconds):
                while self._is_writing:
                    await self._idle.wait()
        opened, self._open = self._open, None
        if not self._is_writing:
            await asyncio.to_thread(opened.close)

    async def ping(self) -> None:
        await self.write("ping", _refuse_while_moving)

    async def scrub(self) -> bool:
        """Bring everything from the WAL into the file and empty it; False when somebody still reads in it.

        What was deleted has been overwritten by then: in the file by `secure_delete`, in the WAL by its end.
        """
        self._opened()
        return await asyncio.to_thread(self._scrub)

    def _scrub(self) -> bool:
        try:
            with (
                contextlib.closing(self._connect()) as connection,
                contextlib.closing(WriterLock(self._path)) as lock,
                lock.held(),
            ):
                busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"The database cannot be written: {error}.") from error
        return not busy

    def on_rollback(self, forget: Callable[[], None]) -> None:
        """Have `forget` called whenever something that was written is taken back."""
        self._on_rollback.append(forget)

    async def write(self, name: str, work: Callable[[Tx], T]) -> T:
        """Run `work` in the transaction of the next batch; returns once it is durable.

        An exception of `work` takes back what it wrote and nothing else. Cancelling the caller does not cancel it.
        """
        opened = self._opened()
        future: asyncio.Future[T] = opened.loop.create_future()
        self._waiting.append(_Write(name, work, future))
        if not self._is_writing:
            self._is_writing = True
            self._idle.clear()
            self._begin()
        return await future

    def write_aside(self, name: str, work: Callable[[Tx], T]) -> T:
        """The same by itself, on a connection of its own, for a thread that must not need the event loop."""
        opened = self._opened()
        self._tell_probe(name, "begun")
        try:
            tx, lock = opened.aside_writer()
            with lock.held():
                tx.execute("BEGIN IMMEDIATE")
                try:
                    result = work(tx)
                    self._tell_probe(name, "written")
                    tx.execute("COMMIT")
                except BaseException:
                    with contextlib.suppress(sqlite3.Error):
                        tx.execute("ROLLBACK")
                    raise
        except (sqlite3.Error, OSError) as error:
            raise _unavailable(error) from error
        self._tell_probe(name, "durable")
        return result

    def read(self, statement: str, params: Mapping[str, Any]) -> list[sqlite3.Row]:
        """All rows at once, from the newest durable state."""
        try:
            return self._quiet_connection().execute(statement, params).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(f"The database cannot be read: {error}.") from error

    def read_values(self, statement: str, params: Mapping[str, Any]) -> Sequence[tuple[Any, ...]]:
        """The same as plain tuples in the order of the statement's columns, for many rows at once."""
        try:
            cursor = self._quiet_connection().cursor()
            cursor.row_factory = None
            return cursor.execute(statement, params).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(f"The database cannot be read: {error}.") from error

    def data_version(self) -> int | None:
        """A number that changes whenever somebody else has committed; None while a batch of our own is under way."""
        if self._is_writing:
            return None
        try:
            return int(self._opened().writer.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.Error as error:
            raise StoreUnavailable(f"The database cannot be read: {error}.") from error

    def _quiet_connection(self) -> sqlite3.Connection:
        """The writer's connection has the newest pages at hand, so it reads too while it has no batch open."""
        opened = self._opened()
        return opened.reader if self._is_writing else opened.writer

    def clock(self) -> int:
        """The clock by which leases go: the machine's own, which all processes on this file share."""
        return time.time_ns() // 1000

    # --- one batch: begin, perform, commit, settle

    def _begin(self) -> None:
        """Get the lock; where another process has it, wait for it in the second thread."""
        opened = self._opened()
        try:
            is_taken = opened.lock.try_to_take()
        except OSError as error:
            self._fail_first(len(self._waiting), error)
            return
        if is_taken:
            try:
                opened.writer.execute("BEGIN IMMEDIATE")
            except sqlite3.Error:
                # A neighbour that is none of ours: wait for it like for the others.
                opened.lock.release()
            else:
                self._perform_batch()
                return
        self._patience = opened.loop.call_later(self._busy_seconds, self._lose_patience)
        self._since_the_start = len(self._waiting)
        opened.aside_thread.do(self._begin_patiently, self._begun)

    def _lose_patience(self) -> None:
        """Whoever holds the file stands still. Those who wait are told; the lock is still waited for."""
        self._patience = self._opened().loop.call_later(self._busy_seconds, self._lose_patience)
        waiting, self._waiting = self._waiting, deque()
        self._since_the_start = 0
        for write in waiting:
            if not write.future.done():
                write.future.set_exception(StoreUnavailable("Another process has held the database file for too long."))

    def _begin_patiently(self) -> None:
        opened = self._opened()
        opened.lock.take()
        try:
            opened.writer.execute(f"PRAGMA busy_timeout = {int(self._busy_seconds * 1000)}")
            opened.writer.execute("BEGIN IMMEDIATE")
        except BaseException:
            opened.lock.release()
            raise
        finally:
            opened.writer.execute("PRAGMA busy_timeout = 0")

    def _begun(self, error: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if error is not None:
            self._fail_first(self._since_the_start, error)
        else:
            self._perform_batch()

    def _perform_batch(self) -> None:
        opened, began = self._opened(), time.monotonic()
        error: Exception | None = None
        while self._waiting and len(self._batch) < MOST_WRITES_IN_A_BATCH:
            write = self._waiting.popleft()
            self._batch.append(write)
            try:
                self._perform(opened.writer, write)
            except sqlite3.Error as broken:
                # Out of space and the like: nothing of this batch can be kept.
                error = broken
                break
            if time.monotonic() - began > LONGEST_BATCH_SECONDS:
                break
        if error is None:
            opened.aside_thread.do(self._commit, self._settle)
        else:
            opened.aside_thread.do(self._take_back, lambda unwound: self._settle(unwound or error))

    def _perform(self, tx: Tx, write: _Write) -> None:
        self._tell_probe(write.name, "begun")
        tx.execute("SAVEPOINT one")
        try:
            write.result = write.work(tx)
        except Exception as error:
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
                raise
            tx.execute("ROLLBACK TO one")
            write.error = _unavailable(error) if _is_refusal(error) else error
            self._forget()
        else:
            self._tell_probe(write.name, "written")
        tx.execute("RELEASE one")

    def _commit(self) -> None:
        opened = self._opened()
        try:
            opened.writer.execute("COMMIT")
        except BaseException:
            self._roll_back(opened.writer)
            raise
        finally:
            opened.lock.release()

    def _take_back(self) -> None:
        opened = self._opened()
        try:
            self._roll_back(opened.writer)
        finally:
            opened.lock.release()

    def _roll_back(self, tx: Tx) -> None:
        if tx.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                tx.execute("ROLLBACK")

    def _settle(self, error: Exception | None) -> None:
        """Only now, when the batch is durable or surely is not, is anyone told."""
        batch, self._batch = self._batch, []
        if error is not None:
            self._forget()
        for write in batch:
            if error is None and write.error is None:
                self._tell_probe(write.name, "durable")
            failure = write.error if error is None else _unavailable(error)
            if write.future.done():
                continue
            if failure is None:
                write.future.set_result(write.result)
            else:
                write.future.set_exception(failure)
        if self._waiting:
            self._opened().loop.call_soon(self._begin)
        else:
            self._is_writing = False
            self._idle.set()

    def _fail_first(self, count: int, error: Exception) -> None:
        """The transaction did not even begin. Who came during the wait has not had a wait of its own yet."""
        self._batch.extend(self._waiting.popleft() for _ in range(count))
        self._settle(error)

    def _forget(self) -> None:
        for forget in self._on_rollback:
            forget()

    def _tell_probe(self, write: str, moment: str) -> None:
        if self._probe is not None:
            self._probe(write, moment)

    # --- connections and schema

    def _opened(self) -> "_Open":
        if self._open is None:
            raise StoreUnavailable("The database is closed.")
        return self._open

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
        connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_BEFORE_A_CHECKPOINT}")
        connection.execute("PRAGMA temp_store = MEMORY")
        # What is forgotten is overwritten in the file; some builds of SQLite would only mark it as free.
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def _aside(self) -> "tuple[sqlite3.Connection, WriterLock]":
        return self._connect(), WriterLock(self._path)

    def _migrate(self, tx: Tx, lock: "WriterLock") -> None:
        with lock.held():
            tx.execute("BEGIN IMMEDIATE")
            try:
                heed(door_of(tx)[0], is_current=False)
                self.bring_up_to_date(tx)
            except BaseException:
                tx.execute("ROLLBACK")
                raise
            tx.execute("COMMIT")

    def bring_up_to_date(self, tx: Tx) -> None:
        """Make the tables, or run what is missing, in the open transaction."""
        pending = pending_migrations(tx)
        if pending is None:
            schema = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
            _run_script(tx, schema)
            pending = migrations_of(__package__)
        else:
            for migration in pending:
                _run_script(tx, migration.script)
        for migration in pending:
            tx.execute(
                "INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
                (migration.number, migration.name, migration.checksum, self.clock()),
            )


class _Open:
    """What an open database holds: connections, locks, and the thread that waits for disk and neighbours."""

    def __init__(
        self,
        *,
        loop: asyncio.AbstractEventLoop,
        writer: sqlite3.Connection,
        lock: "WriterLock",
        reader: sqlite3.Connection,
        aside: "Callable[[], tuple[sqlite3.Connection, WriterLock]]",
    ) -> None:
        self.loop, self.writer, self.lock, self.reader = loop, writer, lock, reader
        self._connect_aside = aside
        self._aside: tuple[sqlite3.Connection, WriterLock] | None = None
        self.aside_thread = _AsideThread(loop)
        # The loop never waits for a neighbour: a busy file is waited for in the second thread.
        writer.execute("PRAGMA busy_timeout = 0")
        reader.execute("PRAGMA query_only = ON")

    def aside_writer(self) -> "tuple[sqlite3.Connection, WriterLock]":
        """A second writer for the thread that does not need the loop; made when it is first wanted."""
        if self._aside is None:
            self._aside = self._connect_aside()
        return self._aside

    def close(self) -> None:
        self.aside_thread.close()
        if self._aside is not None:
            self._aside[0].close()
            self._aside[1].close()
        self.reader.close()
        self.writer.close()
        self.lock.close()


class _AsideThread:
    """Does one thing at a time beside the event loop, and tells the loop when it is done."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: queue.SimpleQueue[tuple[Callable[[], None], Callable[[Exception | None], None]] | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._work, name="turnkeeper-commit", daemon=True)
        self._thread.start()

    def do(self, work: Callable[[], None], then: Callable[[Exception | None], None]) -> None:
        self._jobs.put((work, then))

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, then = job
            error: Exception | None = None
            try:
                work()
            except Exception as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # The loop is closed: nobody is left to be told.
                self._loop.call_soon_threadsafe(then, error)


def _unavailable(error: Exception) -> StoreUnavailable:
    if isinstance(error, StoreUnavailable):
        return error
    if _is_refusal(error):
        return DatabaseMoving()
    unavailable = StoreUnavailable(f"The database cannot be written: {error}.")
    unavailable.__cause__ = error
    return unavailable


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, sqlite3.IntegrityError) and str(error) == REFUSAL


def _refuse_while_moving(tx: Tx) -> None:
    if door_of(tx)[0] is not Door.OPEN:
        raise DatabaseMoving


def door_of(tx: Tx) -> tuple[Door, str | None]:
    """Who may write, and where the database went."""
    if not tx.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (TABLE,)).fetchone():
        return Door.OPEN, None
    door, moved_to = tx.execute(f"SELECT door, moved_to FROM {TABLE}").fetchone()
    return Door(door), moved_to


def _is_up_to_date(tx: Tx, door: Door) -> bool:
    heed(door, is_current=True)
    is_current = pending_migrations(tx) == ()
    heed(door, is_current=is_current)
    return is_current


def pending_migrations(tx: Tx) -> tuple[Migration, ...] | None:
    """None for a file without any tables."""
    if not tx.execute("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").fetchone():
        return None
    applied = dict(tx.execute("SELECT number, checksum FROM migrations").fetchall())
    min_code = tx.execute("SELECT MAX(min_code) FROM schema_info").fetchone()[0]
    return migrations_to_run(migrations_of(__package__), applied, min_code)


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
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._turnstile = os.open(path.with_name(f"{path.name}-turnstile"), flags, 0o600)
        self._writer = os.open(path.with_name(f"{path.name}-writer"), flags, 0o600)

    def close(self) -> None:
        os.close(self._turnstile)
        os.close(self._writer)

    def take(self) -> None:
        fcntl.flock(self._turnstile, fcntl.LOCK_EX)
        fcntl.flock(self._writer, fcntl.LOCK_EX)
        fcntl.flock(self._turnstile, fcntl.LOCK_UN)

    def try_to_take(self) -> bool:
        """Take it if nobody has it and nobody stands in the turnstile."""
        try:
            fcntl.flock(self._turnstile, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            fcntl.flock(self._writer, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            fcntl.flock(self._turnstile, fcntl.LOCK_UN)
        return True

    def release(self) -> None:
        fcntl.flock(self._writer, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        self.take()
        try:
            yield
        finally:
            self.release()
