"""docs/guarantees.md promises nothing that no test proves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guarantees import PAGE, faults_in, read_guarantees

ROOT = Path(__file__).parents[2]
ROW_OF_TWO = "| A turn is kept whole | `tests/test_turn.py::test_kept` and `tests/test_turn.py::test_whole` |\n"
HEADER = "| Promise | Proof |\n|---|---|\n"


def test_every_promise_names_a_proof_that_exists() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")

    assert read_guarantees(page)
    assert faults_in(page, ROOT) == []


def test_a_proof_that_names_nothing_is_a_fault_of_the_page(tmp_path: Path) -> None:
    page = (
        HEADER + "| Bold | none |\n| Lost | `tests/gone.py::test_x` |\n| Vague | `pytest` |\n| Long | `./dev soak` |\n"
    )

    faults = faults_in(page, tmp_path)

    assert faults == [
        "docs/guarantees.md:3 (Bold) names no proof",
        "docs/guarantees.md:4 (Lost) names `tests/gone.py::test_x`, which does not exist",
        "docs/guarantees.md:5 (Vague) names `pytest`, neither a test nor a ./dev command",
    ]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_full_run_fails_when_a_proof_was_skipped_or_left_out(tmp_path: Path, workers: str) -> None:
    a_project(tmp_path, "import pytest\n@pytest.mark.skip\ndef test_kept(): ...\ndef test_other(): ...\n")

    run = pytest_in(tmp_path, "-n", workers)

    assert run.returncode == 1
    assert "(A turn is kept whole): `tests/test_turn.py::test_kept` was skipped" in run.stdout
    assert "(A turn is kept whole): `tests/test_turn.py::test_whole` was not run" in run.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_full_run_passes_when_every_proof_did(tmp_path: Path, workers: str) -> None:
    a_project(
        tmp_path,
        "import pytest\n"
        "def test_kept(): ...\n"
        "@pytest.mark.parametrize('store', ['sqlite', 'postgres'])\n"
        "def test_whole(store): ...\n",
    )

    run = pytest_in(tmp_path, "-n", workers)

    assert run.returncode == 0, run.stdout


def test_a_run_of_chosen_tests_asks_for_no_proof(tmp_path: Path) -> None:
    a_project(tmp_path, "def test_kept(): ...\n")

    run = pytest_in(tmp_path, "tests/test_turn.py")

    assert run.returncode == 0, run.stdout


def a_project(folder: Path, tests: str) -> None:
    (folder / "docs").mkdir()
    (folder / "tests").mkdir()
    (folder / PAGE).write_text(HEADER + ROW_OF_TWO)
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    (folder / "tests" / "test_turn.py").write_text(tests)
    (folder / "conftest.py").write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.guarantees import ProofCheck\n"
        "def pytest_configure(config):\n"
        "    if not hasattr(config, 'workerinput'):\n"
        "        config.pluginmanager.register(ProofCheck(config))\n"
    )


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # A run inside a run must not take itself for a worker of the outer one.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120)
