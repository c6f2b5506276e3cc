"""Facts and faults of the source that need no database, and a count of all of them.

The source lists behaviour to match (facts 1 to 26) and faults not to repeat (1 to 31). Each has a test with its number
in its name, or a reason why it is none of ours.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from turnkeeper.errors import UnitTextInvalid
from turnkeeper.knowledge.extraction import RuleExtractor
from turnkeeper.knowledge.text_form.document import DocumentKind
from turnkeeper.knowledge.text_form.read import parse_document, parse_units
from turnkeeper.knowledge.text_form.write import serialize
from turnkeeper.model.ids import UnitId
from turnkeeper.model.unit import Act, PhaseScope, UnitRole

TESTS = Path(__file__).parents[1]
NUMBERED = re.compile(r"def test_(?:\w*_)?(fact|fault)_(\d+)_")

NOT_OURS = {
    ("fact", 12): "plugins keep no files of their own, so there is nothing to move when a base is saved or mounted",
    ("fault", 19): "no prompt and no response of a model is cached, on disk or elsewhere",
}

UNIT = """@k1 ku atomic "session::t0001::unit-000"
@k2 set $k1 sourceId session
@k3 set $k1 chunkId session::t0001
@k4 set $k1 topic "port"
"""


def test_every_fact_and_every_fault_of_the_source_has_its_test() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    numbered = {(kind, int(number)) for kind, number in NUMBERED.findall(text)}

    wanted = {("fact", number) for number in range(1, 27)} | {("fault", number) for number in range(1, 32)}

    assert wanted - numbered == NOT_OURS.keys()


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (
            '@k5 set $k1 role Procedure\n@k6 set $k1 claim "x"\n@k7 set $k1 procedure "y"',
            "CLAIM_AND_PROCEDURE_CONFLICT",
        ),
        ("@k5 set $k1 role Definition", "MISSING_REQUIRED_FIELD"),
        (
            '@k5 set $k1 role Definition\n@k6 set $k1 claim "x"\n@k7 set $k1 symbolicSubject a',
            "INCOMPLETE_SYMBOLIC_FACT",
        ),
        ('@k5 set $k1 role Definition\n@k6 set $k1 claim "x"\n@k7 set $k1 utilityActs [gossip]', "INVALID_ACT_VALUE"),
        ('@k5 set $k1 role Definition\n@k6 set $k1 claim "x"\n@k7 set $k1 mood good', "UNKNOWN_FIELD"),
    ],
)
def test_fact_13_a_unit_that_is_none_is_rejected_with_its_code(lines: str, code: str) -> None:
    with pytest.raises(UnitTextInvalid) as refused:
        parse_units(f"{UNIT}{lines}\n")

    assert code in {fault["code"] for fault in refused.value.details}


def test_fact_14_comparative_objects_may_refer_to_a_frame_outside() -> None:
    text = "@p1 policy $f1 2 comparative 4 2 2 sufficient\n"

    document = parse_document(text, kind=DocumentKind.MIXED)

    assert [thing.kind.value for thing in document.objects] == ["policy"]


def test_fact_15_three_relations_are_three_units() -> None:
    read = RuleExtractor().extract("Alpha uses Beta. Gamma depends on Delta. Epsilon provides Zeta.")

    assert [(unit.subject, unit.relation, unit.object) for unit in read.units] == [
        ("Alpha", "uses", "Beta"),
        ("Gamma", "depends_on", "Delta"),
        ("Epsilon", "provides", "Zeta"),
    ]


@pytest.mark.parametrize(
    "request_", ["Explain how the engine works.", "Write a poem about the sea.", "Compare A and B."]
)
def test_fact_16_a_plain_request_is_no_unit(request_: str) -> None:
    assert RuleExtractor().extract(request_).units == ()


@pytest.mark.parametrize(
    ("text", "role", "act"),
    [
        ("Socrates is a human.", UnitRole.DEFINITION, Act.DEFINE),
        ("The system must run on CPU only.", UnitRole.CONSTRAINT, Act.VERIFY),
        ("I do not like coffee.", UnitRole.EVALUATION, Act.EVALUATE),
    ],
)
def test_fault_24_words_are_read_as_words(text: str, role: UnitRole, act: Act) -> None:
    (unit,) = RuleExtractor().extract(text).units

    assert (unit.role, unit.helps_to, unit.claim) == (role, (act,), text)


def test_fault_24_a_question_is_no_fact_and_a_new_value_takes_the_place_of_the_old() -> None:
    extractor = RuleExtractor()
    (eighty,) = extractor.extract("The port is 80.").units
    (corrected,) = extractor.extract("No, port 81.", known=[eighty]).units

    assert extractor.extract("Is Socrates mortal?").units == ()
    assert (corrected.claim, corrected.supersedes) == ("The port is 81.", eighty.id)


def test_fault_24_guidance_is_for_the_answer() -> None:
    (unit,) = RuleExtractor().extract("From now on, answer in JSON.").units

    assert unit.phase_scopes == (PhaseScope.SOLVE,)


def test_fault_10_newlines_quotes_lists_and_parents_come_back() -> None:
    (unit,) = parse_units(f'{UNIT}@k5 set $k1 role Definition\n@k6 set $k1 claim "x"\n')
    parent = replace(unit, id=UnitId("one"), claim='two\nlines with "quotes"\tand \\ more')
    child = replace(unit, id=UnitId("two"), parent_ids=(parent.id, UnitId("elsewhere::unit-009")))

    again = parse_units(serialize([parent, child]))

    assert again == (parent, child)
