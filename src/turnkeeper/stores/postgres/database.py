"""One pool of connections to a PostgreSQL server, and what becomes of a write when the server goes away.

A round trip is what a turn costs here, so whatever can be one statement is one, and nothing is sent that the turn does
not need. A write that was begun is finished even when its caller has gone: its durable outcome is what counts.
"""

import asyncio
import contextlib
import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

import asyncpg

from turnkeeper.errors import DatabaseMoving, StoreUnavailable
from turnkeeper.ports.store import WriteProbe
from turnkeeper.ports.tables import Door
from turnkeeper.stores.doors import SQLSTATE, TABLE, heed
from turnkeeper.stores.migrations import Migration, migrations_of, migrations_to_run
from turnkeeper.stores.queries import Queries, numbered

sql = Queries(__package__)

CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 15.0
MIGRATION_SECONDS = 300.0

# Taken while the schema is brought up to date. Any number will do, as long as every node uses the same.
MIGRATION_LOCK = 0x7475726E6B656570

# A node that is frozen in the middle of a transaction must not keep the others from a lease for longer than a lease
# lasts. And every statement of a turn goes by an index: the statistics of a young table shall not say otherwise.
SERVER_SETTINGS: Final = {
    "application_name": "turnkeeper",
    "idle_in_transaction_session_timeout": "5000",
    "lock_timeout": "10000",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "jit": "off",
}

T = TypeVar("T")
Params = Mapping[str, Any]
Row = asyncpg.Record

if TYPE_CHECKING:
    # The driver's classes take their parameter only in its stubs.
    Connection = asyncpg.Connection[Row]
    PooledConnection = asyncpg.pool.PoolConnectionProxy[Row]

_arguments_of = functools.cache(numbered)

# What says that the server cannot be reached, is going away, or has no room; a later try may find it well again.
_UNAVAILABLE = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InvalidCachedStatementError,  # A newer node has just changed a table.
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TransactionRollbackError,
    asyncpg.InsufficientResourcesError,
    asyncpg.LockNotAvailableError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresSystemError,
)


class Tx:
    """One connection with an open transaction; statements go by their `:name` parameters."""

    __slots__ = ("_connection",)

    def __init__(self, connection: "Connection | PooledConnection") -> None:
        self._connection = connection

    async def run(self, statement: str, params: Params) -> list[Row]:
        text, names = _arguments_of(statement)
        return await self._connection.fetch(text, *[params[name] for name in names])

    async def one(self, statement: str, params: Params) -> Row | None:
        found = await self.run(statement, params)
        return found[0] if found else None


