"""What every command promises, whatever it does."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

from cyclopts import App

from tests.cli.inside import carried_out
from tests.cli.terminal import ROOT, plain

WRITER = runpy.run_path(str(ROOT / "docs/reference/generate.py"))
COMMANDS: dict[tuple[str, ...], App] = dict(WRITER["every_command"]())
STAYS = {("serve",), ("bus",), ("bus", "say")}
"""What goes on until it is stopped, or waits for somebody."""


def test_every_command_says_what_it_does() -> None:
    helped = {path: carried_out(*path, "--help", columns=80) for path in COMMANDS}

    lines = {path: plain(done.stdout).splitlines() for path, done in helped.items() if done.returncode == 0}
    assert lines.keys() == COMMANDS.keys()
    assert [path for path, told in lines.items() if not told[0].startswith(f"Usage: turnkeeper {' '.join(path)}")] == []
    assert [path for path, told in lines.items() if max(map(len, told)) > 80] == []


def test_no_help_loads_the_server_or_its_client() -> None:
    asked = (
        "import sys, json; from turnkeeper.cli.commands import run; "
        "[run([*path, '--help']) for path in json.loads(sys.argv[1])]; "
        "loaded = {'fastapi', 'uvicorn', 'httpx2', 'sse_starlette', 'turnkeeper.keeper'} & set(sys.modules); "
        "assert not loaded, loaded"
    )

    helped = subprocess.run(
        [sys.executable, "-c", asked, json.dumps(list(COMMANDS))], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert helped.returncode == 0, helped.stderr


def test_a_flag_that_no_command_has_is_refused_by_each() -> None:
    refused = {path: carried_out(*path, *needed(app), "--no-such-flag") for path, app in COMMANDS.items()}

    assert {path: done.returncode for path, done in refused.items() if done.returncode != 2} == {}
    assert [path for path, done in refused.items() if not done.stderr.startswith("turnkeeper: ")] == []


def test_without_a_server_each_command_says_so_in_words(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("{}")
    asking = {path: app for path, app in COMMANDS.items() if path not in STAYS and "--url" in flags(app)}

    failed = {
        path: carried_out(*path, *needed(app), "--url", "http://127.0.0.1:1", cwd=tmp_path)
        for path, app in asking.items()
    }

    told = {path: done.stderr for path, done in failed.items() if done.returncode in (1, 2)}
    silent = {("chat",)}  # Nobody said anything.
    assert failed.keys() - told.keys() == silent
    unreached = {path for path, err in told.items() if "No server answers at http://127.0.0.1:1." not in err}
    # These find something wrong before they ask.
    assert unreached == {
        *(("packs", verb) for verb in ("push", "diff", "unset")),
        *(("sessions", verb) for verb in ("pin", "unpin", "erase")),
        ("users", "erase"),
        ("seals", "retire"),
    }


def test_every_list_and_every_view_is_there_for_programs_too() -> None:
    looking = {path for path in COMMANDS if path[-1] in ("list", "show", "tail", "follow", "channels", "outputs")}

    assert [path for path in looking if "--json" not in flags(COMMANDS[path])] == []


def test_the_manual_lists_every_command_and_flag_as_the_code_has_it() -> None:
    page = (ROOT / "docs/reference/cli-commands.md").read_text(encoding="utf-8")

    assert WRITER["commands_page"]() == page, "write it anew with ./dev docs"


def test_the_manual_tells_what_every_command_is_for() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    words = {word.strip("`,.|") for word in page.split()}

    assert [path for path in COMMANDS if not {*path} <= words] == []


def flags(app: App) -> set[str]:
    return {name for each in app.assemble_argument_collection() for name in each.names}


def needed(app: App) -> list[str]:
    """The least that a command has to be given."""
    given: list[str] = []
    for argument in app.assemble_argument_collection():
        if argument.required or argument.field_info.kind is argument.field_info.VAR_POSITIONAL:
            given += [argument.name, "x"] if argument.name.startswith("-") else [choice_of(argument)]
    return given


def choice_of(argument: Any) -> str:
    return str((argument.get_choices() or ("x",))[0])
