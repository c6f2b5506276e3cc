"""Packs that are right become what they say, and whatever else is sent is told and never raised."""

import json
import random
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.scale import rounds
from turnkeeper.model.knowledge_base import SourceKind
from turnkeeper.model.pack import Classification, Intent, IntentRule, IntentState, OnLeave, Pack, RuleKind
from turnkeeper.packs.demos import demo_packs
from turnkeeper.packs.patterns import pattern_fault
from turnkeeper.packs.reading import read_pack
from turnkeeper.packs.resets import looks_like_reset
from turnkeeper.packs.starting import demo_files, starter_files

DEMOS = demo_packs()
STARTER = starter_files("starter")
FILES = {f"{demo}/{name}": text for demo, files in DEMOS.items() for name, text in files.items()}
PATHS = (
    "pack.yaml",
    "intents/greet.yaml",
    "schemas/LEAVE_MESSAGE.json",
    "responses/responses.yaml",
    "knowledge/x.units",
)
WORDS = [
    *("id", "version", "code", "name", "rules", "type", "REGEX", "pattern", "states", "confirm", "intent", "state"),
    *(
        "text",
        "agent",
        "hint",
        "properties",
        "object",
        "required",
        "GREET",
        "ANY",
        "UNKNOWN",
        "config",
        "prompts",
        "file",
    ),
    *("RESOLVER", "RESET_INTENT_CODES", "ceilings", "locales", "carries", "$ref", "#/$defs/x", "enum", "{x}", "(a+)+"),
]
SCALARS = (
    st.none() | st.booleans() | st.integers(-10, 300) | st.floats(0, 1) | st.sampled_from(WORDS) | st.text(max_size=5)
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=25,
)


@pytest.mark.parametrize("demo", sorted(DEMOS))
def test_a_demo_pack_has_neither_fault_nor_warning(demo: str) -> None:
    pack, faults = read_pack(DEMOS[demo])

    assert faults == ()
    assert pack is not None
    assert pack.ref == f"{demo}@1.0.0"


@pytest.mark.parametrize("demo", [None, *sorted(DEMOS)])
def test_a_new_pack_has_neither_fault_nor_warning_whatever_its_id(demo: str | None) -> None:
    for pack_id in ("mine", "123", "true", "a:b.c-d_e", "1.0"):
        pack, faults = read_pack(starter_files(pack_id) if demo is None else demo_files(pack_id, demo))

        assert faults == ()
        assert pack is not None
        assert pack.id == pack_id


def test_a_pack_says_what_its_files_say() -> None:
    pack = good(
        {
            "pack.yaml": (
                'id: p\nversion: "1.2.3"\ntitle: T\ndescription: D\nclassification: RESTRICTED\nceilings: {tokens: 9}\n'
                "prompts:\n  system: S\n  extract: {file: prompts/e.md}\ntools: [search]\nlocales: [en, de]\n"
                "region: DE\ntimezone: Europe/Berlin\nconfig: {STICKY_INTENT: off, RESET_INTENT_CODES: START_OVER}\n"
            ),
            "prompts/e.md": "E",
            "intents/a.yaml": (
                "code: A\nname: An A\ndescription: D\nexamples: [one]\nrules:\n"
                "  - {type: STARTS_WITH, pattern: go, priority: 5, state: MORE}\npriority: 7\n"
                "states: [FIRST, {code: MORE, confirm: true}, LAST]\ngrants: [a:b]\nchannels: [voice]\n"
                "locales: [de-AT]\ncarries: [x]\non_leave: drop\n"
            ),
            "intents/more.yaml": "- code: START_OVER\n  examples: [anew]\n- {code: B_TWO, examples: [two]}\n",
            "schemas/A.json": '{"type": "object", "properties": {"x": {"type": "string"}}}',
            "schemas/A.MORE.json": '{"type": "object", "properties": {"y": {"type": "string"}}}',
            "responses/r.yaml": "- {intent: A, state: FIRST, text: '{state}', locale: de}\n- {agent: true, hint: H}\n",
            "knowledge/k.md": "# K\n",
            "knowledge/t.txt": "t",
        }
    )

    assert (pack.ref, pack.title, pack.classification) == ("p@1.2.3", "T", Classification.RESTRICTED)
    assert (pack.ceilings, pack.tools, pack.locales) == ({"tokens": 9}, ("search",), ("en", "de"))
    assert (pack.region, pack.timezone, pack.prompts) == ("DE", "Europe/Berlin", {"system": "S", "extract": "E"})
    assert (pack.config.sticky_intent, pack.config.reset_intent_codes) == (False, ("START_OVER",))
    assert pack.intents[0] == Intent(
        code="A",
        name="An A",
        description="D",
        examples=("one",),
        rules=(IntentRule(kind=RuleKind.STARTS_WITH, pattern="go", priority=5, state="MORE"),),
        priority=7,
        states=(IntentState(code="FIRST"), IntentState(code="MORE", confirms=True), IntentState(code="LAST")),
        grants=("a:b",),
        channels=("voice",),
        locales=("de-AT",),
        carries=("x",),
        on_leave=OnLeave.DROP,
    )
    assert [(intent.code, intent.name) for intent in pack.intents[1:]] == [
        ("START_OVER", "Start over"),
        ("B_TWO", "B two"),
    ]
    assert set(pack.schemas) == {"A", "A.MORE"}
    assert [(each.intent, each.state, each.text, each.hint, each.locale) for each in pack.responses] == [
        ("A", "FIRST", "{state}", None, "de"),
        ("ANY", "ANY", None, "H", None),
    ]
    assert [(source.name, source.kind) for source in pack.knowledge] == [
        ("k.md", SourceKind.MARKDOWN),
        ("t.txt", SourceKind.TEXT),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{question}",
        "{missing} {options}",
        "{intent}/{state}",
        "{params.city}",
        "{recipient.name}",
        "{{name}}",
        "{ name }",
    ],
)
def test_a_response_may_name_fields_params_and_what_the_turn_knows(text: str) -> None:
    files = {**DEMOS["table-booking"], "responses/more.yaml": f"- {{intent: BUY_VOUCHER, text: {json.dumps(text)}}}\n"}

    _, faults = read_pack(files)

    assert faults == ()


