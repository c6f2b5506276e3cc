"""Explaining a run in the terminal."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tests.bus.house import a_house, a_settings
from tests.cli.inside import carried_out
from tests.cli.terminal import Terminal, plain, turnkeeper
from tests.server.process import ServerProcess, a_server, everything_in
from turnkeeper import Turnkeeper, TurnkeeperError
from turnkeeper.bus.rules import STAGES
from turnkeeper.cli.explain import show
from turnkeeper.server.wire_explanations import ExplanationOut

LONG = "And what does the much discussed and often rebuilt harbour office of the old town of Narva do all winter?"
SAID = ("The depot is in Narva. The port is 80.", "The port is 81.", f"Where is the depot? \x1b[31m{LONG}")


@pytest.fixture
async def runs(tmp_path: Path) -> list[str]:
    """Three turns of the symbolic agent and one that failed, in a database that nobody has open."""
    async with Turnkeeper.open(tmp_path / "x.db") as keeper:
        session = await keeper.create_session(agent="symbolic")
        ids: list[str] = [(await keeper.chat(text, session_id=session.id)).run_id for text in SAID]
        ticket = await keeper.submit("Hello", session_id=session.id, plugins={"gs-plugin": "gs-nobody"})
        with pytest.raises(TurnkeeperError):
            await keeper.reply_to(ticket)
    return [*ids, ticket.run.id]


def test_a_run_is_explained_from_its_database(tmp_path: Path, runs: list[str]) -> None:
    before = everything_in(tmp_path / "x.db")

    told = turnkeeper("explain", runs[1], "--database", str(tmp_path / "x.db"))

    lines = told.stdout.splitlines()
    assert (told.returncode, told.stderr) == (0, "")
    assert lines[0].startswith(f"run {runs[1]}  completed")
    assert "asked       The port is 81." in lines
    assert "units       1 added, 1 superseded" in lines
    assert "plugins     sd-symbolic, gs-symbolic, planner-default" in lines
    assert any(line.startswith("├─ hand_off") for line in lines)
    assert any(line.startswith("│     ├─ plugin sd-symbolic  success") for line in lines)
    assert lines[-1].startswith("└─ commit")
    assert "in: " not in told.stdout
    assert everything_in(tmp_path / "x.db") == before


def test_in_full_each_part_says_what_it_was_given_and_what_it_gave(tmp_path: Path, runs: list[str]) -> None:
    told = turnkeeper("explain", runs[1], "--full", "--database", str(tmp_path / "x.db"))

    assert "superseded  session::t0001::unit-001 by session::t0002::unit-000\n" in told.stdout
    assert "│     │     in: The port is 81.\n" in told.stdout
    assert '│     │     out: {"units":["The port is 81."],"asked":[]}\n' in told.stdout


def test_in_full_one_sees_what_belongs_together_across_the_tree(tmp_path: Path, runs: list[str]) -> None:
    told = carried_out("explain", runs[2], "--full", "--database", str(tmp_path / "x.db"), columns=80)

    page = plain(told.out)
    assert "for: seed Where is the depot?" in page
    assert "from: result answer\n" in page
    assert "\x1b[3" not in told.out  # with NO_COLOR there is none


def test_a_failed_run_says_why_and_where(tmp_path: Path, runs: list[str]) -> None:
    told = turnkeeper("explain", runs[3], "--database", str(tmp_path / "x.db"))

    assert told.returncode == 0
    assert told.stdout.startswith(f"run {runs[3]}  failed")
    assert "error       There is no plugin 'gs-nobody'" in told.stdout
    assert "(plugin_not_found)\n" in told.stdout
    assert told.stdout.splitlines()[-1].startswith("└─ hand_off  failed")


def test_a_chart_and_json_are_all_there_is_on_standard_output(tmp_path: Path, runs: list[str]) -> None:
    where = ("--database", str(tmp_path / "x.db"))
    chart = turnkeeper("explain", runs[2], "--mermaid", *where)
    short = json.loads(turnkeeper("explain", runs[2], "--json", *where).stdout)
    full = json.loads(turnkeeper("explain", runs[2], "--json", "--full", *where).stdout)

    assert chart.stdout.startswith("flowchart TD\n  n0[")
    assert (short["run_id"], short["turn"], "graph" in short) == (runs[2], 3, False)
    assert {node["type"] for node in full["graph"]["nodes"]} >= {"step", "frame", "plugin", "planner", "seed"}
    assert short == {name: full[name] for name in short}


@pytest.mark.parametrize("columns", [80, 120])
def test_on_a_terminal_no_line_is_too_long_and_no_word_steers_it(tmp_path: Path, runs: list[str], columns: int) -> None:
    arguments = ("explain", runs[2], "--full", "--database", str(tmp_path / "x.db"))
    with Terminal(*arguments, columns=columns) as terminal:
        assert terminal.ended() == 0

    assert "\x1b[32m" in terminal.seen
    assert "\x1b[31m" not in terminal.seen  # nothing failed, so red could only come from the message
    lines = plain(terminal.seen).replace("\r", "").splitlines()
    assert max(len(line) for line in lines) <= columns


def test_a_server_is_asked_when_there_is_one(tmp_path: Path) -> None:
    with a_server(tmp_path / "turnkeeper.db", "--token", "sesame-open") as server:
        reply = server.api("sesame-open").chat("Hello")
        by_address = turnkeeper("explain", reply["run_id"], "--url", server.url, "--token", "sesame-open")
        unknown = turnkeeper("explain", "run_nobody", "--url", server.url, "--token", "sesame-open")
        stranger = turnkeeper("explain", reply["run_id"], "--url", server.url, "--token", "sesame-shut")

    assert by_address.returncode == 0, by_address.stderr
    assert f"answer      {reply['text']}\n" in by_address.stdout
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "(run_not_found)" in unknown.stderr
    assert stranger.returncode == 1
    assert "(unauthenticated)" in stranger.stderr


def test_a_local_server_is_found_by_itself(tmp_path: Path) -> None:
    with ServerProcess("--port", "0", "--database", str(tmp_path / "turnkeeper.db"), "--token", "sesame") as server:
        run_id = server.api("sesame").chat("Hello")["run_id"]
        told = turnkeeper("explain", run_id, cwd=tmp_path)

    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith(f"run {run_id}  completed")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--database", "gone.db"), 2, "There is no database gone.db. Name one with --database."),
        (("--database", "x.db", "--url", "http://127.0.0.1"), 2, "but not both."),
        (("--tenant", "acme"), 2, "--tenant goes with --database"),
        (("--database", "x.db"), 1, "There is no run 'run_nobody'"),
        (("--database", "x.db", "--tenant", "acme"), 1, "There is no run 'run_nobody'"),
    ],
)
async def test_what_cannot_be_explained_is_said_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], code: int, told: str
) -> None:
    async with Turnkeeper.open(tmp_path / "x.db"):
        pass

    refused = turnkeeper("explain", "run_nobody", *arguments, cwd=tmp_path)

    assert (refused.returncode, refused.stdout) == (code, "")
    assert told in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_an_answer_that_is_shown_in_part_ends_with_an_ellipsis(tmp_path: Path) -> None:
    database = str(tmp_path / "x.db")
    with Terminal("chat", "--database", database, columns=400) as terminal:
        terminal.until("/help")
        terminal.type("x" * 300 + "\r")
        terminal.until("This is turn 1")
        terminal.type("/why\r")

        terminal.until("x…")
        terminal.type("/quit\r")


async def test_in_a_narrow_terminal_each_stage_of_a_round_has_a_line(tmp_path: Path) -> None:
    page = StringIO()
    async with a_house(a_settings(tmp_path)) as house:
        run_id = (await house.say("good morning")).frames[-1].data["run_id"]
        explained = await house.keeper.explained(run_id, principal=house.orchestrator.principal)

    told = ExplanationOut.in_full(explained).model_dump(mode="json", by_alias=True)
    show(told, Console(file=page, width=80, force_terminal=True, highlight=False))

    lines = plain(page.getvalue()).splitlines()
    place = next(number for number, line in enumerate(lines) if line.endswith("BUS_ASKED"))
    stages = [line.strip("│ ").partition(":")[::2] for line in lines[place + 1 : place + 8]]
    assert [name for name, _ in stages] == list(STAGES)
    assert stages[-1][1].startswith(" matched, ")
    assert max(len(line) for line in lines) <= 80
