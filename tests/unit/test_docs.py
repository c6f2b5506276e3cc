"""Every Python block in the README and the manual runs as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import python_blocks

ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if python_blocks(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", [path.relative_to(ROOT).as_posix() for path in PAGES])
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    run = run_page(ROOT / page, tmp_path)

    assert run.returncode == 0, run.stderr


def test_blocks_share_their_names_and_may_await(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nimport asyncio\nwaited = await asyncio.sleep(0, 'so')\n```\n"
        "- in a list:\n\n  ```python\n  print(waited)\n  ```\n"
        "```sh\nexit 1\n```\n"
        "<!-- no-run: it would not end -->\n```python\nraise SystemExit(2)\n```\n"
    )

    run = run_page(page, tmp_path)

    assert (run.returncode, run.stdout) == (0, "so\n"), run.stderr


def test_a_failing_block_is_found_at_its_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nfine = 1\nraise ValueError\n```\n")

    run = run_page(page, tmp_path)

    assert run.returncode == 1
    assert f'"{page}", line 5' in run.stderr


def test_a_block_that_is_not_run_must_still_be_python() -> None:
    (block,) = python_blocks("<!-- no-run: needs a key -->\n```python\nthis is no Python\n```\n")

    with pytest.raises(SyntaxError):
        block.compiled("page.md")


def run_page(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.documents", str(page)]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120)