def test_two_rules_that_differ_in_case_alone_are_the_same_rule() -> None:
    rule = "rules: [{{type: CONTAINS, pattern: {word}}}]\n"
    intents = [f"code: {code}\n{rule.format(word=word)}" for code, word in (("A", "ferry"), ("B", "FERRY"))]

    _, faults = read_pack({**STARTER, "intents/a.yaml": intents[0], "intents/b.yaml": intents[1]})

    assert [(fault.file, fault.code) for fault in faults] == [("intents/b.yaml", "repeated_rule")]


def test_a_reset_that_is_handed_to_the_agent_is_warned_about() -> None:
    reset = "code: RESET_SESSION\nexamples: [anew]\n"
    response = "- {intent: RESET_SESSION, agent: true}\n"

    _, faults = read_pack({**STARTER, "intents/reset.yaml": reset, "responses/reset.yaml": response})

    assert [fault.code for fault in faults] == ["reset_intent"]
    assert "handed to the agent" in faults[0].message


@pytest.mark.parametrize("code", ["RESET", "RESET_SESSION", "RESTART", "START_OVER", "CLEAR_CONVERSATION"])
def test_a_reset_by_its_name(code: str) -> None:
    assert looks_like_reset(code)


@pytest.mark.parametrize(
    "code", ["RESET_PASSWORD", "RESTART_SERVER", "START", "START_ORDER", "CLEAR_CART", "BOOK_TABLE"]
)
def test_business_by_its_name(code: str) -> None:
    assert not looks_like_reset(code)


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("states: [A, B]", "several states"),
        ("grants: [x]", "needs grants"),
        ("examples: [anew]", None),
    ],
)
def test_the_default_reset_intent_is_looked_at_too(declared: str, told: str | None) -> None:
    intent = "code: RESET_SESSION\nrules: [{type: CONTAINS, pattern: anew}]\n"
    files = {**STARTER, "intents/reset.yaml": f"{intent}{declared}\n"}

    pack, faults = read_pack(files)

    assert pack is not None
    assert [fault.code for fault in faults] == (["reset_intent"] if told else [])
    assert all(told is not None and told in fault.message for fault in faults)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b(book|reserve)\b.*\btable\b",
        r"what\s+are\s+your\s+opening\s+hours",
        r"order\s*#?\s?\d{4,8}",
        r"^(hi|hello|hey)[!.]*$",
        r"(?:cancel|stop) .* booking",
        r"(\w+\s?)+$",
        r"a.*b.*c",
        r"\b(?:ändern|übernehmen|größe)\b",
        r"заказ.*отмен",
        r"\p{L}+ \p{L}+",
    ],
)
def test_a_common_pattern_is_fine(pattern: str) -> None:
    assert pattern_fault(pattern) is None


