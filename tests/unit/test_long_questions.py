"""A long message is read in a time that grows with its length, so that nobody can block the others with white space."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import pytest

from turnkeeper.agents.symbolic.question import names_of, parts_of, read_question
from turnkeeper.agents.symbolic.reference import antecedent, put_in
from turnkeeper.agents.symbolic.small_talk import small_talk

SIZE, TIMES = 2_000, 16
SLACK = 5


def read_whole(text: str) -> None:
    names_of(read_question(text))
    parts_of(text)
    put_in(text, "x")
    antecedent([text])
    small_talk(text)


def best_of(work: Callable[[], None]) -> float:
    """Work of the processor, the least of a few: not what the clock says, and not what else the machine does."""
    took = []
    for _ in range(5):
        began = thread_time()
        work()
        took.append(thread_time() - began)
    return min(took)


@pytest.mark.parametrize(
    ("before", "again", "behind"),
    [
        ("What is", " ", "x"),
        ("What is", " \t\n", "x?"),
        ("Tell me about", ", ", "x"),
        ("Is ", "Aa-", "?"),
        ("Is ", "1.", "?"),
        ("What is a", " and", "?"),
        ("What does ", "the ", "use?"),
    ],
)
def test_reading_a_question_takes_as_long_as_it_is_and_no_longer(before: str, again: str, behind: str) -> None:
    short, long = (before + again * size + behind for size in (SIZE, SIZE * TIMES))

    # Quadratic work would take 256 times as long.
    assert best_of(lambda: read_whole(long)) < 0.02 + best_of(lambda: read_whole(short)) * TIMES * SLACK
