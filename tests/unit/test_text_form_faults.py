"""Every fault in the text of units has its code, its place and a message, and nothing of a faulty text is taken."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.test_text_form import COMPARING, FROM_THE_PAGE, INTENT, text_of
from turnkeeper.errors import UnitTextInvalid
from turnkeeper.knowledge.text_form.document import DocumentKind
from turnkeeper.knowledge.text_form.faults import MOST_FAULTS, FaultCode
from turnkeeper.knowledge.text_form.language import COMMANDS, EVERY_FIELD
from turnkeeper.knowledge.text_form.read import parse_document, parse_units

WITHOUT_CLAIM = FROM_THE_PAGE.replace('@k6 set $k1 claim "The system must run on CPU only."\n', "")
TRIPLE = 'set $k1 symbolicSubject "it"', "set $k1 symbolicRelation uses", 'set $k1 symbolicObject "that"'
LIKES = TRIPLE[0], "set $k1 symbolicRelation likes", TRIPLE[2]
HALF_VALIDATION = "@v validate x\n@a set $v strength y\n@b set $v partialAllowed no"
BRANCH = INTENT + '@s1 seed $i1 direct lookup "x"\n@p1 plugin kb-plugin kb\n@b1 branch $i1 $s1 $p1\n'

# A text, and the code, line, column and field of its one fault. Lines of text_of() begin at 9.
FAULTS: list[tuple[str, str, int, int, str | None]] = [
    # Form
    ("k1 ku atomic x", "INVALID_STATEMENT_ID", 1, 1, None),
    ("\n\t# a comment", "INVALID_STATEMENT_ID", 2, 2, None),
    ("@ ku", "INVALID_STATEMENT_ID", 1, 1, None),
    ("@k.1 ku", "INVALID_STATEMENT_ID", 1, 1, None),
    ("@ké ku", "INVALID_STATEMENT_ID", 1, 1, None),
    ("@k1\u00a0ku atomic x", "INVALID_STATEMENT_ID", 1, 1, None),
    ("\u00a0", "INVALID_STATEMENT_ID", 1, 1, None),
    ("\x0b@k1 ku", "INVALID_STATEMENT_ID", 1, 1, None),
    ("\ufeff@k1 ku", "INVALID_STATEMENT_ID", 1, 1, None),
    ("@k1[ku]", "INVALID_STATEMENT_ID", 1, 1, None),
    ("@k1", "MALFORMED_LINE", 1, 4, None),
    ("@k1 \t", "MALFORMED_LINE", 1, 4, None),
    ('@k1 "ku"', "MALFORMED_LINE", 1, 5, None),
    ("@k1 $ku", "MALFORMED_LINE", 1, 5, None),
    ('@k1 ku atomic "x', "MALFORMED_LINE", 1, 15, None),
    ('@k1 ku atomic "x\\"', "MALFORMED_LINE", 1, 15, None),
    ('@k1 ku atomic "x\ny"', "MALFORMED_LINE", 1, 15, None),
    ("@k1 set $k utilityActs [verify", "MALFORMED_LINE", 1, 24, None),
    ("@k1 set $k utilityActs verify]", "MALFORMED_LINE", 1, 30, None),
    ("@k1 set $k utilityActs [[verify]]", "MALFORMED_LINE", 1, 25, None),
    ("@k1 parent @k2 $k3", "INVALID_ARGUMENT_KIND", 1, 12, None),
    ("@k1 set $k2 utilityActs [@k3]", "INVALID_ARGUMENT_KIND", 1, 26, None),
    # Commands and arguments
    (text_of("unit atomic x"), "UNKNOWN_COMMAND", 9, 5, None),
    (text_of("Set $k1 title x"), "UNKNOWN_COMMAND", 9, 5, None),
    (text_of("set $k1 title two words"), "INVALID_ARGUMENT_COUNT", 9, 5, None),
    (text_of("parent $k1"), "INVALID_ARGUMENT_COUNT", 9, 5, None),
    (FROM_THE_PAGE.replace('"session::turn::unit-000"', "bare"), "INVALID_ARGUMENT_KIND", 1, 15, "id"),
    (text_of("set k1 title x"), "INVALID_ARGUMENT_KIND", 9, 9, "object"),
    (text_of('set $k1 "title" x'), "INVALID_ARGUMENT_KIND", 9, 13, "field"),
    (text_of("set $k1 title [x]"), "INVALID_ARGUMENT_KIND", 9, 19, "title"),
    (text_of("set $k1 title $k1"), "INVALID_ARGUMENT_KIND", 9, 19, "title"),
    (FROM_THE_PAGE.replace("[verify]", "verify"), "INVALID_ARGUMENT_KIND", 7, 25, "utilityActs"),
    (FROM_THE_PAGE.replace("[verify]", "[verify $k1]"), "INVALID_ARGUMENT_KIND", 7, 33, "utilityActs"),
    (FROM_THE_PAGE + "@k2 set $k1 author x", "DUPLICATE_STATEMENT_ID", 9, 1, None),
    (text_of("parent $k1 $k9"), "UNRESOLVED_REFERENCE", 9, 16, None),
    (text_of("parent $k1 $k2"), "UNRESOLVED_REFERENCE", 9, 16, None),
    (text_of("parent $k1 $"), "UNRESOLVED_REFERENCE", 9, 16, None),
    (text_of("set $k1 supersedes $k9"), "UNRESOLVED_REFERENCE", 9, 24, "supersedes"),
    ("@k0 set $k1 title x\n" + FROM_THE_PAGE, "CONSTRUCTOR_REQUIRED_FIRST", 1, 9, None),
    (INTENT + '@s1 seed $i9 direct lookup "x"', "UNRESOLVED_REFERENCE", 3, 10, None),
    ('@s1 seed $i1 direct lookup "x"\n' + INTENT, "CONSTRUCTOR_REQUIRED_FIRST", 1, 10, None),
    # Fields
    (text_of("set $k1 colour red"), "UNKNOWN_FIELD", 9, 13, "colour"),
    (text_of("set $k1 acceptsTasks [x]"), "INVALID_FIELD_FOR_OBJECT", 9, 13, "acceptsTasks"),
    (INTENT + "@x set $i1 claim y", "INVALID_FIELD_FOR_OBJECT", 3, 12, "claim"),
    (text_of('set $k1 topic "another"'), "REPEATED_FIELD", 9, 13, "topic"),
    (FROM_THE_PAGE.replace("Constraint", "constraint"), "INVALID_ROLE_VALUE", 4, 18, "role"),
    (FROM_THE_PAGE.replace("[verify]", "[verify cook]"), "INVALID_ACT_VALUE", 7, 33, "utilityActs"),
    ('@i1 intent cook "x"\n@i2 set $i1 output y', "INVALID_ACT_VALUE", 1, 12, None),
    (text_of(*LIKES), "INVALID_RELATION_VALUE", 10, 30, "symbolicRelation"),
    (FROM_THE_PAGE.replace("gs-plugin", "xs-plugin"), "INVALID_PHASE_SCOPE", 8, 36, "phaseScopes"),
    (FROM_THE_PAGE.replace("gs-plugin", "kb"), "INVALID_PHASE_SCOPE", 8, 36, "phaseScopes"),
    (text_of("set $k1 lifetime forever"), "INVALID_ARGUMENT_KIND", 9, 22, "lifetime"),
    (text_of(*TRIPLE[:2]), "INCOMPLETE_SYMBOLIC_FACT", 9, 29, "symbolicSubject"),
    (text_of(TRIPLE[2]), "INCOMPLETE_SYMBOLIC_FACT", 9, 28, "symbolicObject"),
    (text_of('set $k1 procedure "1. Stop."'), "CLAIM_AND_PROCEDURE_CONFLICT", 9, 23, "procedure"),
    (text_of("set $k1 confidence 0.5"), "INVALID_CONFIDENCE_VALUE", 9, 24, "confidence"),
    *(
        (text_of(*TRIPLE, f"set $k1 confidence {wrong}"), "INVALID_CONFIDENCE_VALUE", 12, 24, "confidence")
        for wrong in ("1.1", "-0.1", "nan", "inf", "high", '""', "1_0", "٠", "0." + "9" * 100)
    ),
    *(
        (text_of(f"set $k1 chunkIndex {wrong}"), "INVALID_ARGUMENT_KIND", 9, 24, "chunkIndex")
        for wrong in ("first", "1.5", "-1", "1_000", "٣", '""', "9223372036854775808", "9" * 5000)
    ),
    (WITHOUT_CLAIM, "MISSING_REQUIRED_FIELD", 1, 1, "claim"),
    (FROM_THE_PAGE.replace("Constraint", "Procedure"), "MISSING_REQUIRED_FIELD", 1, 1, "procedure"),
    (FROM_THE_PAGE.replace("claim", "procedure"), "MISSING_REQUIRED_FIELD", 1, 1, "claim"),
    (FROM_THE_PAGE.replace("@k5", "\n@k5").replace("topic", "title"), "MISSING_REQUIRED_FIELD", 1, 1, "topic"),
    (FROM_THE_PAGE.replace('"deployment environment"', '""'), "MISSING_REQUIRED_FIELD", 5, 19, "topic"),
    (FROM_THE_PAGE.replace('"session::turn::unit-000"', '""'), "MISSING_REQUIRED_FIELD", 1, 15, "id"),
    ('@i1 intent explain "it"', "MISSING_REQUIRED_FIELD", 1, 1, "output"),
    (HALF_VALIDATION, "MISSING_REQUIRED_FIELD", 1, 1, "preserveConstraints"),
    ("@r result_record answer", "MISSING_REQUIRED_FIELD", 1, 1, "result"),
    # What a validator is easily content with
    (FROM_THE_PAGE.replace("atomic", "tiny"), "INVALID_ARGUMENT_KIND", 1, 8, "kuType"),
    ("@p1 plugin xx-plugin kb", "INVALID_ARGUMENT_KIND", 1, 12, "type"),
    (FROM_THE_PAGE + FROM_THE_PAGE.replace("@k", "@l").replace("$k", "$l"), "DUPLICATE_UNIT_ID", 9, 15, "id"),
    (FROM_THE_PAGE + "@b1 constrain $k1 cheap", "INVALID_ARGUMENT_KIND", 9, 15, None),
    (FROM_THE_PAGE + "@b1 status $k1 failed", "INVALID_ARGUMENT_KIND", 9, 12, None),
    (FROM_THE_PAGE + "@s1 subproblem $k1 \"x\"", "INVALID_ARGUMENT_KIND", 9, 16, None),
    (FROM_THE_PAGE + INTENT + "@x parent $k1 $i1", "INVALID_ARGUMENT_KIND", 11, 15, None),
    (INTENT + '@s1 subproblem $i9 "x"', "UNRESOLVED_REFERENCE", 3, 16, None),
    (BRANCH + "@b2 branch $i1 $s9 $p1", "UNRESOLVED_REFERENCE", 6, 16, None),
    (BRANCH + "@b2 branch $i1 $s1 $p9", "UNRESOLVED_REFERENCE", 6, 20, None),
    (BRANCH + "@b2 branch $i1 $p1 $p1", "INVALID_ARGUMENT_KIND", 6, 16, None),
    (text_of("set $k1 parentUnitIds [elsewhere $k9]"), "UNRESOLVED_REFERENCE", 9, 38, "parentUnitIds"),
    (FROM_THE_PAGE.replace("[verify]", "[$k9]"), "UNRESOLVED_REFERENCE", 7, 26, "utilityActs"),
    (INTENT + "@o1 objective $f1 [$i1 $i9]", "UNRESOLVED_REFERENCE", 3, 24, None),
    (INTENT + "@o1 objective $f1 [i1]", "INVALID_ARGUMENT_KIND", 3, 20, "wishes"),
    (INTENT + "@o1 objective $g1 [$i1]", "UNRESOLVED_REFERENCE", 3, 15, None),
    (INTENT + "@o1 objective $i1 [$i1]", "INVALID_ARGUMENT_KIND", 3, 15, "frame"),
    (COMPARING.replace("0.75", "much"), "INVALID_ARGUMENT_KIND", 16, 19, "score"),
    (COMPARING.replace("0.75", "1e999"), "INVALID_ARGUMENT_KIND", 16, 19, "score"),
    (BRANCH + "@x status $b1 succeeded\n@y fail $b1 slow", "INVALID_STATUS_TRANSITION", 7, 13, None),
    (BRANCH + "@x fail $b1 slow\n@y status $b1 succeeded", "INVALID_STATUS_TRANSITION", 7, 15, None),
    (BRANCH + "@x fail $b1 slow\n@y set $b1 status succeeded", "INVALID_STATUS_TRANSITION", 6, 13, None),
    (BRANCH + "@x set $s1 state deactivated\n@y status $s1 active", "INVALID_STATUS_TRANSITION", 7, 15, None),
]  # fmt: skip

OF_A_CONTEXT = [
    (INTENT + FROM_THE_PAGE, ["COMMAND_NOT_ALLOWED"]),
    (FROM_THE_PAGE + "@x needs $k1 $k1", ["COMMAND_NOT_ALLOWED"]),
    ("@p1 plugin kb-plugin kb", ["MISSING_REQUIRED_FIELD"]),
]
OF_AN_INTENT = [
    (INTENT + FROM_THE_PAGE, ["COMMAND_NOT_ALLOWED"]),
    ("@p1 plugin kb-plugin kb", ["MISSING_REQUIRED_FIELD"]),
    ("", ["MISSING_REQUIRED_FIELD"]),
]


@pytest.mark.parametrize(("text", "code", "line", "column", "field"), FAULTS)
def test_a_fault_is_told_with_its_code_and_place(
    text: str, code: str, line: int, column: int, field: str | None
) -> None:
    (fault,) = faults_in(text)

    assert (fault["code"], fault["line"], fault["column"], fault["field"]) == (code, line, column, field)
    assert fault["message"].endswith((".", "..."))
    assert len(fault["message"]) < 700


def test_every_code_has_a_text_that_shows_it() -> None:
    elsewhere = {FaultCode.TEXT_TOO_LONG, FaultCode.COMMAND_NOT_ALLOWED}

    assert {code for _, code, *_ in FAULTS} == set(FaultCode) - elsewhere


def test_the_manual_names_every_command_field_and_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "units.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?<=`)\w+(?=`)", page)) | {"ku", "set", "parent", "derived_from"}

    assert ({*FaultCode, *EVERY_FIELD, *COMMANDS}) - named == set()


@pytest.mark.parametrize(("text", "codes"), OF_A_CONTEXT)
def test_a_context_holds_units_and_nothing_else(text: str, codes: list[str]) -> None:
    assert [fault["code"] for fault in faults_in(text, DocumentKind.CONTEXT)] == codes


@pytest.mark.parametrize(("text", "codes"), OF_AN_INTENT)
def test_an_intent_document_holds_intents_and_no_units(text: str, codes: list[str]) -> None:
    assert [fault["code"] for fault in faults_in(text, DocumentKind.INTENT)] == codes


def test_all_faults_of_meaning_are_told_at_once_in_their_order() -> None:
    text = FROM_THE_PAGE.replace("Constraint", "Rule").replace("[verify]", "[cook]").replace("topic", "subject")

    faults = faults_in(text)

    assert [(fault["code"], fault["line"]) for fault in faults] == [
        ("MISSING_REQUIRED_FIELD", 1),
        ("INVALID_ROLE_VALUE", 4),
        ("UNKNOWN_FIELD", 5),
        ("INVALID_ACT_VALUE", 7),
    ]


def test_only_the_first_fault_of_form_is_told() -> None:
    faults = faults_in("@k1 nonsense\n@k2 set [\nk3\n")

    assert [(fault["code"], fault["line"]) for fault in faults] == [("MALFORMED_LINE", 2)]


def test_a_faulty_constructor_is_told_once_and_not_by_all_who_refer_to_it() -> None:
    for spoilt in ("knowledge_unit atomic", "ku atomic more"):
        faults = faults_in(FROM_THE_PAGE.replace("ku atomic", spoilt))

        assert len(faults) == 1


def test_nothing_of_a_text_with_a_fault_is_taken() -> None:
    right_and_wrong = FROM_THE_PAGE + '@z1 ku atomic "another"\n'

    with pytest.raises(UnitTextInvalid) as refused:
        parse_units(right_and_wrong)

    error = refused.value
    assert (error.code, error.http_status, error.retryable) == ("unit_text_invalid", 422, False)
    assert "5 faults" in error.detail
    assert {fault["field"] for fault in error.details} == {"sourceId", "chunkId", "role", "topic", "claim"}


def test_of_very_many_faults_the_first_are_told_and_all_are_counted() -> None:
    text = "".join(f"@k{number} nonsense\n" for number in range(MOST_FAULTS + 5))

    with pytest.raises(UnitTextInvalid, match=f"{MOST_FAULTS + 5} faults") as refused:
        parse_units(text)

    assert [fault["line"] for fault in refused.value.details] == list(range(1, MOST_FAULTS + 1))


def faults_in(text: str, kind: DocumentKind = DocumentKind.MIXED) -> list[dict[str, Any]]:
    with pytest.raises(UnitTextInvalid) as refused:
        parse_document(text, kind=kind)
    return [dict(fault) for fault in refused.value.details]
