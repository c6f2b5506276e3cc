"""One writer for a SQLite file: what waits together is committed together, and nobody starves."""

import asyncio
import sqlite3
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from itertools import pairwise
from pathlib import Path

import pytest

from turnkeeper.errors import StoreUnavailable
from turnkeeper.stores.sqlite import database as module
from turnkeeper.stores.sqlite.database import MOST_WRITES_IN_A_BATCH, SqliteDatabase, Tx, WriterLock

WAL_HEADER, FRAME_HEADER = 32, 24


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "conversations.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[SqliteDatabase]:
    async with opened(path) as database:
        yield database


@pytest.fixture
def neighbour(path: Path, database: SqliteDatabase) -> Iterator[sqlite3.Connection]:
    """Somebody else on the same file, who knows nothing of our queue."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


@pytest.fixture
def patient_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch takes what waits, however busy the machine is that runs the test."""
    monkeypatch.setattr(module, "LONGEST_BATCH_SECONDS", 60.0)


@asynccontextmanager
async def opened(path: Path, busy_seconds: float = 5.0) -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(path, busy_seconds=busy_seconds)
    await database.open()
    await database.write("prepare", lambda tx: tx.execute("CREATE TABLE IF NOT EXISTS said (line TEXT UNIQUE)"))
    yield database
    await database.close()


def saying(line: str) -> Callable[[Tx], str]:
    def say(tx: Tx) -> str:
        tx.execute("INSERT INTO said VALUES (?)", (line,))
        return line

    return say


def lines(connection: sqlite3.Connection) -> list[str]:
    """What is durable, in the order of the commits."""
    return [row[0] for row in connection.execute("SELECT line FROM said ORDER BY rowid")]


def commits(path: Path) -> int:
    """How often something was committed, as the write-ahead log has it: each commit ends with a frame that says so."""
    wal = path.with_name(f"{path.name}-wal").read_bytes()
    (page_size,) = struct.unpack(">I", wal[8:12])
    salt = wal[16:24]
    frames = [wal[start : start + FRAME_HEADER] for start in range(WAL_HEADER, len(wal), FRAME_HEADER + page_size)]
    return sum(1 for frame in frames if frame[4:8] != b"\0\0\0\0" and frame[8:16] == salt)


async def still_writing(task: "asyncio.Future[str]") -> bool:
    """Give it a moment to be handed in, in which the event loop must not stand still."""
    done, _ = await asyncio.wait([task], timeout=0.02)
    return not done


@pytest.mark.usefixtures("patient_batches")
async def test_writes_that_wait_together_share_one_commit(path: Path, database: SqliteDatabase) -> None:
    before = commits(path)

    written = await asyncio.gather(*(database.write("say", saying(f"line {n}")) for n in range(50)))

    assert written == [f"line {n}" for n in range(50)]
    # The first finds the writer free and goes alone; all others wait for it, and then go together.
    assert commits(path) - before == 2


@pytest.mark.usefixtures("patient_batches")
async def test_one_commit_takes_a_bounded_number_of_writes(path: Path, database: SqliteDatabase) -> None:
    before = commits(path)

    await asyncio.gather(
        *(database.write("say", saying(f"line {n}")) for n in range(1 + 2 * MOST_WRITES_IN_A_BATCH + 1))
    )

    assert commits(path) - before == 4


