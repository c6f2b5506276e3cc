"""Every kind of malformed pack is told by its file, its line and what to do about it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from turnkeeper.packs.demos import demo_packs
from turnkeeper.packs.faults import MOST_FAULTS, PackFaultCode
from turnkeeper.packs.reading import read_pack
from turnkeeper.packs.starting import starter_files

Files = dict[str, str]

BOOKING = demo_packs()["table-booking"]
STARTER = starter_files("starter")

INTENT = "intents/leave_message.yaml"
SCHEMA = "schemas/LEAVE_MESSAGE.json"
RESPONSES = "responses/responses.yaml"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One way to get a pack wrong. The fault is told in the line that holds `at`, and its remedy with `remedy`."""

    what: str
    change: Callable[[Files], Files]
    code: str
    file: str
    at: str | None = None
    remedy: str
    is_warning: bool = False

    def __str__(self) -> str:
        return self.what


def with_file(path: str, text: str) -> Callable[[Files], Files]:
    return lambda files: {**files, path: text}


def without_file(path: str) -> Callable[[Files], Files]:
    return lambda files: {name: text for name, text in files.items() if name != path}


def saying(path: str, old: str, new: str) -> Callable[[Files], Files]:
    def change(files: Files) -> Files:
        assert old in files[path], f"{old!r} does not stand in {path}"
        return {**files, path: files[path].replace(old, new, 1)}

    return change


def adding(path: str, line: str) -> Callable[[Files], Files]:
    return lambda files: {**files, path: f"{files[path].rstrip()}\n{line}\n"}


def manifest(line: str, code: str, remedy: str, *, what: str, at: str | None = None, is_warning: bool = False) -> Kind:
    """A line more in pack.yaml, or in place of the one with the same key."""
    key = line.split(":")[0]

    def change(files: Files) -> Files:
        others = re.sub(rf"(?m)^{key}:.*\n(  .*\n)*", "", files["pack.yaml"])
        return {**files, "pack.yaml": f"{others}{line}\n"}

    at = at or line.splitlines()[0]
    return Kind(what=what, change=change, code=code, file="pack.yaml", at=at, remedy=remedy, is_warning=is_warning)


def intent(
    old: str, new: str, code: str, remedy: str, *, what: str, at: str | None = None, is_warning: bool = False
) -> Kind:
    change = saying(INTENT, old, new)
    return Kind(what=what, change=change, code=code, file=INTENT, at=at or new, remedy=remedy, is_warning=is_warning)


def schema(old: str, new: str, code: str, remedy: str, *, what: str, at: str | None = None) -> Kind:
    return Kind(what=what, change=saying(SCHEMA, old, new), code=code, file=SCHEMA, at=at or new, remedy=remedy)


def response(text: str, code: str, remedy: str, *, what: str, at: str = "state: CONFIRM") -> Kind:
    """A text in place of the one for CONFIRM."""
    change = saying(RESPONSES, """'I will pass on: "{message}". The team answers to {email}. Is that right?'""", text)
    return Kind(what=what, change=change, code=code, file=RESPONSES, at=text, remedy=remedy)


def more_responses(lines: str, code: str, remedy: str, *, what: str, at: str) -> Kind:
    return Kind(what=what, change=adding(RESPONSES, lines), code=code, file=RESPONSES, at=at, remedy=remedy)


