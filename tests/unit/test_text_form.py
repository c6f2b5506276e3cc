"""Units as text: what is read is what was meant, and what was written is read back."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnkeeper.errors import UnitTextInvalid
from turnkeeper.knowledge.text_form.document import Document, DocumentKind, Link, ObjectKind, Ref, TextObject
from turnkeeper.knowledge.text_form.language import UNIT_FIELDS
from turnkeeper.knowledge.text_form.read import parse_document, parse_units
from turnkeeper.knowledge.text_form.write import serialize, serialize_document
from turnkeeper.model.ids import UnitId
from turnkeeper.model.unit import LARGEST_COUNT, Act, Lifetime, PhaseScope, Relation, Unit, UnitKind, UnitRole

FROM_THE_PAGE = """\
@k1 ku atomic "session::turn::unit-000"
@k2 set $k1 sourceId session
@k3 set $k1 chunkId session::turn
@k4 set $k1 role Constraint
@k5 set $k1 topic "deployment environment"
@k6 set $k1 claim "The system must run on CPU only."
@k7 set $k1 utilityActs [verify]
@k8 set $k1 phaseScopes [kb-plugin gs-plugin]
"""

COMPARING = """\
@i1 intent compare "two caches"
@a1 set $i1 output "a table"
@s1 seed $i1 direct lookup "latency"
@s2 seed $i1 direct lookup "price"
@sp1 subproblem $i1 "find the prices"
@p1 plugin kb-plugin kb-fast
@a2 set $p1 acceptsTasks [lookup "deep search"]
@v1 validate strict
@a3 set $v1 strength high
@a4 set $v1 partialAllowed no
@a5 set $v1 preserveConstraints yes
@b1 branch $i1 $s1 $p1
@r1 result_record answer
@a6 result $b1 $r1
@c1 candidate $f1 $b1 $r1 strong
@a7 set $c1 score 0.75
@y1 policy $f1 2 strict 4 2 3 low
@o1 objective $frame-7 [$i1 $sp1]
@m1 compare $f1 [$c1] "only one"
@h1 challenge $f1 $c1 "is it so?" high
@l1 constrain $i1 "no more than two"
@l2 allows $p1 retry
@l3 needs $s1 $s2
@l4 uses $b1 $p1
@l5 supports $r1 $i1
@l6 split_from $s2 $s1
@l7 status $b1 running
@l8 fail $b1 "too slow"
@l9 deactivate $s2 unneeded
"""

INTENT = '@i1 intent explain "it"\n@i2 set $i1 output text\n'
DESCRIBING = FROM_THE_PAGE + "@p1 plugin kb-plugin kb-fast\n@d1 describes $k1 $p1\n"

PITFALLS = '\n\r\t"\\$@[] #,nrt\x00\x0b\x0c\x1c\x85\xa0\u2028\u2029\ufeff\ud800\U0001f375é'
texts = st.text(alphabet=st.characters() | st.sampled_from(PITFALLS), max_size=12)
some_text = texts.filter(bool)
unit_ids = some_text.map(UnitId)
counts = st.integers(min_value=0, max_value=LARGEST_COUNT)
TEXT_ATTRIBUTES = [
    "condition", "title", "text_body", "note", "hash", "source_name", "source_type", "author", "ingested_at",
    "knowledge_date", "unit_type", "chunk_type", "section_title", "created_at", "slot",
]  # fmt: skip


@st.composite
def a_unit(draw: st.DrawFn, near: Sequence[UnitId] = ()) -> Unit:
    """Any unit there can be; its relatives are among `near` or elsewhere."""
    others = st.lists(st.sampled_from(near) | unit_ids if near else unit_ids, max_size=4).map(tuple)
    role = draw(st.sampled_from(UnitRole))
    optional: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(TEXT_ATTRIBUTES, texts),
        **dict.fromkeys(("chunk_index", "unit_index", "char_start", "char_end"), counts),
        **dict.fromkeys(("parent_ids", "child_ids", "derived_from_ids"), others),
        "kind": st.sampled_from(UnitKind),
        "acts": st.lists(st.sampled_from(Act), max_size=3).map(tuple),
        "phase_scopes": st.lists(st.sampled_from(PhaseScope), min_size=1, unique=True).map(tuple),
        "lifetime": st.sampled_from(Lifetime),
        "supersedes": unit_ids,
    }
    more = draw(st.fixed_dictionaries({}, optional=optional))
    if draw(st.booleans()):
        more |= {"subject": draw(texts), "relation": draw(st.sampled_from(Relation)), "object": draw(texts)}
        more |= draw(st.fixed_dictionaries({}, optional={"confidence": st.floats(0, 1)}))
    more["procedure" if role is UnitRole.PROCEDURE else "claim"] = draw(texts)
    return Unit(
        id=draw(unit_ids),
        source_id=draw(some_text),
        chunk_id=draw(some_text),
        role=role,
        topic=draw(some_text),
        **more,
    )


@st.composite
def some_units(draw: st.DrawFn) -> tuple[Unit, ...]:
    ids = draw(st.lists(unit_ids, max_size=4, unique=True))
    return tuple(replace(draw(a_unit(near=ids)), id=unit_id) for unit_id in ids)


def a_fact(unit_id: str = "session::t1::unit-000", /, **more: Any) -> Unit:
    plain = Unit(
        id=UnitId(unit_id),
        source_id="session",
        chunk_id="session::t1",
        role=UnitRole.DEFINITION,
        topic="Ledger",
        claim="The ledger is a service.",
    )
    return replace(plain, **more)


def text_of(*lines: str) -> str:
    """A whole unit, and these lines about it."""
    return FROM_THE_PAGE + "".join(f"@x{number} {line}\n" for number, line in enumerate(lines))


def test_a_unit_is_read() -> None:
    assert parse_units(FROM_THE_PAGE) == (
        Unit(
            id=UnitId("session::turn::unit-000"),
            source_id="session",
            chunk_id="session::turn",
            role=UnitRole.CONSTRAINT,
            topic="deployment environment",
            claim="The system must run on CPU only.",
            acts=(Act.VERIFY,),
            phase_scopes=(PhaseScope.KNOWLEDGE, PhaseScope.SOLVE),
        ),
    )


def test_a_unit_is_written_with_its_fields_in_order() -> None:
    unit = a_fact(
        subject="billing worker",
        relation=Relation.DEPENDS_ON,
        object="ledger",
        confidence=0.9,
        unit_index=0,
        lifetime=Lifetime.TURN,
        parent_ids=(UnitId("elsewhere"),),
    )

    assert serialize([unit]) == (
        '@k1 ku atomic "session::t1::unit-000"\n'
        "@ks1 set $k1 sourceId session\n"
        "@ks2 set $k1 chunkId session::t1\n"
        "@ks3 set $k1 unitIndex 0\n"
        "@ks4 set $k1 role Definition\n"
        '@ks5 set $k1 topic "Ledger"\n'
        '@ks6 set $k1 claim "The ledger is a service."\n'
        '@ks7 set $k1 symbolicSubject "billing worker"\n'
        "@ks8 set $k1 symbolicRelation depends_on\n"
        "@ks9 set $k1 symbolicObject ledger\n"
        "@ks10 set $k1 confidence 0.9\n"
        "@ks11 set $k1 phaseScopes [kb-plugin]\n"
        "@ks12 set $k1 lifetime turn\n"
        '@ks13 set $k1 parentUnitIds ["elsewhere"]\n'
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [("a_B-9:./+", "a_B-9:./+"), ("é", '"é"'), ("٣", '"٣"'), ("a b", '"a b"'), ("a,b", '"a,b"'), ("x\n", r'"x\n"')],
)
def test_only_plain_letters_are_written_without_quotes(text: str, written: str) -> None:
    assert f"@ks1 set $k1 sourceId {written}\n" in serialize([a_fact(source_id=text)])


def test_every_field_of_a_unit_has_a_name_in_the_text() -> None:
    attributes = {field.attribute for field in UNIT_FIELDS.values()} | {"id", "kind"}

    assert attributes == {field.name for field in fields(Unit)}


@given(unit=a_unit())
@example(unit=a_fact(claim='\\n is not \n, and "\\" is \\\r\n\t'))
@example(unit=a_fact(claim="", title="", acts=()))
@example(unit=a_fact(claim="\u2028\u2029\x85\x0b\x0c\x1c\ufeff"))
@example(unit=a_fact(source_id="a b", chunk_id="$k1", topic="@k1", hash="[x]", slot='"'))
@example(unit=a_fact(subject="", relation=Relation.USES, object="", confidence=5e-324))
@example(unit=a_fact(char_start=0, char_end=LARGEST_COUNT))
def test_any_unit_is_read_as_it_was_written(unit: Unit) -> None:
    assert parse_units(serialize([unit])) == (unit,)


@given(units=some_units())
def test_any_units_are_read_as_they_were_written(units: tuple[Unit, ...]) -> None:
    assert parse_units(serialize(units)) == units


@given(units=some_units())
def test_writing_again_what_was_read_changes_nothing(units: tuple[Unit, ...]) -> None:
    text = serialize(units)

    assert serialize_document(parse_document(text)) == text


@pytest.mark.parametrize("text", [FROM_THE_PAGE, COMPARING, FROM_THE_PAGE + COMPARING, DESCRIBING, INTENT])
def test_formatting_keeps_the_meaning_and_is_done_once(text: str) -> None:
    document = parse_document(text)

    formatted = serialize_document(document)

    assert parse_document(formatted) == document
    assert serialize_document(parse_document(formatted)) == formatted


@pytest.mark.parametrize(
    ("parents", "written"),
    [
        (["a"], ["parent $k3 $k1"]),
        (["b", "a"], ["parent $k3 $k2", "parent $k3 $k1"]),
        (["x"], ['set $k3 parentUnitIds ["x"]']),
        (["a", "x", "b"], ['set $k3 parentUnitIds ["a" "x"]', "parent $k3 $k2"]),
        (["a", "a"], ["parent $k3 $k1", "parent $k3 $k1"]),
    ],
)
def test_parents_keep_their_order_in_the_document_and_outside(parents: list[str], written: list[str]) -> None:
    child = a_fact("c", parent_ids=tuple(map(UnitId, parents)), derived_from_ids=tuple(map(UnitId, parents)))
    units = (a_fact("a", child_ids=()), a_fact("b", child_ids=()), child)

    text = serialize(units)

    lines = [line.partition(" ")[2] for line in text.splitlines()]
    assert [line for line in lines if "parent" in line] == written
    assert parse_units(text) == units


def test_children_are_those_that_name_the_unit_as_a_parent() -> None:
    text = serialize([a_fact("a"), a_fact("b")]) + "@p1 parent $k2 $k1\n"

    parent, child = parse_units(text)

    assert (parent.child_ids, child.parent_ids) == (("b",), ("a",))


def test_children_that_are_named_stand_for_themselves() -> None:
    units = (a_fact("a", child_ids=(UnitId("z"),)), a_fact("b", parent_ids=(UnitId("a"),)))

    text = serialize(units)

    assert 'childUnitIds ["z"]' in text
    assert parse_units(text) == units


def test_a_relative_may_be_named_by_reference_or_by_id() -> None:
    text = serialize([a_fact("a"), a_fact("b")])

    by_reference = parse_units(text + "@x1 set $k2 supersedes $k1\n@x2 set $k2 derivedFromUnitIds [$k1 x]\n")
    by_id = parse_units(text + '@x1 set $k2 supersedes a\n@x2 set $k2 derivedFromUnitIds ["a" "x"]\n')

    assert by_reference == by_id
    assert (by_id[1].supersedes, by_id[1].derived_from_ids) == ("a", ("a", "x"))


@pytest.mark.parametrize(
    ("alias", "scope"),
    [
        ("seed", PhaseScope.SEED),
        ("seed-detector", PhaseScope.SEED),
        ("planner", PhaseScope.PLAN),
        ("kb", PhaseScope.KNOWLEDGE),
        ("retrieval", PhaseScope.KNOWLEDGE),
        ("output", PhaseScope.SOLVE),
        ("answer", PhaseScope.SOLVE),
        ("goal-solver", PhaseScope.SOLVE),
        ("decomposition", PhaseScope.FRAME),
        ("validation", PhaseScope.VALIDATE),
        ("validator", PhaseScope.VALIDATE),
    ],
)
def test_a_scope_may_be_called_by_another_name(alias: str, scope: PhaseScope) -> None:
    (unit,) = parse_units(FROM_THE_PAGE.replace("[kb-plugin gs-plugin]", f"[{alias}]"))

    assert unit.phase_scopes == (scope,)


def test_what_is_left_out_has_its_default() -> None:
    (unit,) = parse_units(FROM_THE_PAGE.partition("@k7")[0])

    assert (unit.acts, unit.phase_scopes, unit.lifetime) == (None, (PhaseScope.KNOWLEDGE,), Lifetime.SESSION)
    assert unit.helps_to == (Act.VERIFY,)


def test_an_empty_list_of_acts_stays_empty_and_one_of_scopes_is_knowledge() -> None:
    (unit,) = parse_units(FROM_THE_PAGE.replace("[verify]", "[]").replace("[kb-plugin gs-plugin]", "[ ]"))

    assert (unit.acts, unit.phase_scopes) == ((), (PhaseScope.KNOWLEDGE,))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r'"a\nb"', "a\nb"),
        (r'"a\tb\rc"', "a\tb\rc"),
        (r'"\"\\\q"', '"\\q'),
        ('"a\u2028b\x85c\x0bd"', "a\u2028b\x85c\x0bd"),
        ('"a\rb"', "ab"),
        ('it"s', 'it"s'),
        ("a,b#c@d$e", "a,b#c@d$e"),
        ("a\u00a0b", "a\u00a0b"),
        ('""', ""),
    ],
)
def test_a_text_is_read_letter_by_letter(written: str, meant: str) -> None:
    (unit,) = parse_units(text_of(f"set $k1 title {written}"))

    assert unit.title == meant


def test_white_space_between_words_and_lines_does_not_count() -> None:
    spread = FROM_THE_PAGE.replace("\n", "\r\n\n \t\r\n").replace(" set", " \t set").replace("@k", "\t@k")
    close = FROM_THE_PAGE.replace(" [kb-plugin gs-plugin]", "[kb-plugin  gs-plugin ]").rstrip("\n")

    assert parse_units(spread) == parse_units(close) == parse_units(FROM_THE_PAGE)


def test_acts_may_be_written_in_any_case() -> None:
    (unit,) = parse_units(FROM_THE_PAGE.replace("[verify]", '[Verify "DEFINE"]'))

    assert unit.acts == (Act.VERIFY, Act.DEFINE)


def test_a_document_of_every_command_is_read() -> None:
    document = parse_document(FROM_THE_PAGE + COMPARING)

    assert len(document.units) == 1
    assert {thing.kind for thing in document.objects} == set(ObjectKind) - {ObjectKind.UNIT}
    assert document.of_kind(ObjectKind.COMPARISON) == (
        TextObject(
            name="compare1",
            kind=ObjectKind.COMPARISON,
            arguments=(Ref(name="f1"), (Ref(name="candidate1"),), "only one"),
        ),
    )
    assert document.links[-1] == Link(command="deactivate", arguments=(Ref(name="seed2"), "unneeded"))
    (candidate,) = document.of_kind(ObjectKind.CANDIDATE)
    (plugin,) = document.of_kind(ObjectKind.PLUGIN)
    assert (candidate.get("score"), plugin.get("acceptsTasks")) == (0.75, ("lookup", "deep search"))
    assert [seed.get("state") for seed in document.of_kind(ObjectKind.SEED)] == ["active", "active"]


def test_a_text_of_nothing_has_no_units() -> None:
    assert parse_units("") == parse_units(" \r\n\t\n") == ()
    assert serialize([]) == ""
    assert parse_document("") == Document()


def test_a_context_may_say_which_plugin_a_unit_describes() -> None:
    document = parse_document(DESCRIBING, kind=DocumentKind.CONTEXT)

    assert document.links == (Link(command="describes", arguments=(Ref(name="k1"), Ref(name="plugin1"))),)


def test_two_units_with_one_id_are_not_written() -> None:
    with pytest.raises(ValueError, match="same id"):
        serialize([a_fact("a"), a_fact("a", topic="Other")])


@pytest.mark.parametrize("name", ["chunk_index", "unit_index", "char_start", "char_end"])
@pytest.mark.parametrize("count", [-1, LARGEST_COUNT + 1])
def test_a_unit_counts_only_what_every_store_can_hold(name: str, count: int) -> None:
    with pytest.raises(ValueError):
        a_fact(**{name: count})


def test_a_text_that_is_too_long_is_not_looked_at() -> None:
    parse_units(FROM_THE_PAGE, max_chars=len(FROM_THE_PAGE))

    with pytest.raises(UnitTextInvalid) as refused:
        parse_units(FROM_THE_PAGE, max_chars=len(FROM_THE_PAGE) - 1)

    (fault,) = refused.value.details
    assert (fault["code"], fault["line"], fault["column"]) == ("TEXT_TOO_LONG", 1, 1)
