"""The words of the language: every command with its arguments, and every field with what it takes."""

from dataclasses import dataclass
from enum import StrEnum

from turnkeeper.knowledge.text_form.document import DocumentKind, ObjectKind
from turnkeeper.knowledge.text_form.statements import Written
from turnkeeper.model.unit import PhaseScope, UnitKind

SCALAR = frozenset({Written.ATOM, Written.STRING})
PLUGIN_TYPES = ("sd-plugin", "kb-plugin", "gs-plugin", "val-plugin", "mrp-plan-plugin")
ANYTHING = frozenset(ObjectKind)
ALL_BUT_UNITS = ANYTHING - {ObjectKind.UNIT}
WISHES = frozenset({ObjectKind.INTENT, ObjectKind.SEED, ObjectKind.SUBPROBLEM})

SCOPE_ALIASES = {
    "seed": PhaseScope.SEED,
    "seed-detector": PhaseScope.SEED,
    "planner": PhaseScope.PLAN,
    "kb": PhaseScope.KNOWLEDGE,
    "retrieval": PhaseScope.KNOWLEDGE,
    "output": PhaseScope.SOLVE,
    "answer": PhaseScope.SOLVE,
    "goal-solver": PhaseScope.SOLVE,
    "decomposition": PhaseScope.FRAME,
    "validation": PhaseScope.VALIDATE,
    "validator": PhaseScope.VALIDATE,
}
"""Other names of a scope that are understood, and never written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a command. `refers_to` says what a reference may point at; a frame lies outside the document."""

    name: str
    written: frozenset[Written]
    refers_to: frozenset[ObjectKind] = frozenset()
    may_be: tuple[str, ...] = ()
    is_frame: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    parameters: tuple[Parameter, ...]
    makes: ObjectKind | None = None


