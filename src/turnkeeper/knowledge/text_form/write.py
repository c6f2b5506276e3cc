"""Writing units as text, so that reading it gives the very same units again."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from turnkeeper.knowledge.text_form.document import Document, Link, Ref, TextObject, Value, children_by_parent
from turnkeeper.knowledge.text_form.language import COMMANDS, UNIT_FIELDS, UnitField
from turnkeeper.knowledge.text_form.statements import Written, quoted
from turnkeeper.model.ids import UnitId
from turnkeeper.model.unit import Lifetime, Unit

_PLAIN = re.compile(r"[A-Za-z0-9_:./+-]+")
_LINKED_IDS = ("parent_ids", "derived_from_ids", "child_ids")


def serialize(units: Iterable[Unit]) -> str:
    """Units as text. Their ids differ from each other; two with the same id are a ValueError."""
    return serialize_document(Document(units=tuple(units)))


def serialize_document(document: Document) -> str:
    """The canonical form: units, then other objects, then what links them; fields in their order."""
    if len({unit.id for unit in document.units}) != len(document.units):
        raise ValueError("two units of one text have the same id")
    lines = [*_units(document.units), *_objects(document.objects), *_links(document.links)]
    return "".join(f"{line}\n" for line in lines)


def _units(units: tuple[Unit, ...]) -> Iterator[str]:
    names = {unit.id: f"k{number}" for number, unit in enumerate(units, start=1)}
    children = children_by_parent(units)
    sets = _numbered("ks")
    relations = _numbered("kr")
    for unit in units:
        yield f"@{names[unit.id]} ku {unit.kind.value} {quoted(unit.id)}"
        for field in UNIT_FIELDS.values():
            value = _unsaid_otherwise(field, unit, names, children)
            if value is not None:
                yield f"{sets()} set ${names[unit.id]} {field.name} {_field(field, value)}"
    for unit in units:
        for command, ids in (("parent", unit.parent_ids), ("derived_from", unit.derived_from_ids)):
            for other in ids[_listed(ids, names) :]:
                yield f"{relations()} {command} ${names[unit.id]} ${names[other]}"


def _unsaid_otherwise(
    field: UnitField, unit: Unit, names: dict[UnitId, str], children: dict[UnitId, tuple[UnitId, ...]]
) -> Any:
    """What a `set` has to say; None when a default or the relations of the document say it already."""
    value = getattr(unit, field.attribute)
    match field.attribute:
        case "parent_ids" | "derived_from_ids":
            return value[: _listed(value, names)] or None
        case "child_ids":
            return None if value == children.get(unit.id, ()) else value
        case "lifetime":
            return None if value is Lifetime.SESSION else value
    return value


def _listed(ids: tuple[UnitId, ...], names: dict[UnitId, str]) -> int:
    """How many ids are written as a list: up to the last one outside the document, so that their order is kept."""
    return max((at for at, other in enumerate(ids, start=1) if other not in names), default=0)


def _field(field: UnitField, value: Any) -> str:
    if field.attribute in _LINKED_IDS:
        return f"[{' '.join(quoted(other) for other in value)}]"
    return quoted(value) if field.is_prose else _value(value)


def _objects(objects: Sequence[TextObject]) -> Iterator[str]:
    sets = _numbered("set")
    for thing in objects:
        yield f"@{thing.name} {_statement(thing.kind.value, thing.arguments)}"
        for name, value in thing.fields:
            yield f"{sets()} set ${thing.name} {name} {_value(value)}"


def _links(links: Sequence[Link]) -> Iterator[str]:
    ids = _numbered("link")
    for link in links:
        yield f"{ids()} {_statement(link.command, link.arguments)}"


def _statement(command: str, arguments: Sequence[Any]) -> str:
    written = [command]
    for parameter, argument in zip(COMMANDS[command].parameters, arguments, strict=True):
        if isinstance(argument, Ref):
            written.append(f"${argument.name}")
        elif isinstance(argument, tuple):
            written.append(f"[{' '.join(f'${ref.name}' for ref in argument)}]")
        elif parameter.written == {Written.ATOM}:
            written.append(argument)
        else:
            written.append(quoted(argument) if parameter.written == {Written.STRING} else _value(argument))
    return " ".join(written)


def _value(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{' '.join(_value(item) for item in value)}]"
    if isinstance(value, str):
        # An enum is a str too; its own text is what is meant.
        text = str(value)
        return text if _PLAIN.fullmatch(text) else quoted(text)
    return repr(value)


def _numbered(prefix: str) -> Callable[[], str]:
    """Gives one statement id after the other."""
    count = 0

    def following() -> str:
        nonlocal count
        count += 1
        return f"@{prefix}{count}"

    return following
