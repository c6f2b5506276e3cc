"""The command line itself."""

import importlib.metadata
import logging
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.cli.terminal import ROOT, Terminal, plain, turnkeeper
from tests.server.process import ServerProcess
from turnkeeper.cli.logs import OneLine
from turnkeeper.cli.say import Flow, harmless
from turnkeeper.cli.welcome import show_welcome
from turnkeeper.settings import Settings


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["serve", "--help"], ["chat", "--help"], ["audit", "verify", "--help"], ["units", "check", "--help"]],
)
def test_help_is_given(arguments: list[str]) -> None:
    helped = turnkeeper(*arguments)

    assert helped.returncode == 0
    assert "Usage: turnkeeper" in helped.stdout


def test_help_loads_neither_the_server_nor_its_client() -> None:
    asked = (
        "import sys; from turnkeeper.cli.commands import run; code = run(['--help']); "
        "loaded = {'fastapi', 'uvicorn', 'httpx2', 'sse_starlette', 'uvloop'} & set(sys.modules); "
        "assert not loaded, loaded; sys.exit(code)"
    )

    helped = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert helped.returncode == 0, helped.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--prot", "1"],
        ["sreve"],
        ["serve", "--port"],
        ["audit", "verify", "x"],
        ["units", "check"],
        ["units", "check", "x", "--kind", "y"],
        ["units", "format", "x", "--wriet"],
    ],
)
def test_a_wrong_command_line_is_told_in_words(arguments: list[str]) -> None:
    refused = turnkeeper(*arguments)

    assert refused.returncode == 2
    assert refused.stderr.startswith("turnkeeper: ")
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"TURNKEEPER_POLICY": "policy.toml"}, "policy.toml is not valid: tenants.acme.channels is a table"),
        ({"TURNKEEPER_POLICY": "elsewhere.toml"}, "elsewhere.toml cannot be read"),
        ({"TURNKEEPER_SMTP_URL": "gopher://mail", "TURNKEEPER_MAIL_FROM": "a@b.example"}, "smtp_url looks like smtp:"),
    ],
)
def test_a_setting_that_cannot_be_is_told_in_one_line_at_the_start(
    settings: dict[str, str], told: str, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text("[tenants.acme]\nchannels = 5\n")

    refused = turnkeeper("serve", "--port", "0", "--database", "x.db", cwd=tmp_path, **settings)

    assert refused.returncode == 2
    assert told in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_channel_that_is_misspelt_in_the_policy_is_warned_of(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[channels.emial]\ngrants = []\n")
    flags = ("--port", "0", "--database", str(tmp_path / "x.db"), "--token", "sesame-open")

    with ServerProcess(*flags, TURNKEEPER_POLICY=str(policy)) as server:
        assert server.stop() == 0

    assert "the policy names unknown channels" in server.complained
    assert "emial" in server.complained


def test_the_version_is_printed() -> None:
    printed = turnkeeper("version").stdout.strip()

    try:
        assert printed == importlib.metadata.version("turnkeeper")
    except importlib.metadata.PackageNotFoundError:
        assert printed == "0 (not installed)"


def test_without_the_extra_it_says_how_to_install_it() -> None:
    without = (
        "import importlib.util, sys; find = importlib.util.find_spec; "
        "importlib.util.find_spec = lambda name: None if name == 'fastapi' else find(name); "
        "from turnkeeper.cli.main import main; main()"
    )

    refused = subprocess.run([sys.executable, "-c", without], cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert refused.returncode == 2
    assert "pip install 'turnkeeper[server]'" in refused.stderr


@pytest.mark.parametrize("columns", [60, 120])
def test_the_demo_shows_how_to_talk_to_it(tmp_path: Path, columns: int) -> None:
    flags = ["--demo", "--port", "0", "--database", "turnkeeper.db"]
    with Terminal("serve", *flags, columns=columns, cwd=tmp_path, TURNKEEPER_DEFAULT_AGENT="symbolic") as terminal:
        terminal.until("Listening on ")
        url = terminal.until("\r\n")
        terminal.until("is running")
        shown = terminal.until("Or over HTTP:")
        line = plain(terminal.until('"Hello"}'))
        token = line.split("Bearer ")[1].split("'")[0]
        said = "The ferry leaves at six.\nWhen does the ferry leave?\n"
        talked = turnkeeper("chat", "--url", url, "--token", token, said=said)
        session = httpx2.get(f"{url}/api/v1/sessions", headers={"Authorization": f"Bearer {token}"}).json()["items"][0]
        terminal.interrupt()

        assert terminal.ended() == 0
    assert "chat" in shown
    assert f"curl {url}/api/v1/chat" in line
    assert talked.stdout.splitlines()[-1] == "The ferry leaves at six [1]."
    assert session["idle_for_seconds"] == 1800


def test_a_log_line_has_its_words_first_and_its_fields_behind() -> None:
    record = logging.LogRecord("turnkeeper", logging.INFO, "", 0, "run accepted", (), None)
    record.run_id = "run_1"
    record.place = 'a "b"\nc'

    line = OneLine().format(record)

    assert re.fullmatch(r'\S+Z info run accepted run_id=run_1 place="a \\"b\\"\\nc"', line)


def test_a_crash_is_logged_with_its_kind_and_places_and_without_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)

    line = OneLine().format(a_crash())

    place = r"test_commands.py:\d+ in"
    assert re.search(rf'error run broke kind=ValueError place="{place} a_crash, {place} broken"$', line)


def test_a_developer_sees_the_whole_traceback_of_a_crash() -> None:
    line, _, trace = OneLine(whole=True).format(a_crash()).partition("\n")

    assert "kind=ValueError" in line
    assert trace.startswith("Traceback (most recent call last)")
    assert trace.endswith("ValueError: secret")


def a_crash() -> logging.LogRecord:
    def broken() -> None:
        raise ValueError("sec\x1bret")

    try:
        broken()
    except ValueError:
        return logging.LogRecord("x", logging.ERROR, "", 0, "run broke", (), sys.exc_info())
    raise AssertionError


def test_control_characters_are_taken_out_of_text() -> None:
    assert harmless("a\x1b[2Jb\x07\x9bc\nd\te") == "a[2Jbc\nd\te"


def test_what_goes_wrong_in_a_request_is_one_line_without_words(tmp_path: Path) -> None:
    with ServerProcess("--port", "0", "--database", str(tmp_path / "x.db"), "--token", "sesame-open") as server:
        for _ in range(3):
            server.api("sesame-open").post("/chat", {"message": "hush hush"})
        assert server.stop() == 0

    assert "hush" not in server.complained + server.said


@pytest.mark.parametrize(
    ("columns", "shown"),
    [(None, "one two  three four\n"), (8, "one two \nthree \nfour\n"), (3, "one\ntwo\n \nthr\nee \nfou\nr\n")],
)
def test_an_answer_is_broken_between_words(capsys: pytest.CaptureFixture[str], columns: int | None, shown: str) -> None:
    flow = Flow(columns)

    for piece in ("one t", "wo  thr", "ee", " four"):
        flow.write(piece)
    flow.close()

    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["audit", "verify"], ["chat"]], ids=lambda c: c[0])
@pytest.mark.parametrize(
    "address",
    ["postgresql://ada:hunter2@127.0.0.1:1/x", "postgresql://127.0.0.1:1/x?user=ada&password=hunter2"],
    ids=["in front of the host", "as a parameter"],
)
def test_the_password_of_a_database_is_never_printed(command: list[str], address: str) -> None:
    refused = turnkeeper(*command, "--database", address, said="hello\n")

    assert refused.returncode != 0
    assert refused.stderr.startswith("turnkeeper: ")
    assert "127.0.0.1" in refused.stderr
    assert "hunter2" not in refused.stdout + refused.stderr


def test_the_command_to_talk_to_the_demo_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(database=str(tmp_path / "elsewhere.db"))

    show_welcome(settings, "http://127.0.0.1:8001", "made-up", is_made=True, bus="ws://127.0.0.1:8182/core")

    shown = capsys.readouterr().out
    assert "TURNKEEPER_TOKEN=made-up " in shown
    assert 'bus say "Good morning" --url ws://127.0.0.1:8182/core\n' in shown