def test_patterns_that_are_too_large_together_are_told_once() -> None:
    rules = "".join(f"  - {{type: REGEX, pattern: 'x{{1,400}}y{n}'}}\n" for n in range(40))

    pack, faults = read_pack({**STARTER, "intents/x.yaml": f"code: X\nrules:\n{rules}"})

    assert pack is None
    assert [(fault.file, fault.code, "use CONTAINS" in fault.message) for fault in faults] == [
        ("intents/x.yaml", "unfit_pattern", True)
    ]
    assert faults[0].line > 20


@given(texts=st.dictionaries(st.sampled_from(PATHS) | st.text(max_size=12), st.text(max_size=60), max_size=4))
def test_any_texts_under_any_names_are_told_and_never_raised(texts: dict[str, str]) -> None:
    look_at({**STARTER, **texts})
    look_at(texts)


@given(path=st.sampled_from(PATHS), tree=TREES, as_json=st.booleans())
def test_any_tree_in_any_file_is_told_and_never_raised(path: str, tree: Any, as_json: bool) -> None:
    text = json.dumps(tree) if as_json else yaml.safe_dump(tree)

    look_at({**STARTER, path: text})


def test_real_packs_with_damage_in_great_number_are_told_and_never_raised() -> None:
    chance = random.Random(4)

    unusable = sum(not look_at(damaged(chance)) for _ in range(rounds(900, 100_000)))

    # Damage that always, or never, shows would prove little.
    assert rounds(900, 100_000) * 0.3 < unusable < rounds(900, 100_000) * 0.99


def many_patterns(start: str) -> str:
    return "code: X\nrules:\n" + "".join(f"- {{type: REGEX, pattern: '{start}y{n}'}}\n" for n in range(15_000))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("intents/x.yaml", "- {code: A, examples: [" + "a, " * 150_000 + "b]}"),
        ("intents/x.yaml", "".join(f"- {{code: A{n}, examples: [same]}}\n" for n in range(20_000))),
        ("responses/x.yaml", "- text: '" + "{x}" * 6_000 + "'\n"),
        ("responses/x.yaml", "".join(f"- {{intent: A{n}, text: '{{x{n}}}'}}\n" for n in range(20_000))),
        ("pack.yaml", "".join(f"k{n}: 1\n" for n in range(60_000))),
        ("intents/x.yaml", many_patterns("x{1,499}x{1,499}")),
        ("intents/x.yaml", many_patterns("x{1,999}x{1,999}")),
        (
            "schemas/LEAVE_MESSAGE.json",
            json.dumps(
                {
                    "type": "object",
                    "properties": {
                        f"f{n}": {"type": "string", "pattern": f"[a-{chr(98 + n % 20)}]{{1,{n}}}"} for n in range(200)
                    },
                }
            ),
        ),
        (
            "schemas/LEAVE_MESSAGE.json",
            json.dumps({"type": "object", "properties": {f"f{n}": {} for n in range(20_000)}}),
        ),
    ],
)
def test_a_large_pack_takes_no_longer_than_its_size_allows(path: str, text: str) -> None:
    began = time.process_time()

    look_at({**STARTER, path: text})

    assert time.process_time() - began < 10


def test_many_names_that_are_not_there_are_not_compared_with_many_that_are() -> None:
    intents = "".join(f"- {{code: A{n}, examples: [x{n}]}}\n" for n in range(15_000))
    responses = "".join(f"- {{intent: B{n}, text: x}}\n" for n in range(15_000))
    began = time.process_time()

    usable = look_at({**STARTER, "intents/many.yaml": intents, "responses/many.yaml": responses})

    assert not usable
    assert time.process_time() - began < 10


def look_at(files: dict[str, str]) -> bool:
    """Whether it can be used. Every fault of it stands somewhere and says something."""
    pack, faults = read_pack(files)
    for fault in faults:
        assert fault.line >= 1
        assert fault.column >= 1
        assert fault.file in {*files, "pack.yaml"}
        assert fault.message.endswith((".", "?", ")")), fault
    assert (pack is None) == any(not fault.is_warning for fault in faults)
    return pack is not None


def damaged(chance: random.Random) -> dict[str, str]:
    files = dict(chance.choice([*DEMOS.values(), STARTER]))
    for _ in range(chance.randint(1, 3)):
        path = chance.choice(sorted(files))
        text = files[path]
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((0, 1, 3, 20)))
        files[path] = (
            text[:start] + chance.choice(["", *WORDS, ":", "-", "\n", "  ", "{", "}", "[", '"', "é"]) + text[end:]
        )
    return files


def good(files: dict[str, str]) -> Pack:
    pack, faults = read_pack(files)
    assert pack is not None, faults
    assert faults == ()
    return pack
