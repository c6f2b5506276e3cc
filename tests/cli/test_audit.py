"""Proving the audit from the terminal."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from tests.cli.terminal import turnkeeper
from tests.server.process import everything_in


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "x.db"
    turnkeeper("chat", "--database", str(path), said="Hello\nAgain\n")
    return path


def test_an_audit_that_holds(database: Path) -> None:
    verified = turnkeeper("audit", "verify", "--database", str(database))

    assert verified.returncode == 0, verified.stderr
    assert verified.stdout.startswith("The audit holds: ")


def test_one_tenant_can_be_verified_alone(database: Path) -> None:
    verified = turnkeeper("audit", "verify", "--database", str(database), "--tenant", "default")

    assert (verified.returncode, verified.stdout) == (0, "The audit holds: 2 entries in 1 chain, 1 anchor.\n")


@pytest.mark.parametrize("whose", [[], ["--tenant", "default"]], ids=["all", "one tenant"])
@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE audit SET body = replace(body, 'accepted', 'refused') WHERE tenant = 'default' AND no = 1",
        "DELETE FROM audit WHERE tenant = 'default' AND no = 1",
        "DELETE FROM audit WHERE tenant = 'default' AND no = 2",
        "DELETE FROM audit WHERE tenant = 'default'",
    ],
)
def test_an_audit_that_was_tampered_with(database: Path, harm: str, whose: list[str]) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DROP TRIGGER audit_keep")
        connection.execute("DROP TRIGGER audit_stay")
        connection.execute(harm)

    verified = turnkeeper("audit", "verify", "--database", str(database), *whose)

    assert verified.returncode == 1
    assert "of tenant default: entry" in verified.stdout
    assert "The audit does not hold" in verified.stdout


def test_looking_changes_nothing(database: Path) -> None:
    before = everything_in(database, but=())

    turnkeeper("audit", "verify", "--database", str(database))

    assert everything_in(database, but=()) == before


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    verified = turnkeeper("audit", "verify", "--database", str(tmp_path / "none.db"))

    assert verified.returncode == 2
    assert "There is no database" in verified.stderr
    assert not (tmp_path / "none.db").exists()
