"""What a text says once it was read: units, and the other objects and links that may stand around them."""

from dataclasses import dataclass
from enum import StrEnum

from turnkeeper.model.ids import UnitId
from turnkeeper.model.unit import Unit


class DocumentKind(StrEnum):
    """What a text is for: `context` holds units, `intent` holds what is wanted, `mixed` both."""

    CONTEXT = "context"
    INTENT = "intent"
    MIXED = "mixed"


class ObjectKind(StrEnum):
    """What a constructor makes; its command has the same name."""

    UNIT = "ku"
    INTENT = "intent"
    SEED = "seed"
    SUBPROBLEM = "subproblem"
    PLUGIN = "plugin"
    VALIDATION = "validate"
    POLICY = "policy"
    OBJECTIVE = "objective"
    CANDIDATE = "candidate"
    COMPARISON = "compare"
    CHALLENGE = "challenge"
    BRANCH = "branch"
    RESULT = "result_record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref:
    """Points at an object of the document by its name, or at a frame outside of it."""

    name: str


Value = str | int | float | tuple[str, ...]
Said = str | Ref | tuple[Ref, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextObject:
    """What a constructor other than `ku` has made. Its name is its kind and a number: `intent1`, `seed2`."""

    name: str
    kind: ObjectKind
    arguments: tuple[Said, ...]
    fields: tuple[tuple[str, Value], ...] = ()

    def get(self, field: str) -> Value | None:
        """What was set, or what holds when nothing was: a seed is active until it is said otherwise."""
        unsaid = "active" if (self.kind, field) == (ObjectKind.SEED, "state") else None
        return dict(self.fields).get(field, unsaid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A statement about objects that are there: `needs`, `describes`, `status` and their like."""

    command: str
    arguments: tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text without its faults. References call the units k1, k2 and so on, in their order."""

    units: tuple[Unit, ...] = ()
    objects: tuple[TextObject, ...] = ()
    links: tuple[Link, ...] = ()

    def of_kind(self, kind: ObjectKind) -> tuple[TextObject, ...]:
        return tuple(thing for thing in self.objects if thing.kind is kind)


def children_by_parent(units: tuple[Unit, ...]) -> dict[UnitId, tuple[UnitId, ...]]:
    """Which units of a document name this one as a parent, in the order of the document and each once."""
    children: dict[UnitId, dict[UnitId, None]] = {}
    for unit in units:
        for parent in unit.parent_ids:
            children.setdefault(parent, {})[unit.id] = None
    return {parent: tuple(ids) for parent, ids in children.items()}