KINDS = [
    # Files and where they stand.
    Kind(
        what="no pack.yaml",
        change=without_file("pack.yaml"),
        code="missing_file",
        file="pack.yaml",
        remedy="packs init",
    ),
    Kind(
        what="a file in no place",
        change=with_file("notes/x.txt", "x"),
        code="misplaced_file",
        file="notes/x.txt",
        remedy="intents/*.yaml",
    ),
    Kind(
        what="an intent that ends in .yml",
        change=with_file("intents/x.yml", "x"),
        code="misplaced_file",
        file="intents/x.yml",
        remedy="Name it intents/x.yaml",
    ),
    Kind(
        what="knowledge in a folder below",
        change=with_file("knowledge/a/b.md", "x"),
        code="misplaced_file",
        file="knowledge/a/b.md",
        remedy="knowledge/*.md",
    ),
    Kind(
        what="a path that leads out",
        change=with_file("../pack.yaml", "x"),
        code="misplaced_file",
        file="../pack.yaml",
        remedy="pack.yaml",
    ),
    Kind(
        what="an empty file",
        change=with_file(INTENT, " \n"),
        code="empty_file",
        file=INTENT,
        remedy="Fill it",
    ),
    Kind(
        what="a control character",
        change=adding(INTENT, "# \x07 bell"),
        code="control_character",
        file=INTENT,
        at="bell",
        remedy="Take it away",
    ),
    Kind(
        what="a prompt file that nothing names",
        change=with_file("prompts/old.md", "x"),
        code="unused_file",
        file="prompts/old.md",
        remedy="`file:`",
        is_warning=True,
    ),
    # YAML.
    intent("code: LEAVE", "code: [LEAVE", "syntax", "brackets", what="a bracket left open", at="name: Leave"),
    intent("name: Leave", "\tname: Leave", "syntax", "a tab in the indent", what="a tab as an indent"),
    intent("    pattern:", "\tpattern:", "syntax", "Use blanks", what="a tab as an indent in a list", at="\tpattern"),
    intent("name: Leave a message", "name: Hello: I leave", "syntax", "the text in quotes", what="a colon in a text"),
    intent("name: Leave a message", "name: {x} messages", "syntax", "the text in quotes", what="a variable in front"),
    intent("name: Leave a message", "name: @you", "syntax", "the text in quotes", what="a sign in front"),
    intent("name: Leave a message", "name: 'it's'", "syntax", "write ''", what="a single quote in single quotes"),
    intent("name: Leave a message", 'name: "Leave', "syntax", "not closed", what="quotes left open"),
    intent("name: Leave a message", "name Leave", "syntax", "`key: value`", what="no colon"),
    intent("name: Leave a message", "  name: Leave", "syntax", "the same indent", what="an indent too far"),
    intent("  - can you tell", " - can you tell", "syntax", "indent", what="an indent too near"),
    intent(
        r"pattern: \b(leave|take)\b.*\bmessage\b",
        r'pattern: "\d+"',
        "syntax",
        "single quotes",
        what="a backslash in double quotes",
    ),
    intent(
        r"pattern: \b(leave|take)\b.*\bmessage\b",
        r'pattern: "\btake\b"',
        "control_character",
        "single quotes",
        what="a word boundary in double quotes",
    ),
    intent("name: Leave", "code: X\nname: Leave", "repeated_key", "Keep one", what="a key twice", at="code: X"),
    intent("name: Leave a message", "name: &a Leave", "alias", "Write the value out", what="an anchor"),
    intent("name: Leave a message", "name: *a", "alias", "Write the value out", what="an alias"),
    intent("name: Leave a message", "name: !!str Leave", "tag", "Take it away", what="a tag"),
    intent("name: Leave", "---\nname: Leave", "several_documents", "file of its own", what="two documents", at="---"),
    intent("name: Leave a message", "7: seven", "key_not_text", "in quotes", what="a number as a key"),
    intent(
        "name: Leave a message", f"name: {'[' * 70}{']' * 70}", "too_deep", "flatter", what="70 lists in each other"
    ),
    intent("priority: 10", "priority: .inf", "unfit_number", "smaller", what="an endless number"),
    intent("priority: 10", f"priority: {'9' * 5000}", "unfit_number", "smaller", what="a number of 5000 digits"),
    # Values.
    intent("name: Leave a message", "name: 7", "wrong_type", "in quotes", what="a number for a text"),
    intent("name: Leave a message", 'name: " "', "blank", "Write something", what="a blank text"),
    intent("name: Leave a message", f"name: {'x' * 300}", "too_long", "shorter", what="a name of 300 letters"),
    intent("name: Leave a message", "nmae: Leave", "unknown_key", "Did you mean 'name'", what="a key misspelt"),
    intent("code: LEAVE_MESSAGE\n", "", "missing_key", "Write `code: ...`", what="no code", at="name: Leave"),
    intent("confirm: true", "confirm: yes", "wrong_type", "true or false", what="yes for true"),
    intent("priority: 10", 'priority: "10"', "wrong_type", "without quotes", what="a text for a number"),
    intent("priority: 10", "priority: true", "wrong_type", "digits", what="true for a number"),
    intent("priority: 10", "priority: -1", "unfit_value", "from 0 to", what="a negative priority"),
    intent("name: Leave", "channels: app_chat\nname: Leave", "wrong_type", "'- '", what="no list", at="channels"),
    intent(
        "name: Leave", "grants: [a b]\nname: Leave", "unfit_value", "digits", what="a grant with a blank", at="grants"
    ),
    intent(
        "name: Leave",
        "tags: [a]\nname: Leave",
        "unknown_key",
        "Did you mean 'states'",
        what="a key of no meaning",
        at="tags",
    ),
    # The manifest.
    manifest("id: -x", "unfit_value", "beginning with a letter", what="an unfit id"),
    manifest("version: 1.0", "wrong_type", "in quotes", what="a version that is a number"),
    manifest('version: "1.0"', "unfit_value", "three numbers", what="a version of two numbers"),
    manifest('version: "1.0.0-beta"', "unfit_value", "nothing may follow", what="a version before its release"),
    manifest('version: "1.02.0"', "unfit_value", "without leading zeros", what="a version with a leading zero"),
    manifest("classification: SECRET", "unfit_value", "PUBLIC", what="an unknown classification"),
    manifest("ceilings: {run_secs: 3}", "unknown_key", "run_seconds", what="an unknown ceiling"),
    manifest("ceilings: {tokens: 0}", "unfit_value", "from 1", what="a ceiling of nothing"),
    manifest("locales: [english]", "unfit_value", "such as en", what="a locale that is a word"),
    manifest("locales: [en, en]", "repeated_value", "Keep one", what="a locale twice"),
    manifest("region: UK", "unfit_value", "such as GB", what="a region that is none"),
    manifest("timezone: Europe/Berlim", "unfit_value", "Europe/Berlin", what="a timezone that is none"),
    manifest("tools: [a b]", "unfit_value", "digits", what="a tool with a blank"),
    manifest("prompts: {System: x}", "unfit_value", "small letters", what="a prompt with a capital"),
    manifest(
        "prompts: {system: {file: prompts/x.md}}", "missing_file", "prompts/", what="a prompt file that is not there"
    ),
    manifest("config: {STICKY_INTENTS: true}", "unknown_key", "STICKY_INTENT", what="an unknown config key"),
    manifest("config: {MIN_CONFIDENCE: 55}", "unfit_config", "between 0 and 1", what="a confidence of 55"),
    manifest("config: {RESOLVER: [rules]}", "unfit_config", "auto", what="a list for the resolver"),
    manifest(
        "config: {RESET_INTENT_CODES: [RESTART]}",
        "reset_intent",
        "declare the intent",
        what="a reset intent that is not there",
        is_warning=True,
    ),
    manifest(
        "config: {RESET_INTENT_CODES: [LEAVE_MESSAGE]}",
        "reset_intent",
        "Take it out of RESET_INTENT_CODES",
        what="a form as a reset intent",
        is_warning=True,
    ),
    # Intents.
    intent("code: LEAVE_MESSAGE", "code: leave_message", "unfit_code", "capitals", what="a code in small letters"),
    intent("code: LEAVE_MESSAGE", "code: ANY", "reserved_code", "another code", what="ANY as a code"),
    intent("code: LEAVE_MESSAGE", "code: UNKNOWN", "reserved_code", "another code", what="UNKNOWN as a code"),
    intent("code: LEAVE_MESSAGE", "code: GREET", "repeated_intent", "rename one", what="a code twice"),
    intent("  - DONE", "  - DETAILS", "repeated_state", "Keep one", what="a state twice", at="  - DETAILS\n"),
    intent("  - DONE", "", "unfit_confirmation", "Add one", what="a confirming state at the end", at="- code: CONFIRM"),
    intent("  - DETAILS\n", "", "unfit_confirmation", "Add one", what="a confirming state first", at="- code: CONFIRM"),
    intent("states:", "states: []\nx-states:", "blank", "at least one", what="no states", at="states: []"),
    intent("type: REGEX", "type: REGEXP", "unfit_value", "Did you mean 'REGEX'", what="an unknown kind of rule"),
    intent(r"\b(leave|take)\b", "(leave", "unfit_pattern", "Correct it", what="a regex that does not compile"),
    intent(
        r"\b(leave|take)\b.*\bmessage\b", "(x{1,900}y){1,9}", "unfit_pattern", "several rules", what="a regex too large"
    ),
    intent(r"\b(leave|take)\b.*\bmessage\b", "(a)(?P<b>x)(?P=b)", "unfit_pattern", "Write out", what="a group again"),
    intent(r"\b(leave|take)\b.*\bmessage\b", "leave(?! me)", "unfit_pattern", "Write out", what="a look ahead"),
    intent(r"\b(leave|take)\b.*\bmessage\b", "(?<!do )leave", "unfit_pattern", "Write out", what="a look behind"),
    intent(r"\b(leave|take)\b.*\bmessage\b", r"(leave)\1", "unfit_pattern", "Write out", what="a back-reference"),
    intent(r"\b(leave|take)\b.*\bmessage\b", r"\x{fc}ber", "unfit_pattern", "letter itself", what="a hidden letter"),
    intent(r"\b(leave|take)\b.*\bmessage\b", r"\bзаказ\b", "unfit_pattern", "CONTAINS", what="an edge not Latin"),
    intent(r"\b(leave|take)\b.*\bmessage\b", "(hello)?", "unfit_pattern", "must be in", what="a regex for everything"),
    intent(r"\b(leave|take)\b.*\bmessage\b", '""', "blank", "Write something", what="an empty pattern"),
    intent("priority: 10", "state: FINISHED", "unknown_state", "add the state", what="a rule for no state"),
    intent("  - please pass this on", '  - ""', "blank", "Write something", what="an empty example"),
    intent(
        "  - please pass this on",
        "  - I want to leave a message",
        "repeated_value",
        "Keep one",
        what="an example twice",
        at="I want to leave",
    ),
    intent(
        "  - please pass this on",
        "  - Hello",
        "repeated_example",
        "Keep it where it is meant",
        what="an example of two intents",
        is_warning=True,
    ),
    intent(
        "name: Leave a message",
        "name: say hello",
        "repeated_name",
        "Tell them apart",
        what="a name twice",
        is_warning=True,
    ),
    intent(
        "name: Leave",
        "carries: [phone]\nname: Leave",
        "unknown_field",
        "the schema",
        what="a field to carry to nowhere",
        at="carries",
    ),
    intent(
        "name: Leave",
        "locales: [de]\nname: Leave",
        "unknown_locale",
        "pack.yaml",
        what="a language of its own",
        at="locales",
    ),
    intent(
        "name: Leave", "on_leave: forget\nname: Leave", "unfit_value", "keep", what="an unknown on_leave", at="on_leave"
    ),
    Kind(
        what="an intent that nothing leads to",
        change=with_file("intents/bye.yaml", "code: BYE\nname: Bye\n"),
        code="unresolvable",
        file="intents/bye.yaml",
        at="code: BYE",
        remedy="Write `examples`",
        is_warning=True,
    ),
    Kind(
        what="one rule for two intents",
        change=adding(
            "intents/greet.yaml",
            "rules:\n  - {type: REGEX, pattern: '\\b(leave|take)\\b.*\\bmessage\\b', priority: 10}",
        ),
        code="repeated_rule",
        file=INTENT,
        at="type: REGEX",
        remedy="Change one",
        is_warning=True,
    ),
    Kind(
        what="a password reset as a reset intent",
        change=lambda files: adding("pack.yaml", "  RESET_INTENT_CODES: [RESET_PASSWORD]")(
            with_file("intents/password.yaml", "code: RESET_PASSWORD\nexamples: [my password is gone]\n")(files)
        ),
        code="reset_intent",
        file="pack.yaml",
        at="RESET_INTENT_CODES",
        remedy="its name says something else",
        is_warning=True,
    ),
    # Schemas.
    Kind(
        what="a schema of no intent",
        change=lambda files: {**files, "schemas/LEAVE_MASSAGE.json": files[SCHEMA]},
        code="unknown_intent",
        file="schemas/LEAVE_MASSAGE.json",
        remedy="Did you mean 'LEAVE_MESSAGE'",
    ),
    Kind(
        what="a schema of no state",
        change=lambda files: {**files, "schemas/LEAVE_MESSAGE.OVER.json": files[SCHEMA]},
        code="unknown_state",
        file="schemas/LEAVE_MESSAGE.OVER.json",
        remedy="add the state",
    ),
    Kind(
        what="a schema with an unfit name",
        change=lambda files: {**files, "schemas/leave.json": files[SCHEMA]},
        code="unfit_code",
        file="schemas/leave.json",
        remedy="INTENT.STATE.json",
    ),
    Kind(
        what="two schemas for every state",
        change=lambda files: {**files, "schemas/LEAVE_MESSAGE.ANY.json": files[SCHEMA]},
        code="repeated_schema",
        file=SCHEMA,
        remedy="Keep one",
    ),
    schema('"required": ["message"', '"required" ["message"', "syntax", "colon", what="JSON without a colon"),
    schema('"email"]\n', '"email"],\n', "syntax", "comma", what="JSON with a comma too many", at="}"),
    schema('"required": [', '// must\n"required": [', "syntax", "no comments", what="a comment in JSON", at="// must"),
    schema('"required": [', "'required': [", "syntax", "double ones", what="single quotes in JSON"),
    schema('"required": [', "required: [", "syntax", "comma before it", what="a JSON key without quotes"),
    schema(
        '"maxLength": 1000', '"maxLenght": 1000', "unfit_schema", "Did you mean 'maxLength'", what="a keyword misspelt"
    ),
    schema('"title": "Message"', '"titel": "X"', "unfit_schema", "Did you mean 'title'", what="a remark misspelt"),
    schema('"maxLength": 1000', '"minimum": 1', "unfit_schema", "means nothing for", what="a keyword of another type"),
    Kind(
        what="a form without fields",
        change=with_file(SCHEMA, '{"type": "object", "properties": {}}'),
        code="unfit_schema",
        file=SCHEMA,
        remedy="at least one field",
    ),
    schema('"maxLength": 1000', '"maxLength": NaN', "syntax", "a number", what="NaN"),
    schema('"maxLength": 1000', '"maxLength": 1e999', "unfit_number", "smaller", what="a number beyond all numbers"),
    schema('"What shall I pass on?",', '"What shall', "syntax", "quotes", what="a text without an end"),
    schema('"maxLength": 1000', '"type": "integer"', "repeated_key", "Keep one", what="a JSON key twice"),
    schema('"message": {', '"reset": {', "reserved_field", "call the field otherwise", what="a reserved name"),
    schema(
        '"type": "object"',
        '"type": "array"',
        "unfit_schema",
        "object",
        what="a form that is no object",
        at='{\n  "type": "array"',
    ),
    schema('"maxLength": 1000', '"maxLength": "many"', "unfit_schema", "Write it", what="no JSON Schema"),
    schema('"maxLength": 1000', '"format": "e-mail"', "unfit_schema", "email", what="an unknown format"),
    schema('"maxLength": 1000', '"oneOf": []', "unfit_schema", "draft 2020-12", what="an empty choice of schemas"),
    schema(
        '"required": ["message"',
        '"required": ["massage"',
        "unfit_schema",
        "properties",
        what="a required field that is none",
    ),
    Kind(
        what="text behind the end of JSON",
        change=adding(SCHEMA, "over"),
        code="syntax",
        file=SCHEMA,
        at="over",
        remedy="Take it away",
    ),
    # Responses.
    more_responses(
        "- intent: GRET\n  text: x",
        "unknown_intent",
        "Did you mean 'GREET'",
        what="a response for no intent",
        at="GRET\n",
    ),
    more_responses(
        "- intent: GREET\n  state: GONE\n  text: x",
        "unknown_state",
        "START",
        what="a response for no state",
        at="state: GONE",
    ),
    more_responses(
        "- state: GONE\n  text: x",
        "unknown_state",
        "Did you mean 'DONE'",
        what="any intent in a state that none has",
        at="state: GONE",
    ),
    more_responses(
        "- intent: UNKNOWN\n  state: DONE\n  text: x",
        "unknown_state",
        "Leave `state` out",
        what="a state of no intent",
        at="state: DONE",
    ),
    more_responses(
        "- intent: GREET\n  text: x",
        "repeated_response",
        "another locale",
        what="a response twice",
        at="- intent: GREET\n  text: x",
    ),
    more_responses(
        "- state: DONE\n  agent: true\n  text: x",
        "unfit_response",
        "Keep `text`",
        what="two who speak",
        at="agent: true\n  text",
    ),
    more_responses("- state: DONE", "unfit_response", "agent: true", what="nobody who speaks", at="- state: DONE"),
    more_responses(
        "- state: DONE\n  text: x\n  hint: y", "unfit_response", "Take it away", what="a hint for nobody", at="hint: y"
    ),
    more_responses(
        "- state: DONE\n  text: x\n  locale: de",
        "unknown_locale",
        "pack.yaml",
        what="a language the pack lacks",
        at="locale: de",
    ),
    response('"To {e_mail}?"', "unknown_variable", "Did you mean 'email'", what="an unknown variable"),
    response('"To {email.host}?"', "unknown_variable", "email", what="a field in a text"),
    response('"To {params}?"', "unknown_variable", "params.NAME", what="all params at once"),
    response('"{missing.x}?"', "unknown_variable", "missing", what="a look inside a variable"),
    response('"To {email?"', "unfit_variable", "The brace of '{email' is not closed", what="a brace left open"),
    response('"To email}?"', "unfit_variable", "doubled", what="a brace too many"),
    response('"To {}?"', "unfit_variable", "Write a name", what="braces around nothing"),
    response('"To {email[0]}?"', "unfit_variable", "without brackets", what="an index"),
    response('"To {email.__class__}?"', "unknown_variable", "email", what="a look inside"),
    response('"To {email!r}?"', "unfit_variable", "without brackets", what="a conversion"),
    response('"To {email:>10}?"', "unfit_variable", "without brackets", what="a format"),
    Kind(
        what="a text that may have a hole",
        change=saying(SCHEMA, '"required": ["message", "email"]', '"required": ["message"]'),
        code="may_be_empty",
        file=RESPONSES,
        at="""'I will pass on""",
        remedy="email is not required",
        is_warning=True,
    ),
    Kind(
        what="responses that are no list",
        change=with_file(RESPONSES, "intent: GREET\ntext: x\n"),
        code="wrong_type",
        file=RESPONSES,
        remedy="'- '",
    ),
    # Knowledge.
    Kind(
        what="units that are none",
        change=with_file("knowledge/facts.units", "\nnonsense\n"),
        code="unfit_units",
        file="knowledge/facts.units",
        at="nonsense",
        remedy="units check",
    ),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_of_malformed_pack_is_told_with_file_line_and_remedy(kind: Kind) -> None:
    files = kind.change(STARTER)

    pack, faults = read_pack(files)

    told = [fault for fault in faults if (fault.file, fault.code) == (kind.file, kind.code)]
    assert told, f"only {faults}"
    assert kind.remedy in told[0].message
    assert told[0].line == line_of(kind.at, files.get(kind.file, ""))
    assert told[0].is_warning == kind.is_warning
    assert (pack is not None) == all(fault.is_warning for fault in faults)


def test_there_are_more_than_forty_kinds() -> None:
    assert len({kind.what for kind in KINDS}) == len(KINDS) > 40


def test_every_code_of_a_fault_in_the_text_is_among_the_kinds() -> None:
    of_archives = {"cannot_read", "not_an_archive", "broken_archive", "unsafe_name", "link", "repeated_file"}
    of_sizes = {"too_many_files", "too_large", "not_text", "more_faults"}

    assert set(PackFaultCode) - {kind.code for kind in KINDS} == of_archives | of_sizes


def test_a_kind_alone_does_not_blame_what_is_right() -> None:
    """What refers to something that could not be read is not told as well."""
    files = saying(INTENT, "name: Leave", "\tname: Leave")(STARTER)

    _, faults = read_pack(files)

    assert [(fault.file, fault.code) for fault in faults] == [(INTENT, "syntax")]


def test_a_code_in_small_letters_is_told_once_and_never_advised() -> None:
    files = saying(INTENT, "code: LEAVE_MESSAGE", "code: leave_message")(STARTER)

    _, faults = read_pack(files)

    assert [(fault.file, fault.code) for fault in faults] == [(INTENT, "unfit_code")]


def test_a_state_in_small_letters_is_told_once() -> None:
    files = saying(INTENT, "- DONE", "- done")(STARTER)

    _, faults = read_pack(files)

    assert [(fault.file, fault.code) for fault in faults] == [(INTENT, "unfit_code")]


def test_responses_to_codes_in_small_letters_are_not_taken_for_the_same() -> None:
    files = adding(RESPONSES, "- intent: greet\n  text: x\n- intent: leave_message\n  text: y")(STARTER)

    _, faults = read_pack(files)

    assert [fault.code for fault in faults] == ["unfit_code", "unfit_code"]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ('"To {nobody}?"', 13),
        ("'To {nobody}?'", 13),
        ("To {nobody}?", 12),
        (r'"\u0054o {nobody}?"', 9),
        (">-\n    To {nobody}?", 9),
    ],
)
def test_a_variable_is_told_where_it_stands_and_in_a_longer_text_where_that_begins(text: str, column: int) -> None:
    files = {**STARTER, RESPONSES: f"- intent: GREET\n  text: {text}\n"}

    (fault,) = read_pack(files)[1]

    assert (fault.line, fault.column, fault.code) == (2, column, "unknown_variable")


