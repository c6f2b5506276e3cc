"""Whatever is read as units, the answer is a document or its faults, and it takes no longer than its length allows."""

import contextlib
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scale import rounds
from tests.unit.test_text_form import COMPARING, DESCRIBING, FROM_THE_PAGE, PITFALLS, some_units
from turnkeeper.errors import UnitTextInvalid
from turnkeeper.knowledge.text_form.document import DocumentKind
from turnkeeper.knowledge.text_form.faults import FaultCode
from turnkeeper.knowledge.text_form.language import COMMANDS, EVERY_FIELD, SCOPE_ALIASES
from turnkeeper.knowledge.text_form.read import parse_document, parse_units
from turnkeeper.knowledge.text_form.write import serialize, serialize_document
from turnkeeper.model.ids import UnitId
from turnkeeper.model.unit import LARGEST_COUNT, Act, Lifetime, PhaseScope, Relation, Unit, UnitKind, UnitRole

CASES = rounds(1_200, 1_000_000)
SEEDS = (FROM_THE_PAGE, COMPARING, DESCRIBING, FROM_THE_PAGE + COMPARING)
NAMES = ("k1", "k2", "k3", "i1", "s1", "p1", "b1", "r1", "c1", "f1", "frame-2", "x", "")
NUMBERS = ("0", "1", "0.5", "-1", "nan", "1e999", "99999999999999999999")
VALUES = (*UnitRole, *Act, *PhaseScope, *Relation, *UnitKind, *SCOPE_ALIASES, *NUMBERS)
SCRAPS = ('"', "\\", "[", "]", "@", "$", " ", "\t", "\n", "\r", "@k1 ", " $k1", '"x y"', "[a b]", "\u2028", "\x85", "é")
SPECIMENS = (*PITFALLS, "a", "b", " ", "\U0010ffff", "日", "\\n", '\\"', "k1", "::")
TEXTS = ("condition", "title", "text_body", "note", "hash", "source_name", "author", "created_at", "unit_type", "slot")
COUNTS = ("chunk_index", "unit_index", "char_start", "char_end")


@given(text=st.text() | st.text(alphabet='@k1 \n\t\r"\\[]$set', max_size=60))
def test_any_text_is_read_or_its_faults_are_told(text: str) -> None:
    read(text)


@given(units=some_units(), cut=st.data())
def test_a_text_cut_anywhere_is_read_or_its_faults_are_told(units: tuple[Unit, ...], cut: st.DataObject) -> None:
    text = serialize(units)
    start, end = (cut.draw(st.integers(0, len(text))) for _ in range(2))

    read(text[:start] + text[end:])


def test_units_and_noise_in_great_number() -> None:
    chance = random.Random(20)

    read_count = sum(CASE_KINDS[number % len(CASE_KINDS)](chance) for number in range(CASES))

    # Noise that never gets through would prove little about what does.
    assert CASES * 0.3 < read_count < CASES * 0.9


