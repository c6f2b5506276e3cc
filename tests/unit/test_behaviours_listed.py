"""Each numbered behaviour of the page about envelopes has a test that carries its number."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
LAST = 58

# Where our rulings say otherwise; the tests of these numbers show what we do instead.
DIFFERENT = {
    31: "another user's session is 404 as for another tenant (R17); we look into no other tenant to tell them apart",
    41: "a run is taken up by itself where it was left, under its own id; no envelope is needed for it (DESIGN 6)",
    44: "the default rate is higher; see docs/decisions/0024",
}


def test_every_behaviour_has_a_test_of_its_number() -> None:
    missing = set(range(1, LAST + 1)) - numbers()

    assert missing == set()


def test_what_differs_is_tested_too() -> None:
    assert DIFFERENT.keys() <= numbers()


def numbers() -> set[int]:
    found: set[int] = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                named = re.match(r"test_behaviour((?:_\d{2})+)_", node.name)
                found |= {int(each) for each in named[1].split("_")[1:]} if named else set()
    return found
