"""Rows and facts are aligned, and never wider than the terminal."""

import hypothesis.strategies as st
from hypothesis import given, settings

from tests.scale import rounds
from turnkeeper.cli.tables import facts, table

ID = "sess_01M7J3BPCZDBFQCGACQ2QZZK2F"
WORDS = st.text(alphabet="abc ", max_size=120)


def test_cells_stand_below_each_other_and_what_nobody_has_takes_no_room() -> None:
    told = table([["a", "", "one"], ["bbb", "", "two"]], None)

    assert told == "a    one\nbbb  two\n"


def test_a_row_that_is_too_wide_goes_on_below_and_its_id_is_whole() -> None:
    told = table([[ID, "active", "A title with many words in it"]], 48)

    assert told == f"{ID}  active\n    A title with many words in it\n"


def test_a_fact_goes_on_below_itself() -> None:
    assert facts({"name": "Ada", "about": "one two three", "none": ""}, 15) == (
        "name   Ada\nabout  one two\n       three\n"
    )


@given(rows=st.lists(st.tuples(st.just(ID), WORDS, WORDS), min_size=1, max_size=5), columns=st.integers(36, 130))
@settings(max_examples=rounds(50, 1_000))
def test_nothing_is_lost_and_nothing_is_wider_than_the_terminal(rows: list[tuple[str, str, str]], columns: int) -> None:
    short = [[" ".join(word[:32] for word in cell.split()) for cell in row] for row in rows]

    told = table(short, columns)

    assert max(map(len, told.splitlines())) <= columns
    assert told.split() == [word for row in short for cell in row for word in cell.split()]
