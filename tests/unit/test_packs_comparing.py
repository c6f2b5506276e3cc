"""The hash of a pack is that of its files, and two versions of it can be told apart in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.packs.comparing import Level, differences
from turnkeeper.packs.demos import demo_packs
from turnkeeper.packs.hashing import hash_of

FILES = st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=5)
BOOKING = demo_packs()["table-booking"]
INTENT, SCHEMA, MANIFEST = "intents/book_table.yaml", "schemas/BOOK_TABLE.json", "pack.yaml"


@given(files=FILES)
def test_the_order_of_files_does_not_change_the_hash(files: dict[str, str]) -> None:
    assert hash_of(dict(reversed(files.items()))) == hash_of(files)


@given(one=FILES, other=FILES)
def test_other_files_have_another_hash(one: dict[str, str], other: dict[str, str]) -> None:
    assert (hash_of(one) == hash_of(other)) == (one == other)


def test_no_file_can_pass_for_another_one() -> None:
    assert hash_of({"a": "b", "c": "d"}) != hash_of({"a": "bcd"}) != hash_of({"ab": "cd"})
    assert hash_of({"a": "x\n"}) != hash_of({"a": "x\r\n"})


def test_the_recipe_of_the_hash_stays() -> None:
    """Hashes are kept and compared for as long as packs are; another recipe would make strangers of them."""
    assert hash_of({"pack.yaml": "id: x\n"}) == "94dd513342544edf67fc55bd8f673e82b3f3ec3abce49c7616eb2cbf4b679f90"


def test_the_same_files_differ_in_nothing() -> None:
    compared = differences(BOOKING, dict(BOOKING))

    assert (compared.files, compared.changes, compared.level, compared.next_version) == ((), (), None, None)


@pytest.mark.parametrize(
    ("path", "old", "new", "level", "said"),
    [
        (INTENT, "make a reservation", "reserve for us", Level.PATCH, None),
        (INTENT, "  - DONE\n", "  - PAID\n  - DONE\n", Level.MINOR, "state BOOK_TABLE.PAID added"),
        (INTENT, "on_leave: keep", "grants: [book]", Level.MAJOR, "BOOK_TABLE now needs the grant book"),
        (SCHEMA, '"notes": {', '"remarks": {', Level.MAJOR, "field BOOK_TABLE.notes removed"),
        (
            SCHEMA,
            '"notes": {',
            '"pets": {"type": "integer"},\n    "notes": {',
            Level.MINOR,
            "field BOOK_TABLE.pets added",
        ),
        (
            SCHEMA,
            '"name", "phone"]',
            '"name", "phone", "notes"]',
            Level.MAJOR,
            "field BOOK_TABLE.notes is now required",
        ),
        (SCHEMA, '"name", "phone"]', '"name"]', Level.MINOR, "field BOOK_TABLE.phone is no longer required"),
        (SCHEMA, '"format": "date"', '"format": "date-time"', Level.MAJOR, "field BOOK_TABLE.date changed its format"),
        (
            MANIFEST,
            "STICKY_INTENT: true",
            "STICKY_INTENT: false",
            Level.MINOR,
            "config STICKY_INTENT changed from True",
        ),
    ],
)
def test_a_change_is_told_in_words_and_by_its_weight(
    path: str, old: str, new: str, level: Level, said: str | None
) -> None:
    assert old in BOOKING[path]
    changed = {**BOOKING, path: BOOKING[path].replace(old, new, 1)}

    compared = differences(BOOKING, changed)

    assert [change.path for change in compared.files] == [path]
    assert compared.level == level
    assert said is None or any(said in change.message for change in compared.changes)
    assert compared.next_version == {"patch": "1.0.1", "minor": "1.1.0", "major": "2.0.0"}[level]


def test_an_intent_that_comes_or_goes_is_told() -> None:
    lists = BOOKING["intents/small.yaml"]
    less = {**BOOKING, "intents/small.yaml": lists.split("- code: RESET_SESSION")[0]}

    assert [change.message for change in differences(BOOKING, less).changes] == ["intent RESET_SESSION removed"]
    assert [change.message for change in differences(less, BOOKING).changes] == ["intent RESET_SESSION added"]


def test_files_are_told_with_their_lines() -> None:
    new = {**BOOKING, "knowledge/new.md": "No end", MANIFEST: BOOKING[MANIFEST].replace("Table booking", "Tables")}
    del new["README.md"]

    compared = differences(BOOKING, new)

    assert [(change.path, change.kind) for change in compared.files] == [
        ("README.md", "removed"),
        ("knowledge/new.md", "added"),
        ("pack.yaml", "changed"),
    ]
    assert compared.files[1].diff.endswith("+No end\n\\ No newline at end of file\n")
    assert "-title: Table booking\n+title: Tables\n" in compared.files[2].diff


def test_what_cannot_be_read_is_compared_by_its_files_alone() -> None:
    broken = {**BOOKING, MANIFEST: "id: ["}

    compared = differences(BOOKING, broken)

    assert [change.path for change in compared.files] == [MANIFEST]
    assert (compared.changes, compared.level) == ((), None)


def test_a_choice_that_is_gone_is_a_major_change() -> None:
    old = {**BOOKING, SCHEMA: BOOKING[SCHEMA].replace('"bar": ["at the bar"]', '"bar": ["bar"]')}
    new = {**old, SCHEMA: old[SCHEMA].replace(', "bar"]', "]").replace(', "bar": ["bar"]', "")}

    compared = differences(old, new)

    assert [change.message for change in compared.changes] == ["field BOOK_TABLE.seating lost the choices bar"]
    assert compared.level == Level.MAJOR


@pytest.mark.parametrize(
    ("one", "other", "narrower", "wider"),
    [
        ('"maximum": 12', '"maximum": 8', "changed its maximum from 12 to 8", "changed its maximum from 8 to 12"),
        ('"minimum": 1', '"minimum": 2', "changed its minimum from 1 to 2", "changed its minimum from 2 to 1"),
        ('"x-earliest"', '"maxLength": 5, "x-earliest"', "maxLength from none to 5", "maxLength from 5 to none"),
        ('"maxLength": 500', '"maxLength": 500, "pattern": "a"', "pattern from none to a", "pattern from a to none"),
        ('"maxLength": 500', '"enum": ["none"]', "now takes only choices from a list", "more than the choices"),
    ],
)
def test_a_field_that_takes_less_is_a_major_change_and_one_that_takes_more_a_minor_one(
    one: str, other: str, narrower: str, wider: str
) -> None:
    assert one in BOOKING[SCHEMA]
    changed = {**BOOKING, SCHEMA: BOOKING[SCHEMA].replace(one, other, 1)}

    there, back = differences(BOOKING, changed), differences(changed, BOOKING)

    assert [change.level for change in there.changes if narrower in change.message] == [Level.MAJOR]
    assert [change.level for change in back.changes if wider in change.message] == [Level.MINOR]


def test_a_new_choice_is_a_minor_change() -> None:
    new = {**BOOKING, SCHEMA: BOOKING[SCHEMA].replace('"bar"]', '"bar", "roof"]', 1)}

    compared = differences(BOOKING, new)

    assert [change.message for change in compared.changes] == ["field BOOK_TABLE.seating gained the choices roof"]
    assert compared.level == Level.MINOR


def test_what_the_items_of_a_list_may_be_is_compared_too() -> None:
    path = "schemas/BUY_VOUCHER.json"
    new = {
        **BOOKING,
        path: BOOKING[path].replace('"minItems": 1', '"minItems": 2').replace('["lunch", "dinner", ', "["),
    }
    new = {**new, path: new[path].replace('"lunch": ["lunch"], "dinner": ["dinner"], ', "")}

    compared = differences(BOOKING, new)

    assert [change.message for change in compared.changes] == [
        "field BUY_VOUCHER.menus changed its minItems from 1 to 2",
        "field BUY_VOUCHER.menus[] lost the choices lunch, dinner",
    ]
    assert compared.level == Level.MAJOR


def test_another_pattern_is_a_major_change() -> None:
    new = {**BOOKING, SCHEMA: BOOKING[SCHEMA].replace('"^[^0-9]+$"', '"^[a-z]+$"')}

    compared = differences(BOOKING, new)

    assert [(change.level, change.message) for change in compared.changes] == [
        (Level.MAJOR, "field BOOK_TABLE.name changed its pattern from ^[^0-9]+$ to ^[a-z]+$")
    ]
