"""Keys are rotated and sessions change hands from the terminal."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.inside import carried_out
from tests.server.process import ServerProcess, a_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with a_server(tmp_path_factory.mktemp("seals") / "conversations.db", "--token", "secret") as running:
        yield running


def told(server: ServerProcess, *arguments: str, code: int = 0) -> str:
    done = carried_out(*arguments, "--url", server.url, "--token", "secret")
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_a_session_is_released_into_a_file_and_adopted_from_it_until_its_key_is_retired(
    server: ServerProcess, tmp_path: Path
) -> None:
    api, state = server.api("secret"), tmp_path / "state"
    session = api.chat("remember milk", agent="echo")["session_id"]

    none_yet = told(server, "seals", "list")
    released = told(server, "sessions", "release", session, "-o", str(state))
    adopted = told(server, "sessions", "adopt", session, str(state), "--agent", "echo").strip()
    rotated = told(server, "seals", "rotate").strip()
    first, second = told(server, "seals", "list").splitlines()
    unsure = told(server, "seals", "retire", first.split()[0], code=2)
    retired = told(server, "seals", "retire", first.split()[0], "--yes")

    assert none_yet.startswith("There are no keys yet")
    assert released.endswith(f"turnkeeper sessions adopt {session} {state} --agent echo\n")
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    assert api.chat("What did I say?", session_id=adopted)["text"] == "You asked me to remember: milk"
    assert (first.split()[-1], second.split()[0], second.split()[-1]) == ("opens", rotated, "seals")
    assert "--yes" in unsure
    assert retired == f"{first.split()[0]} is retired.\n"
    assert "retired" in told(server, "sessions", "adopt", session, str(state), code=1)


def test_what_is_in_a_file_is_there_until_a_session_was_released_into_it(server: ServerProcess, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("the only copy")

    missing = told(server, "sessions", "release", "sess_nobody", "-o", str(state), code=1)
    folder = told(server, "sessions", "release", "sess_nobody", "-o", str(tmp_path), code=2)

    assert "sess_nobody" in missing
    assert "cannot be written" in folder
    assert (state.read_text(), list(tmp_path.iterdir())) == ("the only copy", [state])
