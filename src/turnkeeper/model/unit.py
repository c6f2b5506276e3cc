"""A reusable fact, constraint, definition or guidance, from a turn or a knowledge base."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import RunId, UnitId


class UnitKind(StrEnum):
    ATOMIC = "atomic"
    COMPOSITE = "composite"
    AGGREGATE = "aggregate"


class UnitRole(StrEnum):
    COMPARISON = "Comparison"
    EXPLANATION = "Explanation"
    PROCEDURE = "Procedure"
    DEFINITION = "Definition"
    EVALUATION = "Evaluation"
    DIAGNOSTIC = "Diagnostic"
    CONSTRAINT = "Constraint"
    NARRATIVE = "Narrative"
    DESCRIPTION = "Description"


class Act(StrEnum):
    """What a unit helps to do, and what a question asks to be done."""

    COMPARE = "compare"
    EXPLAIN = "explain"
    RECOMMEND = "recommend"
    DIAGNOSE = "diagnose"
    IMPLEMENT = "implement"
    VERIFY = "verify"
    DEFINE = "define"
    EVALUATE = "evaluate"
    IDENTIFY = "identify"
    DESCRIBE = "describe"


class PhaseScope(StrEnum):
    """Which part of a turn a unit is for: KNOWLEDGE is evidence, all others are guidance."""

    SEED = "sd-plugin"
    PLAN = "mrp-plan-plugin"
    KNOWLEDGE = "kb-plugin"
    SOLVE = "gs-plugin"
    FRAME = "frame"
    VALIDATE = "val-plugin"


class Relation(StrEnum):
    USES = "uses"
    PROVIDES = "provides"
    HAS_CAPABILITY = "has_capability"
    DEPENDS_ON = "depends_on"
    PART_OF = "part_of"
    INSTANCE_OF = "instance_of"
    RELEVANT_FOR = "relevant_for"
    SUPPORTS = "supports"
    MENTIONS = "mentions"
    ABOUT = "about"
    CAUSES = "causes"


class Lifetime(StrEnum):
    """How long a unit is of use: for this one turn, or for the rest of the epoch."""

    TURN = "turn"
    SESSION = "session"


class UnitStatus(StrEnum):
    """Only a committed unit is in reach of a turn. `pushed_out` ones gave way when the session held too many."""

    COMMITTED = "committed"
    SUPERSEDED = "superseded"
    PUSHED_OUT = "pushed_out"
    FORGOTTEN = "forgotten"


ACTS_OF_ROLE = {
    UnitRole.COMPARISON: (Act.COMPARE,),
    UnitRole.EXPLANATION: (Act.EXPLAIN,),
    UnitRole.PROCEDURE: (Act.IMPLEMENT,),
    UnitRole.DEFINITION: (Act.DEFINE,),
    UnitRole.EVALUATION: (Act.EVALUATE,),
    UnitRole.DIAGNOSTIC: (Act.DIAGNOSE,),
    UnitRole.CONSTRAINT: (Act.VERIFY,),
    UnitRole.NARRATIVE: (Act.EXPLAIN, Act.DESCRIBE),
    UnitRole.DESCRIPTION: (Act.DESCRIBE,),
}
"""The acts of a unit that names none itself. An empty list given on purpose stays empty."""

ROLES_FOR_ACT = {
    Act.COMPARE: (UnitRole.COMPARISON, UnitRole.EVALUATION),
    Act.EXPLAIN: (UnitRole.EXPLANATION, UnitRole.DIAGNOSTIC, UnitRole.NARRATIVE),
    Act.RECOMMEND: (UnitRole.COMPARISON, UnitRole.EVALUATION, UnitRole.PROCEDURE),
    Act.DIAGNOSE: (UnitRole.DIAGNOSTIC, UnitRole.EXPLANATION),
    Act.IMPLEMENT: (UnitRole.PROCEDURE, UnitRole.CONSTRAINT),
    Act.VERIFY: (UnitRole.CONSTRAINT, UnitRole.DEFINITION),
    Act.DEFINE: (UnitRole.DEFINITION, UnitRole.EXPLANATION),
    Act.EVALUATE: (UnitRole.EVALUATION, UnitRole.COMPARISON, UnitRole.NARRATIVE),
    Act.IDENTIFY: (UnitRole.NARRATIVE, UnitRole.DESCRIPTION, UnitRole.DEFINITION),
    Act.DESCRIBE: (UnitRole.DESCRIPTION, UnitRole.NARRATIVE, UnitRole.EXPLANATION),
}
"""Which roles answer best when this act is asked for."""

LARGEST_COUNT = 2**63 - 1
"""Indexes and places in a source count from 0 to here, so that every store and every JSON reader holds them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What is known, without its fate: a claim, or for a Procedure its steps.

    A unit with a `slot` gives the value of something that has one value at a time ("port of the staging server");
    a later unit in the same slot takes its place. `supersedes` names a unit that this one corrects.
    """

    id: UnitId
    source_id: str
    chunk_id: str
    role: UnitRole
    topic: str
    kind: UnitKind = UnitKind.ATOMIC
    claim: str | None = None
    procedure: str | None = None
    condition: str | None = None
    title: str | None = None
    text_body: str | None = None
    acts: tuple[Act, ...] | None = None
    note: str | None = None
    phase_scopes: tuple[PhaseScope, ...] = (PhaseScope.KNOWLEDGE,)
    subject: str | None = None
    relation: Relation | None = None
    object: str | None = None
    confidence: float | None = None
    hash: str | None = None
    source_name: str | None = None
    source_type: str | None = None
    author: str | None = None
    ingested_at: str | None = None
    knowledge_date: str | None = None
    chunk_index: int | None = None
    unit_index: int | None = None
    char_start: int | None = None
    char_end: int | None = None
    unit_type: str | None = None
    chunk_type: str | None = None
    section_title: str | None = None
    created_at: str | None = None
    parent_ids: tuple[UnitId, ...] = ()
    child_ids: tuple[UnitId, ...] = ()
    derived_from_ids: tuple[UnitId, ...] = ()
    lifetime: Lifetime = Lifetime.SESSION
    slot: str | None = None
    supersedes: UnitId | None = None

    def __post_init__(self) -> None:
        if not (self.id and self.source_id and self.chunk_id and self.topic):
            raise ValueError("a Unit needs an id, a source, a chunk and a topic")
        is_procedure = self.role is UnitRole.PROCEDURE
        if (self.procedure is not None) != is_procedure or (self.claim is None) != is_procedure:
            raise ValueError("a Procedure has a procedure and no claim; every other Unit has a claim and no procedure")
        triple = (self.subject, self.relation, self.object)
        if any(part is None for part in triple) != all(part is None for part in triple):
            raise ValueError("subject, relation and object of a Unit come together or not at all")
        if self.confidence is not None and (self.relation is None or not 0 <= self.confidence <= 1):
            raise ValueError("the confidence of a Unit belongs to its triple and lies between 0 and 1")
        if not self.phase_scopes or len(set(self.phase_scopes)) != len(self.phase_scopes):
            raise ValueError("a Unit has at least one phase scope, and each at most once")
        counts = (self.chunk_index, self.unit_index, self.char_start, self.char_end)
        if any(count is not None and not 0 <= count <= LARGEST_COUNT for count in counts):
            raise ValueError("the indexes and places of a Unit are counted from 0, in 63 bits")

    @property
    def given(self) -> dict[str, Any]:
        """The fields that say something; most of most units do not."""
        return {name: value for name in _DEFAULTS if (value := getattr(self, name)) != _DEFAULTS[name]}

    @property
    def content(self) -> str:
        """What it says: its claim, or the steps of a Procedure."""
        return self.claim if self.claim is not None else self.procedure or ""

    @property
    def more(self) -> str:
        """What else it can be found by, beside its topic and its content."""
        said = (self.title, self.condition, self.note, self.section_title, self.subject, self.object, self.text_body)
        return "\n".join(part for part in said if part)

    @property
    def helps_to(self) -> tuple[Act, ...]:
        """Its acts; where it names none itself, those of its role."""
        return ACTS_OF_ROLE[self.role] if self.acts is None else self.acts

    @property
    def is_evidence(self) -> bool:
        return PhaseScope.KNOWLEDGE in self.phase_scopes

    @property
    def is_guidance(self) -> bool:
        return any(scope is not PhaseScope.KNOWLEDGE for scope in self.phase_scopes)

    def with_relatives(self, kept_as: Mapping[UnitId, UnitId]) -> "Unit":
        """The unit with the new ids of those that it names; an id that is not in `kept_as` stays as it is."""
        named = (self.parent_ids, self.child_ids, self.derived_from_ids)
        if not any(named):
            return self
        parents, children, origins = (tuple(dict.fromkeys(kept_as.get(id, id) for id in ids)) for ids in named)
        return replace(self, parent_ids=parents, child_ids=children, derived_from_ids=origins)

    def guides(self, scope: PhaseScope) -> bool:
        return scope is not PhaseScope.KNOWLEDGE and scope in self.phase_scopes


_DEFAULTS = {each.name: each.default for each in fields(Unit)}

# Where a unit comes from is not for a person to say.
PROVENANCE = {
    *("id", "kind", "source_id", "chunk_id", "hash", "source_name", "source_type", "author", "ingested_at"),
    *("chunk_index", "unit_index", "char_start", "char_end", "unit_type", "chunk_type", "section_title", "created_at"),
    *("parent_ids", "child_ids", "derived_from_ids", "supersedes", "lifetime"),
}
EDITABLE = frozenset(_DEFAULTS.keys() - PROVENANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptUnit:
    """A unit in a session or a knowledge base, and what became of it. A forgotten one has no content left."""

    id: UnitId
    unit: Unit | None
    status: UnitStatus
    epoch: int
    turn: int | None
    run_id: RunId | None
    kept_at: datetime
    superseded_by: UnitId | None = None

    def __post_init__(self) -> None:
        if (self.unit is None) != (self.status is UnitStatus.FORGOTTEN):
            raise ValueError("a KeptUnit has no content exactly when it is forgotten")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPlace:
    """Where units are kept: `session::<turn>` of a chat, or what else brought them; in its session it never repeats."""

    chunk_id: str
    at: datetime
    source_id: str = "session"
    source_type: str = "chat-turn"
    source_name: str | None = None

    def put(self, unit: Unit, index: int) -> Unit:
        """The unit with the id under which it is kept, and where it comes from."""
        return replace(
            unit,
            id=UnitId(f"{self.chunk_id}::unit-{index:03d}"),
            source_id=self.source_id,
            chunk_id=self.chunk_id,
            source_type=self.source_type,
            source_name=self.source_name or unit.source_name,
            unit_index=index,
            created_at=self.at.isoformat(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedUnit:
    """A staged unit that was not kept: `known` already, `corrected` at once, for its `turn` only, or one `too_many`."""

    unit: Unit
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitChanges:
    """What a turn or a command changes in the units of a session.

    `superseded` pairs a kept unit with the one that takes its place. `forgotten` loses its content for good.
    `pushed_out` are the oldest, where there were too many. `kept_as` tells under which id a staged unit is kept.
    """

    added: tuple[Unit, ...] = ()
    superseded: tuple[tuple[UnitId, UnitId], ...] = ()
    pushed_out: tuple[UnitId, ...] = ()
    forgotten: tuple[UnitId, ...] = ()
    dropped: tuple[DroppedUnit, ...] = ()
    kept_as: Mapping[UnitId, UnitId] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.superseded or self.pushed_out or self.forgotten)

    @property
    def gone(self) -> tuple[UnitId, ...]:
        """What is out of reach from now on."""
        return (*(old for old, _ in self.superseded), *self.pushed_out, *self.forgotten)

    def applied_to(self, units: tuple[Unit, ...]) -> tuple[Unit, ...]:
        """What a client carries afterwards: only what is still in reach."""
        gone = set(self.gone)
        return tuple(unit for unit in units if unit.id not in gone) + self.added
