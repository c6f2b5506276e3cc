"""Each numbered behaviour of the pages about envelopes, sessions and the bus has a test that carries its number."""

import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LAST = {"behaviour": 58, "nyqst": 91, "ovos": 73}

# Where our rulings say otherwise; the tests of these numbers show what we do instead.
DIFFERENT = {
    "behaviour": {
        31: "another user's session is 404 as for another tenant (R17); no other tenant is looked into for it",
        41: "a run is taken up by itself where it was left, under its own id; no envelope is needed for it (DESIGN 6)",
        44: "the default rate is higher; see docs/decisions/0024",
    },
    "nyqst": {
        11: "a forbidden change of status is 409 (R2)",
        13: "there are four statuses, and idle is a reason to pause (R2)",
        16: "a message on a closed session is 410, as it was from the first day",
        22: "nothing idles by itself; the time to live ends a session (R2, R3)",
        45: "codes are written in small letters, here and everywhere",
        88: "errors are problem documents of RFC 9457 (R12)",
        91: "idle is taken, and kept as a pause with this reason (R2)",
    },
    # Every row of the page about the bus holds as it stands.
    "ovos": {},
}


@pytest.mark.parametrize("page", list(LAST))
def test_every_behaviour_has_a_test_of_its_number(page: str) -> None:
    missing = set(range(1, LAST[page] + 1)) - numbers(page)

    assert missing == set()


@pytest.mark.parametrize("page", list(LAST))
def test_what_differs_is_tested_too(page: str) -> None:
    assert DIFFERENT[page].keys() <= numbers(page)


def numbers(page: str) -> set[int]:
    found: set[int] = set()
    for name in names_of_tests():
        named = re.match(rf"test_{page}((?:_\d{{2}})+)_", name)
        found |= {int(each) for each in named[1].split("_")[1:]} if named else set()
    return found


@cache
def names_of_tests() -> tuple[str, ...]:
    written = (path.read_text(encoding="utf-8") for path in TESTS.glob("*/**/test_*.py"))
    return tuple(name for text in written for name in re.findall(r"^ *(?:async )?def (test_\w+)", text, re.MULTILINE))
