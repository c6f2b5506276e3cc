"""The README keeps its word: every command in it is played as it stands."""

from pathlib import Path

import pytest

from tests.replay import Command, Differs, commands_in, replay

README = Path(__file__).parents[2] / "README.md"


def test_a_newcomer_gets_from_the_readme_to_an_agent_with_a_pack() -> None:
    assert replay(README) >= 8


def test_what_is_not_as_the_page_says_is_told() -> None:
    command = Command(line="echo hello", expected="hello ...\nport :8765\n...\n")

    command.compare("hello you\nport :9000\nand more\nand more\n", 9000)
    command.compare("hello you\nport :9000\n", 9000)
    with pytest.raises(Differs, match="it printed\nhullo"):
        command.compare("hullo you\nport :9000\n", 9000)


def test_commands_are_found_with_what_they_print() -> None:
    page = "```console\n$ one\nfirst\n\nsecond\n$ two\n```\n```sh\n$ three\n```\n"

    assert [(each.line, each.expected) for each in commands_in(page)] == [("one", "first\n\nsecond\n"), ("two", "")]
