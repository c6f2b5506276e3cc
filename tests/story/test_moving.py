"""A database moves to another place: what was there is there, and nobody wrote meanwhile."""

import asyncio
import contextlib
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import asyncpg
import httpx2
import pytest

from tests.cli.terminal import COMMAND
from tests.contract.backends import TABLES, Refused
from tests.eventually import eventually
from tests.scale import rounds
from tests.story.custodians import backend_of
from tests.story.filled import a_filled_keeper
from turnkeeper import AgentTurn, Settings, Turnkeeper, databases
from turnkeeper.errors import DatabaseHalfFilled, DatabaseMoving, MoveRefused
from turnkeeper.model.policy import Rate
from turnkeeper.model.principal import LOCAL
from turnkeeper.ports.tables import Door, Tables
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import StaticIdentities, single_identity
from turnkeeper.testing.clock import SteppedClock
from turnkeeper.upkeep.moving import Moved, move
from turnkeeper.wiring import open_tables

TURNS = rounds(200, 10_000)
CHANGES = ("UPDATE {} SET tenant = tenant", "DELETE FROM {}")


@pytest.fixture
def elsewhere(address: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """An empty database of the other kind."""
    if address.startswith("postgres"):
        return str(tmp_path / "elsewhere.db")
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn


async def is_done(settings: Settings, statement: str) -> bool:
    try:
        await backend_of(settings.database).execute(statement)
    except (Refused, asyncpg.PostgresError):
        return False
    return True


def digests(moved: Moved) -> dict[str, tuple[int, str]]:
    return {each.table: (each.rows, each.digest) for each in moved.tables}


def asking(keeper: Turnkeeper) -> httpx2.AsyncClient:
    app = create_app(keeper, StaticIdentities([single_identity("a-token")]))
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://house", headers={"Authorization": "Bearer a-token"}
    )


async def test_everything_moves_to_the_other_kind_of_database_and_back(
    settings: Settings, elsewhere: str, tmp_path: Path
) -> None:
    back = str(tmp_path / "back.db")
    async with a_filled_keeper(settings, turns=TURNS) as (keeper, filled):
        there = await databases.move(settings.database, elsewhere, grace_seconds=0)
        messages = await keeper.messages(filled.session_id)
    again = await databases.move(elsewhere, back, grace_seconds=0)

    assert [table for table in TABLES if digests(there)[table][0] == 0] == []
    assert await backend_of(back).execute("SELECT 1 FROM units WHERE status = 'superseded' AND search_row IS NULL")
    assert there.rows > 5 * TURNS
    assert all(each.is_equal for each in there.tables)
    assert digests(again) == digests(there)
    assert digests(there)["memory of graphs"][0] > 0
    assert (there.left_open, again.left_open) == (1, 1)
    print(f"\n{TURNS} turns, {there.rows} rows, {there.digest}")
    async with Turnkeeper.open(settings=replace(settings, database=back)) as moved:
        assert (await moved.verify_audit()).holds
        assert await moved.messages(filled.session_id) == messages
        asked = await moved.chat("What is my dog called?", session_id=filled.session_id, agent="symbolic")
    assert "Rex" in asked.text


async def test_meanwhile_everything_is_read_and_whoever_writes_is_told_that_it_moves(
    settings: Settings, elsewhere: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        a_filled_keeper(replace(settings, expiry_seconds=0.1, anchor_seconds=0.1), turns=10) as (keeper, filled),
        asking(keeper) as http,
    ):
        session = f"/api/v1/sessions/{filled.session_id}"
        rated = await keeper.keys.create("rated", rate=Rate(per_second=1, burst=1))
        await databases.move(settings.database, elsewhere, grace_seconds=0)
        unaudited = keeper.unaudited

        reads = ["", "/messages", "/units", "/runs", "/explanations", "/resume-view"]
        read = {path: (await http.get(f"{session}{path}")).status_code for path in reads}
        read |= {path: (await http.get(path)).status_code for path in ("/api/v1/sessions", "/metrics", "/healthz")}
        changed = [table for table in TABLES for change in CHANGES if await is_done(settings, change.format(table))]
        by_key = await http.get(session, headers={"Authorization": f"Bearer {rated.token}"})
        refused = [
            await http.post("/api/v1/chat", json={"message": "Hello"}),
            await http.post("/api/v1/chat", json={"message": "Hello", "session_id": filled.session_id}),
            await http.post("/api/v1/sessions", json={}),
            await http.patch(session, json={"title": "New"}),
            await http.post(f"{session}/reset", json={}),
            await http.post("/api/v1/kbs", json={"name": "New"}),
            await http.get("/readyz"),
        ]

        assert set(read.values()) | {by_key.status_code} == {200}, read
        assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(503, "moving")] * len(refused)
        assert refused[0].json()["retryable"] is True
        assert refused[0].headers["Retry-After"] == "5"
        assert keeper.unaudited > unaudited
        assert changed == []
    assert [record for record in caplog.records if record.exc_info] == []