class PostgresDatabase:
    def __init__(self, dsn: str, *, pool_size: int = 16, probe: WriteProbe | None = None) -> None:
        self._dsn = dsn
        self._pool_size = pool_size
        self._probe = probe
        self._pool: asyncpg.Pool[Row] | None = None
        self._begun: set[asyncio.Task[Any]] = set()
        self._thread = ThreadConnection(self.connect)

    async def open(self) -> None:
        with self.saying_what_is_wrong():
            connection = await asyncpg.connect(self._dsn, timeout=CONNECT_SECONDS, command_timeout=MIGRATION_SECONDS)
            try:
                await self._migrate(connection)
            finally:
                await connection.close(timeout=CONNECT_SECONDS)
            self._pool = await asyncpg.create_pool(
                self._dsn,
                min_size=1,
                max_size=self._pool_size,
                connection_class=_PlainConnection,
                max_cached_statement_lifetime=0,
                timeout=CONNECT_SECONDS,
                command_timeout=COMMAND_SECONDS,
                server_settings=SERVER_SETTINGS,
            )

    async def close(self) -> None:
        if self._begun:
            await asyncio.wait(self._begun)
        await asyncio.to_thread(self._thread.close)
        if self._pool is not None:
            pool, self._pool = self._pool, None
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await pool.close()
            except _UNAVAILABLE:
                pool.terminate()

    async def ping(self) -> None:
        is_read_only = "current_setting('transaction_read_only') = 'on'"
        asked = f"SELECT {is_read_only} AS is_read_only, to_regclass('{TABLE}') AS moving"
        found = await self.read(asked, {})
        if found[0]["moving"] is not None:
            raise DatabaseMoving
        if found[0]["is_read_only"]:
            raise StoreUnavailable("The database takes no writes: it is read-only.")

    async def scrub(self) -> bool:
        """Free the room of what was deleted; a table that is being looked after right now is left to the next time."""
        with speaking_plainly():
            connection = await asyncpg.connect(self._dsn, timeout=CONNECT_SECONDS, command_timeout=MIGRATION_SECONDS)
            try:
                await connection.execute(sql.sweep_erased)
            finally:
                await connection.close(timeout=CONNECT_SECONDS)
        return True

    async def connect(self) -> "Connection":
        """A connection of its own, outside the pool, for the event loop that runs."""
        with speaking_plainly():
            connection: Connection = await asyncpg.connect(
                self._dsn,
                timeout=CONNECT_SECONDS,
                command_timeout=CONNECT_SECONDS,
                server_settings=SERVER_SETTINGS,
            )
        return connection

    async def read(self, statement: str, params: Params) -> list[Row]:
        async with self._connection() as connection:
            return await Tx(connection).run(statement, params)

    async def write(self, name: str, statement: str, params: Params) -> list[Row]:
        """A write that is one statement; durable when this returns, and no rows mean that nothing was written."""
        async with self._connection() as connection:
            return await self._write_on(connection, name, statement, params)

    def write_from_thread(self, name: str, statement: str, params: Params) -> list[Row]:
        """The same, for a thread without an event loop; it does not wait for any other loop."""
        if self._pool is None:
            raise StoreUnavailable("The database is closed.")
        return self._thread.call(lambda connection: self._write_on(connection, name, statement, params))

    @contextlib.asynccontextmanager
    async def transaction(self, name: str) -> AsyncIterator[Tx]:
        """A write of several statements; durable at the end of the block, taken back by an exception in it."""
        async with self._connection() as connection:
            self._tell(name, "begun")
            async with connection.transaction():
                yield Tx(connection)
                self._tell(name, "written")
            self._tell(name, "durable")

    async def finish(self, write: Coroutine[Any, Any, T]) -> T:
        """Carry a write through to its end; cancelling the caller does not cancel it."""
        task = asyncio.create_task(write)
        self._begun.add(task)
        task.add_done_callback(self._finished)
        return await asyncio.shield(task)

    async def _write_on(
        self, connection: "Connection | PooledConnection", name: str, statement: str, params: Params
    ) -> list[Row]:
        if self._probe is None:
            return await Tx(connection).run(statement, params)
        # Whoever listens wants to hear of the moment between the write and its COMMIT.
        self._tell(name, "begun")
        async with connection.transaction():
            written = await Tx(connection).run(statement, params)
            if written:
                self._tell(name, "written")
        if written:
            self._tell(name, "durable")
        return written

    def _tell(self, name: str, moment: str) -> None:
        if self._probe is not None:
            self._probe(name, moment)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._begun.discard(task)
        if not task.cancelled():
            task.exception()  # Its caller may have gone; then nobody else asks for it.

    @contextlib.asynccontextmanager
    async def _connection(self) -> "AsyncIterator[PooledConnection]":
        if self._pool is None:
            raise StoreUnavailable("The database is closed.")
        with speaking_plainly():
            async with self._pool.acquire() as connection:
                yield connection

    async def _migrate(self, connection: "Connection") -> None:
        # Of several nodes that open a fresh database at once, one makes the tables and the others find them made.
        await connection.execute("SELECT pg_advisory_lock($1)", MIGRATION_LOCK)
        async with connection.transaction():
            await self.bring_up_to_date(connection)

    async def bring_up_to_date(self, connection: "Connection") -> None:
        """Make the tables, or run what is missing, in the open transaction."""
        if await connection.fetchval("SELECT to_regclass('migrations')") is None:
            await connection.execute(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))
            pending = migrations_of(__package__)
        else:
            door, _ = await door_of(connection)
            heed(door, is_current=True)
            pending = await pending_migrations(connection)
            heed(door, is_current=not pending)
            for migration in pending:
                await connection.execute(migration.script)
        for migration in pending:
            await connection.execute(
                "INSERT INTO migrations (number, name, checksum, applied_at) "
                "VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)",
                migration.number,
                migration.name,
                migration.checksum,
            )

    @contextlib.contextmanager
    def saying_what_is_wrong(self) -> Iterator[None]:
        """Errors of opening name the server and never the password."""
        try:
            yield
        except ValueError:
            # The cause is left out: it may quote the part of the address that holds the password.
            raise StoreUnavailable(
                "The address of the database cannot be read. It looks like postgresql://user:password@host:5432/name, "
                "with special letters of the password written as %XX."
            ) from None
        except _UNAVAILABLE as error:
            raise StoreUnavailable(f"{self._place()} cannot be opened: {_reason(error)}.") from error

    def _place(self) -> str:
        address = urlsplit(self._dsn)
        name = address.path.lstrip("/") or "the default one"
        return f"The database {name!r} on {address.hostname or 'this machine'}:{address.port or 5432}"


