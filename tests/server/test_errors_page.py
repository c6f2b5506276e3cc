"""The pages of the reference that the code can tell are what it says."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
WRITER = runpy.run_path(str(ROOT / "docs/reference/generate.py"))


def test_the_manual_lists_every_error_and_no_other() -> None:
    page = (ROOT / "docs/reference/http.md").read_text(encoding="utf-8")

    assert WRITER["http_page"](page) == page, "write it anew with ./dev docs"


async def test_the_manual_lists_every_operation_as_the_code_has_it() -> None:
    page = (ROOT / "docs/reference/http-operations.md").read_text(encoding="utf-8")

    assert WRITER["operations_page"](await WRITER["document"]()) == page, "write it anew with ./dev docs"


def test_the_manual_lists_every_verb_of_the_python_face() -> None:
    page = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")

    assert WRITER["python_page"]() == page, "write it anew with ./dev docs"