async def test_newcomers_are_refused_first_and_what_is_under_way_comes_to_its_end(
    settings: Settings, elsewhere: str
) -> None:
    seen: list[tuple[str, int, int]] = []
    async with Turnkeeper.open(settings=settings) as keeper:
        begun, go = asyncio.Event(), asyncio.Event()

        @keeper.agent("slow")
        async def slow(turn: AgentTurn) -> str:
            begun.set()
            await go.wait()
            return "done"

        async def refused() -> bool:
            with contextlib.suppress(DatabaseMoving):
                await keeper.chat("Too late")
                return False
            return True

        under_way = asyncio.create_task(keeper.chat("Before", agent="slow"))
        await begun.wait()
        moving = asyncio.create_task(
            databases.move(settings.database, elsewhere, watching=lambda *step: seen.append(step))
        )
        await eventually(refused)
        go.set()
        reply, moved = await under_way, await moving

    assert (reply.text, moved.left_open) == ("done", 0)
    assert list(dict.fromkeys(step for step, _, _ in seen)) == ["closing", "waiting", "copying", "comparing"]
    async with Turnkeeper.open(settings=replace(settings, database=elsewhere)) as there:
        assert [message.content for message in await there.messages(reply.session_id)] == ["Before", "done"]


async def test_a_write_in_flight_is_in_the_copy_or_refused(settings: Settings, elsewhere: str) -> None:
    kept: list[str] = []
    async with Turnkeeper.open(settings=settings) as keeper:

        async def write(number: int) -> None:
            session = await keeper.create_session(title=f"{number} 0")
            with contextlib.suppress(DatabaseMoving):
                for title in range(10_000):
                    kept.append((await keeper.create_session(title=f"{number} {title}")).id)
            await keeper.session(session.id)

        async def some_are_kept() -> bool:
            return len(kept) > 20

        writers = [asyncio.create_task(write(number)) for number in range(4)]
        await eventually(some_are_kept)
        await databases.move(settings.database, elsewhere, grace_seconds=0)
        await asyncio.gather(*writers)

    arrived = await backend_of(elsewhere).execute("SELECT id FROM sessions")
    assert {id for (id,) in arrived} >= set(kept)
    assert len(arrived) == len(kept) + 4


async def test_a_session_that_was_idle_for_too_long_can_be_read_while_it_cannot_be_ended(
    settings: Settings, elsewhere: str
) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        session = await keeper.create_session()
        clock.step(10 * 86_400)
        await databases.move(settings.database, elsewhere, grace_seconds=0)

        assert (await keeper.session(session.id)).id == session.id
        assert [each.id for each in await keeper.sessions()] == [session.id]


@pytest.mark.parametrize("step", ["copying", "comparing"])
async def test_a_move_that_fails_leaves_the_source_open_and_a_target_that_nobody_opens(
    settings: Settings, elsewhere: str, step: str
) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        # More than are read at once, so that it fails in the middle of a table.
        for number in range(10):
            await keeper.artifacts.keep(f"content {number}".encode())
        before: list[int] = [0]

        def fail(now: str, done: int, total: int) -> None:
            if now == step and done - before[-1] == 8:
                raise RuntimeError("the lights went out")
            before.append(done)

        with pytest.raises(RuntimeError):
            await databases.move(settings.database, elsewhere, watching=fail)

        assert (await keeper.chat("Still here")).text
        with pytest.raises(DatabaseHalfFilled):
            await backend_of(elsewhere).store().database.open()
        assert (await databases.survey(elsewhere)).door is Door.FILLING
        with pytest.raises(MoveRefused, match="was never filled to its end"):
            await databases.reopen(elsewhere)
        # Nor does a turnkeeper open it that knows nothing of moving.
        [(needed,)] = await backend_of(elsewhere).execute("SELECT MAX(min_code) FROM schema_info")
        assert needed > 1_000_000
        assert (await databases.move(settings.database, elsewhere)).rows > 0


