"""YAML and JSON are read as their core says, and every value knows where it stands."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.packs.documents import LARGEST_NUMBER, Document, DocumentFault
from turnkeeper.packs.faults import Place
from turnkeeper.packs.json_documents import read_json
from turnkeeper.packs.yaml_documents import read_yaml

PLAIN_TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Cn")), max_size=8)
NUMBERS = st.integers(-LARGEST_NUMBER, LARGEST_NUMBER) | st.floats(-1e9, 1e9, allow_nan=False).map(
    lambda x: round(x, 3)
)
TREES = st.recursive(
    st.none() | st.booleans() | NUMBERS | PLAIN_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN_TEXT, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("0o17", 15),
        ("0x1f", 31),
        ("017", 17),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2030-01-01", "2030-01-01"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("'true'", "true"),
        ('"7"', "7"),
        ("1.0.0", "1.0.0"),
    ],
)
def test_only_the_core_of_yaml_is_more_than_text(written: str, read: Any) -> None:
    value = read_yaml(f"key: {written}\n").value["key"]

    assert (value, type(value)) == (read, type(read))


@pytest.mark.parametrize("read", [read_json, read_yaml])
def test_every_value_and_every_key_knows_its_place(read: Any) -> None:
    document: Document = read('{\n  "a/b": [1,\n    {"ö": "x"}]\n}')

    assert document.values == {
        "": Place(line=1, column=1),
        "/a~1b": Place(line=2, column=10),
        "/a~1b/0": Place(line=2, column=11),
        "/a~1b/1": Place(line=3, column=5),
        "/a~1b/1/ö": Place(line=3, column=11),
    }
    assert document.keys == {"/a~1b": Place(line=2, column=3), "/a~1b/1/ö": Place(line=3, column=6)}


def test_what_is_not_there_stands_where_it_would() -> None:
    document = read_json('{\n "a": {}}')

    assert document.place("/a/b/c") == Place(line=2, column=7)


@given(tree=TREES)
def test_json_is_read_as_the_library_reads_it(tree: Any) -> None:
    for text in (json.dumps(tree), json.dumps(tree, indent=2, ensure_ascii=False)):
        assert read_json(text).value == tree


@given(tree=TREES)
def test_json_is_yaml_too(tree: Any) -> None:
    assert read_yaml(json.dumps(tree, ensure_ascii=False)).value == tree


@given(text=st.text(max_size=60) | st.text(alphabet='{}[]",:\\ \n01-eE.truefalsn"', max_size=60))
def test_any_text_is_json_exactly_when_the_library_says_so(text: str) -> None:
    read = outcome(read_json, text)

    assert isinstance(read, Document) == is_good_json(text)
    assert not isinstance(read, Document) or read.value == json.loads(text)


@given(text=st.text(max_size=80) | st.text(alphabet="{}[]\"',:-#&*!|>%@? \n\tabe01.~", max_size=80))
def test_any_text_is_yaml_or_its_fault_is_told(text: str) -> None:
    read = outcome(read_yaml, text)

    assert isinstance(read, Document) or (read.message and read.place.line >= 1)


@pytest.mark.parametrize(("read", "text"), [(read_json, "[" * 100_000), (read_yaml, "[" * 100_000)])
def test_depth_exhausts_nothing(read: Any, text: str) -> None:
    with pytest.raises(DocumentFault, match="deep"):
        read(text)


def test_half_a_character_is_told() -> None:
    with pytest.raises(DocumentFault, match="half a character"):
        read_json('{"a": "\\ud83d"}')


def test_a_key_twice_is_told_with_both_lines() -> None:
    with pytest.raises(DocumentFault, match="line 1") as told:
        read_yaml("a: 1\nb: 2\na: 3\n")

    assert told.value.place == Place(line=3, column=1)


def outcome(read: Callable[[str], Document], text: str) -> Document | DocumentFault:
    try:
        return read(text)
    except DocumentFault as fault:
        return fault


def is_good_json(text: str) -> bool:
    """As JSON says, and without what we refuse beside: keys twice, numbers that are too large, half characters."""
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return all(abs(number) <= LARGEST_NUMBER for number in _numbers(value)) and len(text) <= 60


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def _refuse(word: str) -> None:
    raise ValueError(word)


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in _numbers(item)]
    return [value] if isinstance(value, int | float) else []
