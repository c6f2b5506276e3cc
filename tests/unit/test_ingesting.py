"""Reading a source: no word of it is lost, and every unit knows the stretch that it was read from."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.knowledge.extraction import RuleExtractor
from turnkeeper.knowledge.ingesting import units_of_source
from turnkeeper.knowledge.words import content_words
from turnkeeper.model.ids import SourceId
from turnkeeper.model.knowledge_base import Source, SourceKind
from turnkeeper.model.unit import Unit, UnitRole
from turnkeeper.wording import words_of

EXTRACTOR = RuleExtractor()
KINDS = (SourceKind.MARKDOWN, SourceKind.TEXT)


def read(text: str, kind: SourceKind = SourceKind.MARKDOWN) -> tuple[Unit, ...]:
    source = Source(
        id=SourceId("src_1"), name="notes", kind=kind, hash="h", content=text, added_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    return units_of_source(source, EXTRACTOR, most=10_000)


def said(text: str, kind: SourceKind = SourceKind.MARKDOWN) -> list[str]:
    return [unit.content for unit in read(text, kind)]


def stretch(text: str, unit: Unit) -> str:
    return " ".join(text[unit.char_start : unit.char_end].split())


@pytest.mark.parametrize("kind", KINDS)
def test_an_item_is_read_with_its_second_line(kind: SourceKind) -> None:
    text = "- Dogs must be on\n  a leash.\n- Cats may walk alone.\n"

    assert said(text, kind) == ["Dogs must be on a leash.", "Cats may walk alone."]


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_right_above_and_below_a_list_is_read(kind: SourceKind) -> None:
    text = "The harbour is closed. The rules are:\n- Dogs must be on a leash.\n- Cats may walk.\nThe bridge is open.\n"

    assert said(text, kind) == [
        "The harbour is closed.",
        "The rules are:",
        "Dogs must be on a leash.",
        "Cats may walk.",
        "The bridge is open.",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_that_begins_with_a_number_is_no_list(kind: SourceKind) -> None:
    text = "The harbour was built in\n2019. The ferry takes cars since then.\nThe bridge is closed.\n"

    assert said(text, kind) == [
        "The harbour was built in 2019.",
        "The ferry takes cars since then.",
        "The bridge is closed.",
    ]


def test_a_dash_in_the_middle_of_a_sentence_is_no_list() -> None:
    assert said("The ferry is slow\n- but safe - on Sunday.") == ["The ferry is slow - but safe - on Sunday."]


def test_steps_keep_all_their_lines_and_points() -> None:
    (unit,) = read("1. Open the valve\n   slowly.\n   - with care\n2. Close it.\n")

    assert (unit.role, unit.content) == (UnitRole.PROCEDURE, "1. Open the valve slowly. - with care\n2. Close it.")


def test_quotes_code_orders_and_bare_headings_are_read() -> None:
    text = "# Harbour\n\n## Rules\n\n> The ferry is closed\n> on Sunday.\n\nRun this:\n```\nmake all\n```\nOpen it.\n"

    assert said(text) == [
        "Harbour",
        "The ferry is closed on Sunday.",
        "Run this:",
        "```\nmake all\n```",
        "Open it.",
    ]


def test_the_same_words_under_two_headings_are_two_units() -> None:
    units = read("# Staging\n\nThe port is 80. The port is 80.\n\n# Production\n\nThe port is 80.\n")

    assert [unit.section_title for unit in units] == ["Staging", "Production"]


def test_a_unit_points_at_exactly_what_it_was_read_from() -> None:
    text = "# Rules\n\nThe ferry takes cars. The harbour\nopens at six. The bridge\nis old.\n\n1. Go\n   in.\n2. Pay."

    units = read(text)

    assert len(units) == 4
    assert [stretch(text, unit) for unit in units] == [" ".join(unit.content.split()) for unit in units]


def test_a_long_text_is_cut_between_words() -> None:
    words = [f"word{number:05d}" for number in range(2_000)]

    found = " ".join(said(" ".join(words))).split()

    assert found == words


WORDS = st.one_of(
    st.text(alphabet="bdgklmnorst", min_size=3, max_size=8),
    st.sampled_from(
        ["the", "ferry", "takes", "harbour", "is", "and", "actually", "must", "if", "no", "Open", "The", "5"]
    ),
)
LINES = st.builds(
    lambda prefix, words, mark: f"{prefix}{' '.join(words)}{mark}",
    st.sampled_from(["", "", "- ", "* ", "  - ", "1. ", "2. ", "3) ", "2019. ", "   ", "> ", "# ", "## "]),
    st.lists(WORDS, min_size=1, max_size=8),
    st.sampled_from(["", "", ".", ". ", ":", ",", "!"]),
)


@given(
    lines=st.lists(st.tuples(LINES, st.sampled_from(["\n", "\n", "\n\n"])), max_size=12), kind=st.sampled_from(KINDS)
)
def test_every_telling_word_of_a_source_is_in_some_unit(lines: list[tuple[str, str]], kind: SourceKind) -> None:
    text = "".join(f"{line}{gap}" for line, gap in lines)

    units = read(text, kind)

    found = {word for unit in units for word in words_of(f"{unit.content} {unit.topic} {unit.section_title}")}
    markers = set(words_of("1 2 3"))
    telling = {word for line, _ in lines for each in content_words(line) for word in words_of(each)}
    assert telling - markers <= found
    for unit in units:
        assert text[unit.char_start : unit.char_end].strip()