@pytest.mark.parametrize("harm", ["DELETE FROM turns", "UPDATE sessions SET title = 'x'"])
async def test_what_did_not_arrive_as_it_was_sent_is_not_declared_usable(
    settings: Settings, elsewhere: str, harm: str
) -> None:
    backend = backend_of(elsewhere)
    async with Turnkeeper.open(settings=settings) as keeper:
        await keeper.chat("Hello")

        with pytest.raises(MoveRefused, match="What arrived is not what was sent"):
            await databases.move(settings.database, elsewhere, watching=_Spoiling(elsewhere, harm))

        assert (await databases.survey(settings.database)).door is Door.OPEN
    with pytest.raises(DatabaseHalfFilled):
        await backend.store().database.open()


class _Spoiling:
    """Does harm to the target once everything was copied, on a connection of its own."""

    def __init__(self, target: str, harm: str) -> None:
        self._target, self._harm = target, harm

    def __call__(self, step: str, done: int, total: int) -> None:
        if (step, done) != ("copying", total):
            return
        if self._target.startswith("postgres"):
            harm = f"ALTER TABLE turns DISABLE TRIGGER ALL; {self._harm}"
            script = f"import asyncio, asyncpg\nasync def f():\n c = await asyncpg.connect({self._target!r})\n"
            script += f" await c.execute({harm!r})\nasyncio.run(f())"
            subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
        else:
            with contextlib.closing(sqlite3.connect(self._target)) as connection, connection:
                connection.execute("DROP TRIGGER turns_stay")
                connection.execute(self._harm)


async def test_a_mover_that_is_killed_leaves_a_source_that_is_reopened_and_a_target_that_nobody_opens(
    settings: Settings, elsewhere: str
) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        for number in range(20):
            await keeper.chat(f"Hello {number}")
        begun, go = asyncio.Event(), asyncio.Event()

        @keeper.agent("slow")
        async def slow(turn: AgentTurn) -> str:
            begun.set()
            await go.wait()
            return "done"

        under_way = asyncio.create_task(keeper.chat("Never ends", agent="slow"))
        await begun.wait()
        # It waits for the run, with the door closed to newcomers and the target prepared.
        mover = await asyncio.create_subprocess_exec(
            *COMMAND, "db", "move", settings.database, elsewhere, "--grace", "600", stdout=subprocess.PIPE
        )
        try:
            assert mover.stdout is not None
            await mover.stdout.readuntil(b"waiting")
            with pytest.raises(MoveRefused, match="by another command right now"):
                await databases.reopen(settings.database)
        finally:
            mover.send_signal(signal.SIGKILL)
            await mover.wait()

        with pytest.raises(DatabaseMoving):
            await keeper.chat("Closed")
        with pytest.raises(DatabaseHalfFilled):
            await backend_of(elsewhere).store().database.open()
        await databases.reopen(settings.database)
        assert (await keeper.chat("Open again")).text
        go.set()
        assert (await under_way).text == "done"


async def test_a_database_that_was_moved_opens_again_only_for_those_who_insist(
    settings: Settings, elsewhere: str
) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        await keeper.chat("Hello")
    await databases.move(settings.database, elsewhere)

    with pytest.raises(MoveRefused, match="and conversations go on there"):
        await databases.reopen(settings.database)
    with pytest.raises(MoveRefused, match="was moved to"):
        await databases.move(settings.database, elsewhere)
    with pytest.raises(MoveRefused, match="is not empty"):
        await databases.move(elsewhere, settings.database)
    await databases.reopen(settings.database, although_moved=True)

    async with Turnkeeper.open(settings=settings) as keeper:
        assert (await keeper.chat("Hello")).text