class Takes(StrEnum):
    """What a field holds."""

    TEXT = "text"
    TEXTS = "a list of texts"
    NUMBER = "a number"
    WHOLE_NUMBER = "a whole number"
    CONFIDENCE = "a number from 0 to 1"
    ROLE = "a role"
    RELATION = "a relation"
    ACTS = "a list of acts"
    SCOPES = "a list of phase scopes"
    LIFETIME = "a lifetime"
    UNIT = "a unit"
    UNITS = "a list of units"

    @property
    def is_list(self) -> bool:
        return self in (Takes.TEXTS, Takes.ACTS, Takes.SCOPES, Takes.UNITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitField:
    """`attribute` is its name on a Unit. Prose is always written in quotes, so that it looks the same everywhere."""

    name: str
    attribute: str
    takes: Takes = Takes.TEXT
    is_prose: bool = False
    is_required: bool = False


def _atom(name: str, *may_be: str) -> Parameter:
    return Parameter(name=name, written=frozenset({Written.ATOM}), may_be=may_be)


def _string(name: str) -> Parameter:
    return Parameter(name=name, written=frozenset({Written.STRING}))


def _scalar(name: str) -> Parameter:
    return Parameter(name=name, written=SCALAR)


def _ref(name: str, *kinds: ObjectKind, among: frozenset[ObjectKind] = frozenset()) -> Parameter:
    return Parameter(name=name, written=frozenset({Written.REFERENCE}), refers_to=among | frozenset(kinds))


def _refs(name: str, *kinds: ObjectKind, among: frozenset[ObjectKind] = frozenset()) -> Parameter:
    return Parameter(name=name, written=frozenset({Written.LIST}), refers_to=among | frozenset(kinds))


_FRAME = Parameter(name="frame", written=frozenset({Written.REFERENCE}), is_frame=True)
_UNIT = _ref("unit", ObjectKind.UNIT)
_INTENT = _ref("intent", ObjectKind.INTENT)

_CONSTRUCTORS: dict[ObjectKind, tuple[Parameter, ...]] = {
    ObjectKind.UNIT: (_atom("kuType", *UnitKind), _string("id")),
    ObjectKind.INTENT: (_atom("act"), _string("target")),
    ObjectKind.SEED: (_INTENT, _atom("mode"), _atom("action"), _string("focus")),
    ObjectKind.SUBPROBLEM: (_INTENT, _string("goal")),
    ObjectKind.PLUGIN: (_atom("type", *PLUGIN_TYPES), _atom("id")),
    ObjectKind.VALIDATION: (_atom("mode"),),
    ObjectKind.POLICY: (
        _FRAME,
        _atom("level"),
        _atom("closureMode"),
        _atom("maxFrontier"),
        _atom("minFamilies"),
        _atom("maxComparisons"),
        _atom("validationFloor"),
    ),
    ObjectKind.OBJECTIVE: (_FRAME, _refs("wishes", among=WISHES)),
    ObjectKind.CANDIDATE: (
        _FRAME,
        _ref("branch", ObjectKind.BRANCH),
        _ref("result", ObjectKind.RESULT),
        _atom("strength"),
    ),
    ObjectKind.COMPARISON: (_FRAME, _refs("candidates", ObjectKind.CANDIDATE), _string("summary")),
    ObjectKind.CHALLENGE: (_FRAME, _ref("candidate", ObjectKind.CANDIDATE), _string("goal"), _atom("severity")),
    ObjectKind.BRANCH: (_INTENT, _ref("seed", ObjectKind.SEED), _ref("plugin", ObjectKind.PLUGIN)),
    ObjectKind.RESULT: (_atom("kind"),),
}

_SOMETHING = (_ref("object", among=ANYTHING), _ref("other", among=ANYTHING))

COMMANDS: dict[str, Command] = {
    **{kind.value: Command(parameters=parameters, makes=kind) for kind, parameters in _CONSTRUCTORS.items()},
    "set": Command(
        parameters=(
            _ref("object", among=ANYTHING),
            _atom("field"),
            Parameter(name="value", written=frozenset(Written)),
        )
    ),
    "parent": Command(parameters=(_UNIT, _ref("parent", ObjectKind.UNIT))),
    "derived_from": Command(parameters=(_UNIT, _ref("origin", ObjectKind.UNIT))),
    "describes": Command(parameters=(_UNIT, _ref("plugin", ObjectKind.PLUGIN))),
    "constrain": Command(parameters=(_ref("object", among=ALL_BUT_UNITS), _scalar("constraint"))),
    "allows": Command(parameters=(_ref("object", among=ALL_BUT_UNITS), _atom("what"))),
    "needs": Command(parameters=_SOMETHING),
    "uses": Command(parameters=_SOMETHING),
    "supports": Command(parameters=_SOMETHING),
    "split_from": Command(parameters=(_ref("object", among=WISHES), _ref("origin", among=WISHES))),
    "result": Command(parameters=(_ref("branch", ObjectKind.BRANCH), _ref("result", ObjectKind.RESULT))),
    "status": Command(parameters=(_ref("object", among=ALL_BUT_UNITS), _atom("state"))),
    "fail": Command(parameters=(_ref("branch", ObjectKind.BRANCH), _scalar("reason"))),
    "deactivate": Command(parameters=(_ref("seed", ObjectKind.SEED), _scalar("reason"))),
}

_OF_UNITS_ALONE = frozenset({"ku", "parent", "derived_from", "describes"})
ALLOWED_IN: dict[DocumentKind, frozenset[str]] = {
    DocumentKind.MIXED: frozenset(COMMANDS),
    DocumentKind.CONTEXT: _OF_UNITS_ALONE | {"set", "plugin"},
    DocumentKind.INTENT: frozenset(COMMANDS) - _OF_UNITS_ALONE,
}

# In the order in which they are written.
UNIT_FIELDS: dict[str, UnitField] = {
    field.name: field
    for field in (
        UnitField(name="sourceId", attribute="source_id", is_required=True),
        UnitField(name="sourceName", attribute="source_name", is_prose=True),
        UnitField(name="sourceType", attribute="source_type"),
        UnitField(name="author", attribute="author", is_prose=True),
        UnitField(name="chunkId", attribute="chunk_id", is_required=True),
        UnitField(name="chunkIndex", attribute="chunk_index", takes=Takes.WHOLE_NUMBER),
        UnitField(name="unitIndex", attribute="unit_index", takes=Takes.WHOLE_NUMBER),
        UnitField(name="unitType", attribute="unit_type"),
        UnitField(name="textBody", attribute="text_body", is_prose=True),
        UnitField(name="title", attribute="title", is_prose=True),
        UnitField(name="role", attribute="role", takes=Takes.ROLE, is_required=True),
        UnitField(name="topic", attribute="topic", is_prose=True, is_required=True),
        UnitField(name="claim", attribute="claim", is_prose=True),
        UnitField(name="condition", attribute="condition", is_prose=True),
        UnitField(name="procedure", attribute="procedure", is_prose=True),
        UnitField(name="charStart", attribute="char_start", takes=Takes.WHOLE_NUMBER),
        UnitField(name="charEnd", attribute="char_end", takes=Takes.WHOLE_NUMBER),
        UnitField(name="createdAt", attribute="created_at"),
        UnitField(name="ingestedAt", attribute="ingested_at"),
        UnitField(name="knowledgeDate", attribute="knowledge_date"),
        UnitField(name="chunkType", attribute="chunk_type"),
        UnitField(name="sectionTitle", attribute="section_title", is_prose=True),
        UnitField(name="symbolicSubject", attribute="subject"),
        UnitField(name="symbolicRelation", attribute="relation", takes=Takes.RELATION),
        UnitField(name="symbolicObject", attribute="object"),
        UnitField(name="confidence", attribute="confidence", takes=Takes.CONFIDENCE),
        UnitField(name="utilityActs", attribute="acts", takes=Takes.ACTS),
        UnitField(name="phaseScopes", attribute="phase_scopes", takes=Takes.SCOPES),
        UnitField(name="utilityNote", attribute="note", is_prose=True),
        UnitField(name="hash", attribute="hash"),
        UnitField(name="lifetime", attribute="lifetime", takes=Takes.LIFETIME),
        UnitField(name="slot", attribute="slot"),
        UnitField(name="supersedes", attribute="supersedes", takes=Takes.UNIT),
        UnitField(name="parentUnitIds", attribute="parent_ids", takes=Takes.UNITS),
        UnitField(name="derivedFromUnitIds", attribute="derived_from_ids", takes=Takes.UNITS),
        UnitField(name="childUnitIds", attribute="child_ids", takes=Takes.UNITS),
    )
}
TRIPLE = ("symbolicSubject", "symbolicRelation", "symbolicObject")


def _texts(*names: str) -> dict[str, Takes]:
    return dict.fromkeys(names, Takes.TEXT)


_PLUGIN_LISTS = (
    "acceptsTasks",
    "acceptsModes",
    "acceptsKinds",
    "acceptsStatuses",
    "rejectsKinds",
    "rejectsRules",
    "outputs",
    "validates",
)

FIELDS: dict[ObjectKind, dict[str, Takes]] = {
    ObjectKind.UNIT: {field.name: field.takes for field in UNIT_FIELDS.values()},
    ObjectKind.INTENT: _texts("context", "criterion", "evidence", "output", "outputLabel"),
    ObjectKind.SEED: _texts("domain", "evidenceNeed", "state", "priority"),
    ObjectKind.SUBPROBLEM: _texts("reason", "successSignal"),
    ObjectKind.PLUGIN: {
        **_texts("name", "description"),
        **dict.fromkeys(_PLUGIN_LISTS, Takes.TEXTS),
        **_texts("cost"),
    },
    ObjectKind.VALIDATION: _texts("strength", "partialAllowed", "preserveConstraints"),
    ObjectKind.POLICY: _texts("validationFloor"),
    ObjectKind.OBJECTIVE: {},
    ObjectKind.CANDIDATE: {"score": Takes.NUMBER, **_texts("selected")},
    ObjectKind.COMPARISON: _texts("status", "summary", "criterion"),
    ObjectKind.CHALLENGE: _texts("status", "resolution", "severity"),
    ObjectKind.BRANCH: _texts("status", "failureReason"),
    ObjectKind.RESULT: _texts("validationStatus", "preservesConstraints", "structuralComplete", "body"),
}
EVERY_FIELD = frozenset(name for fields in FIELDS.values() for name in fields)

REQUIRED: dict[ObjectKind, tuple[str, ...]] = {
    ObjectKind.UNIT: tuple(field.name for field in UNIT_FIELDS.values() if field.is_required),
    ObjectKind.INTENT: ("output",),
    ObjectKind.VALIDATION: ("strength", "partialAllowed", "preserveConstraints"),
}

# What has come to one of these has no later status.
ENDS = frozenset({"succeeded", "failed", "deactivated"})