async def test_a_batch_that_has_lasted_long_enough_is_committed_before_the_next_write(
    path: Path, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_BATCH_SECONDS", -1.0)
    before = commits(path)

    await asyncio.gather(*(database.write("say", saying(f"line {n}")) for n in range(5)))

    assert commits(path) - before == 5


async def test_writes_are_kept_in_the_order_in_which_they_were_handed_in(
    database: SqliteDatabase, neighbour: sqlite3.Connection
) -> None:
    await asyncio.gather(*(database.write("say", saying(f"line {n}")) for n in range(300)))

    assert lines(neighbour) == [f"line {n}" for n in range(300)]


def _raises(tx: Tx) -> str:
    saying("half a thought")(tx)
    raise LookupError


def _breaks_a_rule(tx: Tx) -> str:
    saying("half a thought")(tx)
    return saying("before")(tx)


@pytest.mark.usefixtures("patient_batches")
@pytest.mark.parametrize(("fails", "error"), [(_raises, LookupError), (_breaks_a_rule, sqlite3.IntegrityError)])
async def test_a_write_that_fails_takes_back_what_it_wrote_and_nothing_else(
    database: SqliteDatabase,
    neighbour: sqlite3.Connection,
    fails: Callable[[Tx], str],
    error: type[Exception],
) -> None:
    durable_meanwhile: list[list[str]] = []

    def after(tx: Tx) -> str:
        durable_meanwhile.append(lines(neighbour))
        return saying("after")(tx)

    outcomes = await asyncio.gather(
        database.write("say", saying("alone")),
        database.write("say", saying("before")),
        database.write("say", fails),
        database.write("say", after),
        return_exceptions=True,
    )

    assert [type(outcome) for outcome in outcomes] == [str, str, error, str]
    assert lines(neighbour) == ["alone", "before", "after"]
    # The three were in one batch: when the last was written, the first was not yet durable.
    assert durable_meanwhile == [["alone"]]


async def test_whoever_remembers_what_was_written_is_told_when_it_is_taken_back(database: SqliteDatabase) -> None:
    forgotten: list[str] = []
    database.on_rollback(lambda: forgotten.append("all"))

    await database.write("say", saying("kept"))
    kept = list(forgotten)
    with pytest.raises(LookupError):
        await database.write("say", _raises)

    assert kept == []
    assert forgotten == ["all"]


async def test_a_write_is_durable_before_its_caller_is_told(
    database: SqliteDatabase, neighbour: sqlite3.Connection
) -> None:
    seen: list[bool] = []

    async def write(line: str) -> None:
        await database.write("say", saying(line))
        seen.append(line in lines(neighbour))

    await asyncio.gather(*(write(f"line {n}") for n in range(20)))

    assert seen == [True] * 20


async def test_a_write_whose_caller_was_cancelled_is_written(
    database: SqliteDatabase, neighbour: sqlite3.Connection
) -> None:
    neighbour.execute("BEGIN IMMEDIATE")
    first, second = (asyncio.create_task(database.write("say", saying(line))) for line in ("first", "second"))
    assert await still_writing(first)

    first.cancel()
    second.cancel()
    await asyncio.wait([first, second])
    neighbour.execute("ROLLBACK")
    await database.ping()

    assert first.cancelled()
    assert lines(neighbour) == ["first", "second"]


async def test_a_file_that_a_stranger_has_locked_is_waited_for_beside_the_event_loop(
    database: SqliteDatabase, neighbour: sqlite3.Connection
) -> None:
    neighbour.execute("BEGIN IMMEDIATE")
    saying("stranger")(neighbour)

    writing = asyncio.create_task(database.write("say", saying("ours")))
    assert await still_writing(writing)
    assert lines_of(database) == []
    neighbour.execute("COMMIT")
    await writing

    assert lines(neighbour) == ["stranger", "ours"]


def lines_of(database: SqliteDatabase) -> list[str]:
    return [row["line"] for row in database.read("SELECT line FROM said ORDER BY rowid", {})]


async def test_a_file_that_stays_locked_is_a_clear_refusal_and_recovery_needs_no_restart(path: Path) -> None:
    async with opened(path, busy_seconds=0.05) as database:
        with closing(sqlite3.connect(path, isolation_level=None)) as neighbour:
            neighbour.execute("BEGIN IMMEDIATE")
            refused = await asyncio.gather(
                *(database.write("say", saying(f"refused {n}")) for n in range(3)), return_exceptions=True
            )
            neighbour.execute("ROLLBACK")
            await database.write("say", saying("kept"))

            assert [type(outcome) for outcome in refused] == [StoreUnavailable] * 3
            assert lines(neighbour) == ["kept"]


async def test_who_comes_at_the_end_of_another_s_wait_is_given_a_wait_of_its_own(path: Path) -> None:
    async with opened(path, busy_seconds=0.01) as database:
        with closing(sqlite3.connect(path, isolation_level=None)) as neighbour:
            for n in range(40):
                neighbour.execute("BEGIN IMMEDIATE")
                with pytest.raises(StoreUnavailable):
                    await database.write("say", saying("refused"))
                neighbour.execute("ROLLBACK")
                await database.write("say", saying(f"kept {n}"))

            assert lines(neighbour) == [f"kept {n}" for n in range(40)]


async def test_two_writers_on_one_file_take_turns(path: Path) -> None:
    async def talk(database: SqliteDatabase, name: str) -> None:
        for n in range(50):
            await database.write("say", saying(f"{name} {n}"))

    async with opened(path) as one, opened(path) as two:
        await asyncio.gather(talk(one, "ada"), talk(two, "ben"))

        speakers = [line.split()[0] for line in lines_of(one)]

    changes = sum(1 for before, after in pairwise(speakers) if before != after)
    assert sorted(speakers) == ["ada"] * 50 + ["ben"] * 50
    assert changes > 50


async def test_two_writers_with_much_to_write_both_get_through(path: Path) -> None:
    async with opened(path) as one, opened(path) as two:
        await asyncio.gather(
            *(
                database.write("say", saying(f"{name} {n}"))
                for n in range(50)
                for database, name in ((one, "a"), (two, "b"))
            )
        )

        said = lines_of(two)

    assert [line for line in said if line.startswith("a")] == [f"a {n}" for n in range(50)]
    assert [line for line in said if line.startswith("b")] == [f"b {n}" for n in range(50)]


async def test_closing_writes_what_was_handed_in(path: Path) -> None:
    async with opened(path) as database:
        writing = asyncio.gather(*(database.write("say", saying(f"line {n}")) for n in range(300)))
        closing_it = asyncio.create_task(database.close())
        await closing_it

        with closing(sqlite3.connect(path)) as reader:
            assert lines(reader) == [f"line {n}" for n in range(300)]
        assert len(await writing) == 300


async def test_a_closed_database_says_so(path: Path) -> None:
    async with opened(path) as database:
        await database.close()

        with pytest.raises(StoreUnavailable):
            await database.write("say", saying("too late"))
        with pytest.raises(StoreUnavailable):
            database.read("SELECT 1", {})


async def test_a_thread_may_write_while_the_event_loop_waits_to(
    database: SqliteDatabase, neighbour: sqlite3.Connection
) -> None:
    neighbour.execute("BEGIN IMMEDIATE")
    ours = asyncio.create_task(database.write("say", saying("ours")))
    assert await still_writing(ours)
    aside = asyncio.create_task(asyncio.to_thread(database.write_aside, "say", saying("aside")))

    neighbour.execute("ROLLBACK")
    await asyncio.gather(ours, aside)

    assert sorted(lines(neighbour)) == ["aside", "ours"]


async def test_a_neighbour_that_stands_still_with_the_lock_costs_a_refusal_and_not_the_turn(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    async with opened(path, busy_seconds=0.05) as database:
        frozen = WriterLock(path)
        frozen.take()

        with pytest.raises(StoreUnavailable):
            await database.ping()
        frozen.release()
        frozen.close()

        await database.ping()