@pytest.mark.parametrize(
    ("start", "repeated"),
    [
        ("", "@a b\n"),
        ("", "\n"),
        ("", " "),
        ("", "@"),
        ("", '@a ku atomic "x"\n'),
        (FROM_THE_PAGE, "@x parent $k1 $k1\n"),
        (FROM_THE_PAGE, "@x set $k1 topic a\n"),
        (FROM_THE_PAGE, "@x cook $k1 [a]\n"),
        (FROM_THE_PAGE + '@x1 set $k1 title "', "a"),
        (FROM_THE_PAGE + '@x1 set $k1 title "', '\\"'),
        (FROM_THE_PAGE + '@x1 set $k1 title "', "\\\\"),
        (FROM_THE_PAGE + "@x1 set $k1 title ", '""'),
        (FROM_THE_PAGE + "@x1 set $k1 title ", "[ ] "),
        (FROM_THE_PAGE + "@x1 set $k1 parentUnitIds [", "a "),
        (FROM_THE_PAGE + "@x1 set $k1 title ", " \t"),
        (FROM_THE_PAGE + "@x1 set $k1 chunkIndex ", "9"),
        (FROM_THE_PAGE + "@x1 set $k1 confidence 0.", "9"),
        (FROM_THE_PAGE + "@x1 set $k1 ", "x"),
        (FROM_THE_PAGE + "@x1 parent $k1 $", "x"),
    ],
)
@pytest.mark.parametrize("end", ["", '"', "]"])
def test_the_time_to_read_grows_with_the_length_and_no_faster(start: str, repeated: str, end: str) -> None:
    short, long = (start + repeated * (size // len(repeated)) + end for size in (8_000, 64_000))

    # A reader that compares everything with everything would need 64 times as long, not 8.
    assert seconds_for(long) < 24 * seconds_for(short) + 0.05


def test_the_work_to_read_relatives_grows_with_their_number_and_no_faster() -> None:
    few, many = (a_family(of) for of in (50, 400))

    parent, *children = parse_units(many)

    assert parent.child_ids == tuple(child.id for child in children)
    assert steps_for(many) < 8.5 * steps_for(few)


def a_family(of: int) -> str:
    """A parent and its children."""
    ids = [UnitId(f"u{number}") for number in range(of)]
    units = [Unit(id=one, source_id="s", chunk_id="c", role=UnitRole.NARRATIVE, topic="t", claim="") for one in ids]
    return serialize(units) + "".join(f"@p{number} parent $k{number} $k1\n" for number in range(2, of + 1))


def read(text: str, kind: DocumentKind = DocumentKind.MIXED) -> bool:
    """Whether it could be read. What could be read can be written, and is then in its canonical form."""
    try:
        document = parse_document(text, kind=kind)
    except UnitTextInvalid as refused:
        assert_well_told(refused, text)
        return False
    written = serialize_document(document)
    assert parse_document(written, kind=kind) == document
    return True


def assert_well_told(refused: UnitTextInvalid, text: str) -> None:
    assert refused.details
    lines = text.replace("\r", "").split("\n")
    for fault in refused.details:
        assert fault["code"] in set(FaultCode)
        assert 1 <= fault["column"] <= len(lines[fault["line"] - 1]) + 1
        assert fault["message"]


def round_trip(chance: random.Random) -> bool:
    units = units_by(chance)
    assert parse_units(serialize(units)) == units
    return True


def mutated(chance: random.Random) -> bool:
    text = list(chance.choice(SEEDS) if chance.random() < 0.5 else serialize(units_by(chance)))
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(text))
        match chance.randrange(3):
            case 0:
                text[at:at] = chance.choice(SCRAPS)
            case 1:
                del text[at : at + chance.randint(1, 3)]
            case _:
                text[at : at + 1] = chance.choice(SCRAPS)
    return read("".join(text), chance.choice(list(DocumentKind)))


def lines_moved(chance: random.Random) -> bool:
    lines = chance.choice(SEEDS).splitlines(keepends=True)
    match chance.randrange(3):
        case 0:
            lines.insert(chance.randrange(len(lines)), lines.pop(chance.randrange(len(lines))))
        case 1:
            del lines[chance.randrange(len(lines))]
        case _:
            lines.append(statement_by(chance, 99))
    return read("".join(lines))


def noise(chance: random.Random) -> bool:
    return read("".join(statement_by(chance, number) for number in range(chance.randint(0, 6))))


def anything(chance: random.Random) -> bool:
    return read("".join(chance.choice(SCRAPS + SPECIMENS) for _ in range(chance.randint(0, 30))))


CASE_KINDS: tuple[Callable[[random.Random], bool], ...] = (
    round_trip,
    mutated,
    lines_moved,
    noise,
    round_trip,
    anything,
)


def statement_by(chance: random.Random, number: int) -> str:
    """A line in the shape of the grammar, which may mean something."""
    command = chance.choice([*COMMANDS, "set", "set", "cook"])
    parts = [f"@{chance.choice(NAMES) if chance.random() < 0.3 else f'k{number}'}", command]
    if command == "set" and chance.random() < 0.8:
        parts += [f"${chance.choice(NAMES)}", chance.choice(sorted(EVERY_FIELD)), argument_by(chance)]
    else:
        parts += [argument_by(chance) for _ in range(chance.choice((1, 2, 2, 3, 4)))]
    return " ".join(parts) + "\n"


def argument_by(chance: random.Random) -> str:
    match chance.randrange(5):
        case 0:
            return f"${chance.choice(NAMES)}"
        case 1:
            return f'"{chance.choice(VALUES)}"'
        case 2:
            return f"[{' '.join(argument_by(chance) for _ in range(chance.randint(0, 2)))}]"
        case _:
            return str(chance.choice(VALUES))


def units_by(chance: random.Random) -> tuple[Unit, ...]:
    ids = list(dict.fromkeys(some_text(chance) for _ in range(chance.randint(1, 3))))
    return tuple(unit_by(chance, UnitId(unit_id), ids) for unit_id in ids)


def unit_by(chance: random.Random, unit_id: UnitId, near: list[str]) -> Unit:
    role = chance.choice(list(UnitRole))
    more: dict[str, Any] = {"procedure" if role is UnitRole.PROCEDURE else "claim": any_text(chance)}
    for name in chance.sample(TEXTS, chance.randint(0, 4)):
        more[name] = any_text(chance)
    if chance.random() < 0.5:
        more |= {"subject": any_text(chance), "relation": chance.choice(list(Relation)), "object": any_text(chance)}
        more["confidence"] = chance.choice((None, 0, 1, 0.0, 1.0, 0.5, 5e-324, chance.random()))
    if chance.random() < 0.5:
        more[chance.choice(COUNTS)] = chance.choice((0, 1, LARGEST_COUNT, chance.getrandbits(40)))
        more["acts"] = tuple(chance.choices(list(Act), k=chance.randint(0, 3)))
        more["phase_scopes"] = tuple(chance.sample(list(PhaseScope), chance.randint(1, 6)))
        more["lifetime"] = chance.choice(list(Lifetime))
        more["kind"] = chance.choice(list(UnitKind))
    if chance.random() < 0.5:
        for name in ("parent_ids", "derived_from_ids", "child_ids"):
            more[name] = tuple(UnitId(chance.choice([*near, any_text(chance)])) for _ in range(chance.randint(0, 3)))
        more["supersedes"] = chance.choice([None, UnitId(any_text(chance))])
    source, chunk, topic = (some_text(chance) for _ in range(3))
    return Unit(id=unit_id, source_id=source, chunk_id=chunk, role=role, topic=topic, **more)


def some_text(chance: random.Random) -> str:
    return any_text(chance) or "x"


def any_text(chance: random.Random) -> str:
    letters = [chance.choice(SPECIMENS) for _ in range(chance.randint(0, 6))]
    if chance.random() < 0.1:
        letters.append(chr(chance.randrange(0x110000)))
    return "".join(letters)


def steps_for(text: str) -> int:
    """How many lines of Python are run to read it: the same on every machine."""
    steps = 0

    def count(*_: object) -> Any:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        parse_document(text)
    finally:
        sys.settrace(before)
    return steps


def seconds_for(text: str) -> float:
    """Work of the processor, the least of three tries: not what the clock says."""
    tries = []
    for _ in range(3):
        began = time.thread_time()
        with contextlib.suppress(UnitTextInvalid):
            parse_document(text)
        tries.append(time.thread_time() - began)
    return min(tries)