async def pending_migrations(connection: "Connection") -> tuple[Migration, ...]:
    applied = {row["number"]: row["checksum"] for row in await connection.fetch("SELECT * FROM migrations")}
    min_code = await connection.fetchval("SELECT max(min_code) FROM schema_info")
    return migrations_to_run(migrations_of(__package__), applied, min_code)


async def door_of(connection: "Connection") -> tuple[Door, str | None]:
    """Who may write, and where the database went."""
    if await connection.fetchval("SELECT to_regclass($1)", TABLE) is None:
        return Door.OPEN, None
    found = await connection.fetchrow(f"SELECT door, moved_to FROM {TABLE}")
    assert found is not None, "the table is made with its row"
    return Door(found["door"]), found["moved_to"]


class _PlainConnection(asyncpg.Connection):
    """What we send leaves no settings, locks or cursors behind, so there is nothing to reset, and a round trip less."""

    def get_reset_query(self) -> str:
        return ""


class ThreadConnection:
    """A connection for threads without an event loop. It has a loop and a thread of its own, made when first needed."""

    def __init__(self, connect: "Callable[[], Awaitable[Connection]]") -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._one_at_a_time = threading.Lock()

    def call(self, work: "Callable[[Connection], Coroutine[Any, Any, T]]") -> T:
        with self._one_at_a_time:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=_run_until_stopped, args=(self._loop,), name="turnkeeper-pg", daemon=True
                ).start()
            return asyncio.run_coroutine_threadsafe(self._call(work), self._loop).result()

    def close(self) -> None:
        with self._one_at_a_time:
            if self._loop is not None:
                asyncio.run_coroutine_threadsafe(self._let_go(), self._loop).result()
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None

    async def _call(self, work: "Callable[[Connection], Coroutine[Any, Any, T]]") -> T:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
        with speaking_plainly():
            return await work(self._connection)

    async def _let_go(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with contextlib.suppress(*_UNAVAILABLE):
                await connection.close(timeout=CONNECT_SECONDS)


def _run_until_stopped(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


@contextlib.contextmanager
def speaking_plainly() -> Iterator[None]:
    """What the driver raises when the server cannot be used becomes StoreUnavailable."""
    try:
        yield
    except asyncpg.DataError:
        raise
    except asyncpg.UnknownPostgresError as error:
        if error.sqlstate != SQLSTATE:
            raise
        raise DatabaseMoving from None
    except _UNAVAILABLE as error:
        raise StoreUnavailable(f"The database cannot be reached: {_reason(error)}.") from error


def _reason(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__
