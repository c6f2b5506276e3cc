"""Artifacts, manifests and pointers from the terminal, with a real server."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.server.process import Api, ServerProcess, a_server
from turnkeeper.cli.commands import run


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("substrate") / "conversations.db"


@pytest.fixture(scope="module")
def server(database: Path) -> Iterator[ServerProcess]:
    with a_server(database, "--token", "secret") as running:
        yield running


@pytest.fixture
def api(server: ServerProcess) -> Api:
    return server.api("secret")


class Said(NamedTuple):
    returncode: int
    stdout: str


Turnkeeper = Callable[..., Said]


@pytest.fixture
def turnkeeper(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Turnkeeper:
    """The command line in this process: many commands, one interpreter."""
    monkeypatch.chdir(tmp_path)

    def said(*arguments: str, asks: bool = True) -> Said:
        code = run([*arguments, *(["--url", api.url, "--token", "secret"] if asks else [])])
        return Said(code, capsys.readouterr().out)

    return said


def test_files_become_a_manifest_that_a_pointer_stands_at(turnkeeper: Turnkeeper, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("hello")
    (tmp_path / "b.txt").write_text("more")

    made = turnkeeper("manifests", "make", "docs", "b.txt")
    first = made.stdout.strip()
    pointer = turnkeeper("pointers", "create", "team/handbook", "--manifest", first).stdout.strip()
    (tmp_path / "b.txt").write_text("changed")
    second = turnkeeper("manifests", "make", "docs", "b.txt", "--parent", first).stdout.strip()
    stale = turnkeeper("pointers", "advance", pointer, second, "--expected", "empty")
    moved = turnkeeper("pointers", "advance", "team/handbook", second, "--expected", first)

    assert made.returncode == 0
    assert turnkeeper("manifests", "diff", first, second).stdout == "~ b.txt\n"
    assert "docs/a.txt" in turnkeeper("manifests", "show", second).stdout
    assert (stale.returncode, moved.returncode) == (1, 0)
    assert moved.stdout == f"{pointer}  team/handbook  bundle  {second}\n"
    assert turnkeeper("pointers", "list").stdout == moved.stdout
    assert len(turnkeeper("pointers", "show", pointer).stdout.splitlines()) == 3
    assert turnkeeper("pointers", "delete", pointer).returncode == 0


def test_a_file_is_kept_read_again_and_cleared_away(turnkeeper: Turnkeeper, database: Path, tmp_path: Path) -> None:
    (tmp_path / "note.bin").write_bytes(bytes(range(256)) * 3000)

    kept = turnkeeper("artifacts", "keep", "note.bin")
    sha256 = kept.stdout.split()[0]
    read = turnkeeper("artifacts", "get", sha256, "--into", "again.bin")
    young = turnkeeper("artifacts", "collect", "--database", str(database), asks=False)
    collected = turnkeeper("artifacts", "collect", "--database", str(database), "--grace-seconds", "-60", asks=False)

    assert (kept.returncode, read.returncode) == (0, 0)
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "note.bin").read_bytes()
    assert young.stdout == "Removed 0 contents of 0 bytes, and 0 abandoned uploads.\n"
    assert "Removed 1 content of 768000 bytes" in collected.stdout
    assert turnkeeper("artifacts", "get", sha256).returncode == 1