def test_a_field_in_a_field_is_certain_only_when_both_are_required() -> None:
    """A hint is no text: the agent sees what is missing."""
    whole = '{"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}, '
    half = f'{whole}"required": ["b"]}}}}}}'
    texts = '- intent: LEAVE_MESSAGE\n  text: "{a.b} {question} {params.x}"\n- intent: GREET\n  agent: true\n'
    files = {**STARTER, SCHEMA: half, RESPONSES: f"{texts}- intent: LEAVE_MESSAGE\n  state: DONE\n  agent: true\n"}

    pack, faults = read_pack({**files, RESPONSES: f'{files[RESPONSES]}  hint: "{{a.b}}"\n'})
    certain = read_pack({**files, SCHEMA: f'{half[:-1]}, "required": ["a"]}}'})[1]

    assert pack is not None
    assert [(fault.line, fault.column, fault.code) for fault in faults] == [(2, 10, "may_be_empty")]
    assert certain == ()


def test_all_faults_of_all_files_come_at_once_in_the_order_of_file_and_line() -> None:
    files = dict(BOOKING)
    for change in (
        saying("pack.yaml", "region: GB", "region: UK"),
        saying("pack.yaml", "locales: [en]", "locales: [english]"),
        saying("intents/book_table.yaml", "priority: 20", "priority: x"),
        saying("intents/small.yaml", "code: OPENING_HOURS", "code: Opening"),
        saying("schemas/BOOK_TABLE.json", '"party_size": {', '"params": {'),
        saying("responses/voucher.yaml", "{menus}", "{menues}"),
        with_file("extra.txt", "x"),
    ):
        files = change(files)

    pack, faults = read_pack(files)

    assert pack is None
    assert [(fault.file, fault.code) for fault in faults if fault.file != "schemas/BOOK_TABLE.json"] == [
        ("extra.txt", "misplaced_file"),
        ("intents/book_table.yaml", "wrong_type"),
        ("intents/small.yaml", "unfit_code"),
        ("pack.yaml", "unfit_value"),
        ("pack.yaml", "unfit_value"),
        ("responses/small.yaml", "unknown_intent"),
        ("responses/voucher.yaml", "unknown_variable"),
    ]
    assert "reserved_field" in {fault.code for fault in faults}
    assert list(faults) == sorted(faults, key=lambda fault: (fault.file, fault.line, fault.column))


def test_of_very_many_faults_the_first_are_told_and_how_many_there_are() -> None:
    files = {**STARTER, "responses/many.yaml": "- intent: NOBODY\n  text: '{x}{y}'\n" * 30_000}

    pack, faults = read_pack(files)

    assert pack is None
    assert len(faults) == MOST_FAULTS + 1
    assert faults[-1].code == "more_faults"


def test_a_fault_is_told_to_programs_with_all_that_it_knows() -> None:
    (fault,) = read_pack(saying(INTENT, "priority: 10", "priority: -1")(STARTER))[1]

    assert fault.as_detail() == {
        "file": INTENT,
        "line": 13,
        "column": 15,
        "pointer": "/rules/0/priority",
        "code": "unfit_value",
        "message": "-1 does not fit. Write a whole number from 0 to 10,000.",
        "is_warning": False,
    }
    assert str(fault).startswith(f"{INTENT}:13:15: -1 does not fit.")


def line_of(marker: str | None, text: str) -> int:
    """The line in which the marker begins; the first one without a marker."""
    return 1 if marker is None else text.count("\n", 0, text.rindex(marker)) + 1
