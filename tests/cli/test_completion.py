"""A shell completes commands, flags and their values."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.inside import carried_out

ASK = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _turnkeeper; echo "${COMPREPLY[*]}"'


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "turnkeeper.bash"
    path.write_text(carried_out("completion", "bash").out)
    return path


def completed(script: Path, *words: str) -> str:
    command = ["bash", "--norc", "-c", ASK, "bash", str(script), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def test_the_script_is_one_that_bash_can_read(script: Path) -> None:
    checked = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, timeout=60)

    assert (checked.returncode, checked.stderr) == (0, "")


def test_commands_flags_and_their_values_are_completed(script: Path) -> None:
    assert completed(script, "turnkeeper", "sess") == "sessions"
    assert completed(script, "turnkeeper", "sessions", "ta") == "tail"
    assert completed(script, "turnkeeper", "sessions", "list", "--st") == "--status"
    assert completed(script, "turnkeeper", "sessions", "list", "--status", "pa") == "paused"


@pytest.mark.parametrize(("shell", "sign"), [("zsh", "#compdef turnkeeper"), ("fish", "complete -c turnkeeper")])
def test_there_is_a_script_for_other_shells(shell: str, sign: str) -> None:
    printed = carried_out("completion", shell)

    assert printed.code == 0
    assert sign in printed.out
