"""Looking after a database from the terminal."""

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from turnkeeper import Turnkeeper
from turnkeeper.cli.commands import run
from turnkeeper.stores.migrations import migrations_of

MIGRATIONS = migrations_of("turnkeeper.stores.sqlite")
LEVEL = MIGRATIONS[-1].number


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, and nothing in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNKEEPER_CONFIG", "")
    return tmp_path


@pytest.fixture
def database(here: Path) -> str:
    async def talk() -> None:
        async with Turnkeeper.open("x.db", default_agent="echo") as keeper:
            for number in range(3):
                await keeper.chat(f"Hello {number}")

    asyncio.run(talk())
    return "x.db"


def an_old_database(path: str) -> None:
    """One that was made before the newest migration."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for migration in MIGRATIONS[:-1]:
            connection.executescript(migration.script)
            said = (migration.number, migration.name, migration.checksum)
            connection.execute("INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, 0)", said)


def test_the_status_says_what_a_database_holds(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["db", "status", "--database", database])

    said = capsys.readouterr().out
    assert code == 0
    assert said.startswith("SQLite, ")
    assert f"level {LEVEL}, for code of level " in said
    assert "door        open" in said
    assert "        3  turns" in said
    assert max(len(line) for line in said.splitlines()) <= 80


def test_the_status_is_json_for_programs(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["db", "status", "--database", database, "--json"])

    told = json.loads(capsys.readouterr().out)
    assert (told["door"], told["level"], told["pending"], told["open_runs"]) == ("open", LEVEL, [], 0)
    assert (told["tables"]["turns"], told["tables"]["packs"]) == (3, 0)


def test_looking_makes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["db", "status", "--database", "none.db"]) == 1
    assert run(["db", "upgrade", "--check", "--database", "none.db"]) == 1

    assert "There are no tables yet" in capsys.readouterr().out
    assert list(here.iterdir()) == []


def test_what_is_no_database_is_told_and_left_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "notes.txt").write_text("These are notes, and have been for a long time.\n" * 30)

    assert run(["db", "status", "--database", "notes.txt"]) == 1

    assert "file is not a database" in capsys.readouterr().err
    assert (here / "notes.txt").read_text().startswith("These are notes")


def test_an_old_database_is_brought_up_to_date_once(capsys: pytest.CaptureFixture[str]) -> None:
    an_old_database("old.db")
    newest = f"{LEVEL:04d}_{MIGRATIONS[-1].name}"

    codes = [run(["db", "upgrade", "--database", "old.db", *more]) for more in (["--check"], [], [], ["--check"])]

    assert codes == [1, 0, 0, 0]
    assert capsys.readouterr().out.splitlines() == [
        f"pending  {newest}",
        f"applied  {newest}",
        *[f"old.db is up to date, at level {LEVEL}."] * 3,
    ]


def test_vacuum_gives_back_the_room_of_what_was_deleted(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE big (bytes BLOB)")
        connection.execute("INSERT INTO big VALUES (randomblob(4000000))")
        connection.execute("DROP TABLE big")
        connection.commit()
    before = Path(database).stat().st_size

    assert run(["db", "vacuum", "--database", database]) == 0

    assert " MiB given back: " in capsys.readouterr().out
    assert Path(database).stat().st_size < before - 3_000_000


def test_a_move_says_what_arrived_and_what_to_do_next(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["db", "move", database, "y.db"]) == 0
    moved = capsys.readouterr().out
    assert run(["db", "status", "--database", database]) == 0
    closed = capsys.readouterr().out
    assert run(["audit", "verify", "--database", "y.db"]) == 0

    assert "refusing new messages" in moved
    assert "copying rows: " in moved
    assert "rows arrived as they were; the digest of all is" in moved
    assert "start them with --database naming the target" in moved
    assert "moved to y.db; nobody may write here any more" in closed
    assert max(len(line) for line in moved.splitlines()) <= 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["move", "x.db", "x.db"], "The two are the same database."),
        (["move", "none.db", "y.db"], "There is no database of a turnkeeper at none.db."),
        (["move", "x.db", "postgresql://u:hush@127.0.0.1:1/y"], "cannot be opened"),
        (["reopen", "none.db"], "There is no database none.db."),
    ],
)
def test_what_cannot_be_moved_is_told_in_a_line(
    database: str, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["db", *arguments]) == 1

    told = capsys.readouterr()
    assert said in told.err
    assert "hush" not in told.err + told.out
    assert told.out == ""


def test_a_person_sees_a_bar(database: str) -> None:
    with Terminal("db", "move", database, "y.db", columns=80, cwd=Path.cwd()) as terminal:
        seen = terminal.until("naming the target")
        ended = terminal.ended()

    assert ended == 0
    assert "copying rows" in seen
    assert "━" in seen


def test_the_settings_of_a_command_come_from_the_file_it_names_or_the_one_that_lies_there(
    database: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "turnkeeper.toml").write_text('database = "x.db"\n')
    (here / "other.toml").write_text('database = "other.db"\n')

    codes = [
        run(["db", "status"]),
        run(["db", "status", "--config", "other.toml"]),
        run(["--config=no.toml", "db", "status"]),
    ]

    told = capsys.readouterr()
    assert codes == [0, 1, 2]
    assert "x.db" in told.out
    assert "other.db" in told.out
    assert told.err == "turnkeeper: there is no file no.toml with settings\n"
