"""What the doctor finds, and that it changes nothing."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from turnkeeper import Turnkeeper, databases
from turnkeeper.cli import doctor_database, doctor_host, doctor_house
from turnkeeper.cli.commands import run
from turnkeeper.cli.doctor_database import file_system_of
from turnkeeper.cli.doctor_host import EXTRAS

MARKER = "quetzalcoatl"
PUBLIC_KEY = {
    "kty": "EC",
    "crv": "P-256",
    "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, and ports that nobody has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNKEEPER_CONFIG", "")
    monkeypatch.setenv("TURNKEEPER_PORT", "0")
    monkeypatch.setenv("TURNKEEPER_BUS_PORT", "0")
    return tmp_path


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which something listens that is no turnkeeper, and says nothing."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield listening.getsockname()[1]


def findings(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit code, and for each thing that was looked at how it is and what is said of it."""
    code, told = examined(capsys, *arguments)
    return code, {each["about"]: (each["level"], each["said"]) for each in told["findings"]}


def examined(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(["doctor", "--json", *arguments])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, told


def a_database(path: str) -> None:
    async def make() -> None:
        async with Turnkeeper.open(path):
            pass

    asyncio.run(make())


def test_a_host_that_is_well_has_no_fault_and_is_left_as_it_was(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = findings(capsys)

    assert code == 0
    assert {level for level, _ in found.values()} <= {"ok", "warning"}
    assert {"python", "sqlite", "search", "open files", "disk", "database", "callers", "port", "model"} <= found.keys()
    assert list(here.iterdir()) == []


def test_a_database_is_looked_at_and_not_touched(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_database("x.db")
    before = (here / "x.db").read_bytes()

    code, found = findings(capsys, "--database", "x.db")

    assert code == 0
    assert found["database file"] == ("ok", "x.db is for this user alone")
    assert found["schema"][1].startswith("up to date, at level ")
    assert found["sync"][0] == "ok"
    assert (here / "x.db").read_bytes() == before


def test_every_thing_that_is_wrong_is_found_with_a_way_to_mend_it(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    monkeypatch.setattr(doctor_house, "PATIENCE_SECONDS", 0.05)
    a_database("x.db")
    asyncio.run(databases.move("x.db", "y.db"))
    (here / "x.db").chmod(0o644)
    (here / "ids.json").write_text("{")
    (here / "turnkeeper.toml").write_text(f'identities = "ids.json"\npolicy = "no.toml"\nmodel_key = "{MARKER}"\n')
    (here / "turnkeeper.toml").chmod(0o644)
    monkeypatch.delenv("TURNKEEPER_PORT")
    monkeypatch.setenv("TURNKEEPER_BUS_PORT", str(taken))
    monkeypatch.setenv("TURNKEEPER_MODEL_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("TURNKEEPER_MODEL_NAME", "m")
    with (here / "turnkeeper.toml").open("a") as file:
        file.write(f"port = {taken}\n")

    code, told = examined(capsys, "--database", "x.db", "--agent", "nowhere:nobody", "--setup", "json:nothing")

    wrong = {each["about"]: each["level"] for each in told["findings"] if each["level"] != "ok"}
    wrong.pop("open files", None)
    assert code == 1
    assert wrong == {
        "config": "warning",
        "database file": "warning",
        "door": "fault",
        "identities": "fault",
        "port": "fault",
        "bus": "warning",
        "parts": "fault",
        "model": "warning",
        "agent": "fault",
        "setup": "fault",
    }
    assert "it was moved to y.db" in [each["said"] for each in told["findings"]]
    assert all(each["mend"] for each in told["findings"] if each["level"] != "ok")


def test_who_comes_with_a_token_of_an_issuer_is_known(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNKEEPER_HOST", "0.0.0.0")
    monkeypatch.setenv("TURNKEEPER_JWT_AUDIENCE", "turnkeeper")
    monkeypatch.setenv("TURNKEEPER_JWT_SECRET", MARKER * 3)

    code, found = findings(capsys)

    assert code == 0
    assert found["issuer"] == ("ok", "signs tokens with the secret that is set")
    assert "callers" not in found


@pytest.mark.parametrize(
    ("text", "level", "said"),
    [
        (None, "fault", "keys.json cannot be read: No such file or directory"),
        ("{", "fault", "keys.json holds no set of keys"),
        ('{"keys": [{"kty": "RSA"}]}', "fault", "keys.json holds no set of keys"),
        (f'{{"keys": [{json.dumps(PUBLIC_KEY)}]}}', "ok", "1 key in keys.json"),
    ],
    ids=["no file", "no JSON", "no key", "a key"],
)
def test_the_keys_of_an_issuer_are_looked_at(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    text: str | None,
    level: str,
    said: str,
) -> None:
    monkeypatch.setenv("TURNKEEPER_JWT_AUDIENCE", "turnkeeper")
    monkeypatch.setenv("TURNKEEPER_JWKS", "keys.json")
    if text is not None:
        (here / "keys.json").write_text(text)

    code, found = findings(capsys)

    assert code == (1 if level == "fault" else 0)
    assert found["issuer"] == (level, said)


def test_settings_that_do_not_fit_are_told_all_at_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "turnkeeper.toml").write_text('prot = 1\nsynchronous = "never"\n')

    code, told = examined(capsys)

    faults = [each["said"] for each in told["findings"] if each["about"] == "settings"]
    assert code == 1
    assert faults == [
        "turnkeeper.toml:1: there is no setting 'prot'; did you mean 'port'?",
        "synchronous is FULL, NORMAL or EXTRA, not 'never' (turnkeeper.toml:2)",
    ]


def test_every_setting_that_is_not_the_default_is_shown_with_its_source_and_no_secret(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "turnkeeper.toml").write_text(f'run_seconds = 5\nmodel_key = "{MARKER}"\n')
    monkeypatch.setenv("TURNKEEPER_TOKEN", MARKER)

    _, told = examined(capsys, "--database", f"postgresql://u:{MARKER}@127.0.0.1:1/x")
    run(["doctor", "--database", f"postgresql://u:{MARKER}@127.0.0.1:1/x"])
    page = capsys.readouterr().out

    shown = {each["name"]: (each["value"], each["source"]) for each in told["settings"]}
    assert shown == {
        "database": ("(secret)", "given"),
        "port": ("0", "TURNKEEPER_PORT"),
        "token": ("(secret)", "TURNKEEPER_TOKEN"),
        "run_seconds": ("5.0", "turnkeeper.toml:1"),
        "bus_port": ("0", "TURNKEEPER_BUS_PORT"),
        "model_key": ("(secret)", "turnkeeper.toml:2"),
    }
    assert MARKER not in page + json.dumps(told)
    assert max(len(line) for line in page.splitlines()) <= 80


def test_a_server_that_lets_everybody_in_is_a_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNKEEPER_HOST", "0.0.0.0")

    code, found = findings(capsys)

    assert (code, found["callers"][0]) == (1, "fault")


def test_a_postgres_that_answers_is_looked_at_with_its_clock(
    capsys: pytest.CaptureFixture[str], postgres_dsn: str
) -> None:
    code, found = findings(capsys, "--database", postgres_dsn)

    assert code == 0
    assert found["database"][1].endswith("the first start makes its tables")
    assert found["clock"][0] == "ok"


def test_what_a_host_lacks_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor_host, "OLDEST_SQLITE", (99, 0, 0))
    monkeypatch.setattr(doctor_host, "OLDEST_PYTHON", (99, 0))
    monkeypatch.setattr(doctor_host, "FEW_OPEN_FILES", 2**62)
    monkeypatch.setattr(doctor_host, "EXTRAS", EXTRAS | {"wings": ("no_such_module", "flight")})
    monkeypatch.setattr(doctor_database, "file_system_of", lambda folder: "nfs4")
    monkeypatch.setattr(doctor_database, "SCARCE_BYTES", 2**80)
    monkeypatch.setattr(doctor_database, "LITTLE_BYTES", 2**80)

    found = {each.about: each.level for each in doctor_host.look_at_host()}
    disk = {each.about: each.level for each in doctor_database._look_at_folder(tmp_path / "x.db")}

    assert (found["python"], found["sqlite"], found["search"]) == ("fault", "fault", "ok")
    assert "without wings" in found
    assert (disk["disk"], disk["file system"]) == ("fault", "warning")


def test_the_file_system_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/a / ext4 rw 0 0\nhost:/x /srv/a\\040b nfs4 rw 0 0\n/dev/b /srv xfs rw 0 0\n")

    kinds = [file_system_of(Path(folder), mounts) for folder in ("/home", "/srv/x", "/srv/a b/c")]

    assert kinds == ["ext4", "xfs", "nfs4"]
    assert file_system_of(Path("/home"), tmp_path / "none") is None
