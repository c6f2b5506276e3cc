"""How far a form has come: the one place that computes what is missing, and the one way to put an answer into it.

Complete means nothing is missing, and exactly then all that is held is valid by the schema. An answer is judged before
it is kept, by itself, so that a bad one harms no other.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from turnkeeper.intent.coercing import coerced
from turnkeeper.intent.faults import in_words
from turnkeeper.intent.form import Field, Form, Kind, form_of
from turnkeeper.intent.rendering import value_at
from turnkeeper.intent.validators import validator_of
from turnkeeper.model.pack import JsonSchema
from turnkeeper.model.plain_text import is_plain_text

UNKNOWN_FIELD = "unknown"
NO_ANSWER = "blank"
_DEEPEST_VALUE = 20
_LARGEST = 2**63


class Cleared(Enum):
    CLEARED = "cleared"


CLEARED = Cleared.CLEARED
"""The value of an answer that takes a field back."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A value for a field by its dotted name, or CLEARED."""

    field: str
    value: Any


@dataclass(frozen=True, slots=True)
class FieldFault:
    """`rule` is the keyword of the schema that the value breaks; `message` says it to a person."""

    field: str
    message: str
    rule: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`fields` are the valid answers. `options` are the choices of those missing fields that have some."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    options: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    faults: tuple[FieldFault, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def has_any(self) -> bool:
        return bool(self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """What became of answers: those kept, those taken back, those refused and why."""

    fields: Mapping[str, Any]
    kept: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()
    refused: tuple[FieldFault, ...] = ()


def progress(schema: JsonSchema, fields: Mapping[str, Any]) -> Progress:
    """Names that the schema does not know count for nothing. Raises ValueError for a schema that has faults."""
    form = form_of(schema)
    taken = _Taken()
    held = taken.inside(form.root, fields)
    missing = tuple(dict.fromkeys(taken.missing))
    choices = {name: each.choices for name in missing if (each := form.field(name)) is not None}
    return Progress(
        fields=held,
        missing=missing,
        options={name: offered for name, offered in choices.items() if offered},
        faults=tuple(taken.faults),
    )


def put(schema: JsonSchema, fields: Mapping[str, Any], answers: Sequence[Answer]) -> Put:
    """The fields with these answers in them. Fields that no answer names stay as they are."""
    form = form_of(schema)
    held = _copied(fields)
    kept: dict[str, None] = {}
    cleared: dict[str, None] = {}
    refused: list[FieldFault] = []
    for answer in _one_by_one(form, answers):
        named = form.field(answer.field)
        if named is None:
            refused.append(FieldFault(answer.field, in_words(None, UNKNOWN_FIELD), UNKNOWN_FIELD))
        elif answer.value is CLEARED:
            if _take_out(held, named.name):
                cleared[named.name] = None
                kept.pop(named.name, None)
        else:
            value = coerced(named, answer.value)
            rule = _broken_rule(named, value)
            if rule is None:
                _put_in(held, named.name, _plain(value))
                kept[named.name] = None
                cleared.pop(named.name, None)
            else:
                refused.append(_fault(named, rule))
    return Put(fields=held, kept=tuple(kept), cleared=tuple(cleared), refused=tuple(refused))


def seeded(schema: JsonSchema, fields: Mapping[str, Any], params: Mapping[str, Any]) -> Mapping[str, Any]:
    """With valid params of the same names in those fields that hold nothing valid yet."""
    form = form_of(schema)
    held = progress(schema, fields).fields
    named = [Answer(name, value) for name, value in params.items() if form.under(name) and value is not None]
    free = [each for each in _one_by_one(form, named) if not _is_held(held, each.field)]
    return put(schema, fields, free).fields


def carried_over(schema: JsonSchema, fields: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    """Of the answers to another form those of these names that are valid answers here too."""
    answers = [Answer(name, value) for name in names if (value := value_at(fields, name)) is not None]
    return put(schema, {}, answers).fields


class _Taken:
    """What a walk through a form finds missing and wrong."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.faults: list[FieldFault] = []

    def inside(self, group: Field, given: Mapping[str, Any]) -> dict[str, Any]:
        """The valid answers of an object, without what is blank or not known."""
        held: dict[str, Any] = {}
        for each in group.inside:
            value = given.get(each.key)
            if each.key not in given or not is_meaningful(each, value):
                self._absent(each)
            elif each.kind is Kind.OBJECT:
                self._object(each, value, held)
            elif (rule := _broken_rule(each, value)) is not None:
                self._wrong(each, rule)
            else:
                held[each.key] = _plain(value)
        return held

    def _object(self, group: Field, value: Any, held: dict[str, Any]) -> None:
        if value is None:
            held[group.key] = None
        elif not isinstance(value, Mapping):
            self._wrong(group, "type")
        else:
            within = _Taken()
            inner = within.inside(group, value)
            if inner:
                held[group.key] = inner
            if inner or within.faults:
                self.missing += within.missing
                self.faults += within.faults
            else:
                self._absent(group)

    def _absent(self, each: Field) -> None:
        if each.required:
            self.missing += [wanted.name for wanted in each.wanted]

    def _wrong(self, each: Field, rule: str) -> None:
        """An object that is none is missing by what must be in it, or else by its first field."""
        self.missing += [wanted.name for wanted in each.wanted] or [next(each.leaves).name]
        self.faults.append(_fault(each, rule))


def is_meaningful(field: Field, value: Any) -> bool:
    """Whether something was answered at all: 0 and false are answers, blanks and nothing are none."""
    if value is None:
        return field.takes_null
    if isinstance(value, str):
        return bool(value.strip())
    return bool(value) if isinstance(value, Mapping | list | tuple) else True


def _broken_rule(field: Field, value: Any) -> str | None:
    """The keyword that the value breaks, None for a valid one."""
    if not is_meaningful(field, value):
        return NO_ANSWER
    if not _is_json(value):
        return "type"
    error = next(iter(validator_of(field.schema).iter_errors(_plain(value))), None)
    return None if error is None else str(error.schema_path[-1])


def _fault(field: Field, rule: str) -> FieldFault:
    return FieldFault(field.name, in_words(field, rule), rule)


def _is_json(value: Any, depth: int = 0) -> bool:
    """Whether every store can keep it."""
    match value:
        case None | bool():
            return True
        case int():
            return -_LARGEST <= value < _LARGEST
        case float():
            return math.isfinite(value)
        case str():
            return is_plain_text(value)
        case list() | tuple():
            return depth < _DEEPEST_VALUE and all(_is_json(each, depth + 1) for each in value)
        case Mapping():
            return depth < _DEEPEST_VALUE and all(
                isinstance(name, str) and is_plain_text(name) and _is_json(each, depth + 1)
                for name, each in value.items()
            )
    return False


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _one_by_one(form: Form, answers: Sequence[Answer]) -> Iterator[Answer]:
    """An answer to an object becomes answers to what is in it."""
    for answer in answers:
        if form.field(answer.field) is not None or not form.under(answer.field):
            yield answer
        elif answer.value is CLEARED:
            yield from (Answer(each.name, CLEARED) for each in form.under(answer.field))
        elif isinstance(answer.value, Mapping):
            inside = [Answer(f"{answer.field}.{name}", value) for name, value in answer.value.items()]
            yield from _one_by_one(form, inside)
        else:
            yield answer


def _copied(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _copied(each) if isinstance(each, Mapping) else each for name, each in fields.items()}


def _put_in(held: dict[str, Any], name: str, value: Any) -> None:
    *groups, key = name.split(".")
    for group in groups:
        if not isinstance(held.get(group), dict):
            held[group] = {}
        held = held[group]
    held[key] = value


def _take_out(held: dict[str, Any], name: str) -> bool:
    """Whether there was something. An object that is left empty goes too."""
    first, _, rest = name.partition(".")
    if first not in held:
        return False
    if not rest:
        del held[first]
        return True
    inner = held[first]
    taken = isinstance(inner, dict) and _take_out(inner, rest)
    if taken and not inner:
        del held[first]
    return taken


def _is_held(held: Mapping[str, Any], name: str) -> bool:
    *groups, key = name.split(".")
    for group in groups:
        inner = held.get(group)
        if not isinstance(inner, Mapping):
            return group in held
        held = inner
    return key in held