NOT_DECLARED = {
    "sqlite": ["CREATE TRIGGER full BEFORE DELETE ON schema_info BEGIN SELECT RAISE(ABORT, 'it is full'); END"],
    "postgres": [
        "CREATE FUNCTION full_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'it is full'; END $$",
        "CREATE TRIGGER full_up BEFORE DELETE ON schema_info FOR EACH ROW EXECUTE FUNCTION full_up()",
    ],
}


async def test_a_move_that_breaks_in_its_last_step_is_told_and_its_source_is_reopened(
    settings: Settings, elsewhere: str
) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        await keeper.chat("Hello")
    here, there = open_tables(settings.database), open_tables(elsewhere)

    async def break_it() -> tuple[()]:
        for statement in NOT_DECLARED["postgres" if elsewhere.startswith("postgres") else "sqlite"]:
            await backend_of(elsewhere).execute(statement)
        return ()

    async with opened(here), opened(there):
        with pytest.raises(MoveRefused, match=r"could not be declared usable: .*it is full.*db reopen"):
            await move(here, there, grace_seconds=0, watching=lambda *_: None, beside=break_it)
    closed = await databases.survey(settings.database), await databases.survey(elsewhere)
    await databases.reopen(settings.database)

    assert [each.door for each in closed] == [Door.MOVED, Door.FILLING]
    async with Turnkeeper.open(settings=settings) as keeper:
        assert (await keeper.chat("Hello")).text


@contextlib.asynccontextmanager
async def opened(tables: Tables) -> AsyncIterator[None]:
    await tables.open()
    try:
        yield
    finally:
        await tables.close()


async def test_where_a_target_cannot_be_looked_at_nobody_says_that_conversations_go_on_there(tmp_path: Path) -> None:
    source, target = str(tmp_path / "a.db"), tmp_path / "b.db"
    await databases.upgrade(source)
    await databases.move(source, str(target))
    target.rename(tmp_path / "c.db")

    with pytest.raises(MoveRefused, match="cannot be looked at from here"):
        await databases.reopen(source)

    assert (await databases.survey(source)).door is Door.MOVED
    assert not target.exists()


async def test_a_newer_node_does_not_change_the_tables_of_a_database_that_is_being_moved(
    settings: Settings, elsewhere: str
) -> None:
    backend = backend_of(settings.database)
    await databases.upgrade(settings.database)
    await backend.execute("DELETE FROM migrations WHERE number = (SELECT MAX(number) FROM migrations)")
    tables = open_tables(settings.database)
    await tables.open()
    await tables.set_door(Door.CLOSED)
    await tables.close()

    with pytest.raises(DatabaseMoving):
        await backend.store().database.open()
    with pytest.raises(DatabaseMoving):
        await databases.upgrade(settings.database)
    with pytest.raises(MoveRefused, match="turnkeeper db upgrade"):
        await databases.move(settings.database, elsewhere)


async def test_content_that_lies_in_files_stays_there_and_is_counted(
    settings: Settings, elsewhere: str, tmp_path: Path
) -> None:
    in_files = replace(settings, artifact_files=str(tmp_path / "content"))
    async with Turnkeeper.open(settings=in_files) as keeper:
        kept = await keeper.artifacts.keep(b"bytes")

    moved = await databases.move(settings.database, elsewhere)

    assert moved.in_files == 1
    async with Turnkeeper.open(settings=replace(in_files, database=elsewhere)) as keeper:
        assert await keeper.artifacts.read(kept.id) == b"bytes"


async def test_what_one_kind_of_database_cannot_keep_is_named_before_anything_is_moved(
    tmp_path: Path, postgres_dsn: str
) -> None:
    path = str(tmp_path / "x.db")
    async with Turnkeeper.open(path, default_agent="echo") as keeper:
        session = await keeper.create_session()
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE sessions SET title = 'a' || char(0)")

        with pytest.raises(MoveRefused, match=f"title of sessions \\({LOCAL.tenant}, {session.id}\\) holds a NUL"):
            await databases.move(path, postgres_dsn)

        assert (await keeper.chat("Hello")).text
