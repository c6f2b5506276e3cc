"""What makes a JSON Schema unusable for a form, each fault with its place and its remedy.

A form must be able to say at any moment which fields are missing. So only what decides each field by itself is allowed:
no conditions between fields, no combinations of schemas, no references out of the schema.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from turnkeeper.intent.formats import FORMATS, is_clock_time
from turnkeeper.intent.validators import as_json, pattern_fault, validator_of
from turnkeeper.model.control import RESERVED_NAMES

MOST_FIELDS = 200
DEEPEST = 5
LABELS = "x-labels"
ALIASES = "x-aliases"
EARLIEST = "x-earliest"

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NAME = re.compile(r"\w[\w-]*")
_LOCAL = re.compile(r"#/\$defs/([^/]+)")

_ANNOTATIONS = frozenset(
    ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment")
)
_ROOT = frozenset(("$schema", "$id", "$defs"))
_NUMERIC = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_KEYWORDS: Mapping[str, frozenset[str]] = {
    "object": frozenset(("properties", "required", "additionalProperties")),
    "array": frozenset(("items", "minItems", "maxItems", "uniqueItems")),
    "string": frozenset(("minLength", "maxLength", "pattern", "format", "enum", "const")),
    "integer": _NUMERIC | {"enum", "const"},
    "number": _NUMERIC | {"enum", "const"},
    "boolean": frozenset(("enum", "const")),
}
_UNDECIDABLE = frozenset(
    (
        *("if", "then", "else", "allOf", "anyOf", "oneOf", "not", "dependentRequired", "dependentSchemas"),
        *("dependencies", "unevaluatedProperties", "unevaluatedItems", "minProperties", "maxProperties"),
        *("patternProperties", "propertyNames", "contains", "prefixItems", "$dynamicRef", "$recursiveRef"),
    )
)
_RANGES = (
    ("minimum", "maximum", False),
    ("exclusiveMinimum", "maximum", True),
    ("minimum", "exclusiveMaximum", True),
    ("exclusiveMinimum", "exclusiveMaximum", True),
    ("minLength", "maxLength", False),
    ("minItems", "maxItems", False),
)


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """`pointer` is a JSON pointer into the schema; `message` says what is wrong and what to write instead."""

    pointer: str
    message: str


def schema_faults(schema: Any) -> Sequence[SchemaFault]:
    """Everything that stands in the way of a form; nothing for a schema that can be used."""
    if not isinstance(schema, Mapping):
        return (SchemaFault("", 'A form is an object: write {"type": "object", "properties": {...}}.'),)
    against_draft = tuple(_against_draft(schema))
    if against_draft:
        return against_draft
    walk = _Walk(schema)
    return tuple(dict.fromkeys(walk.faults()))


def types_of(node: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that a field declares, null among them. A field without a type has that of its enum or const."""
    declared = node.get("type")
    if isinstance(declared, str):
        return (declared,)
    if declared is not None:
        return tuple(declared)
    values = node["enum"] if "enum" in node else [node["const"]] if "const" in node else []
    return tuple(dict.fromkeys(map(_type_of_value, values)))


def followed(root: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """The node with what its reference points at; its own title and description come first."""
    seen = 0
    while "$ref" in node and seen <= DEEPEST:
        target = root["$defs"][_LOCAL.fullmatch(node["$ref"])[1]]  # type: ignore[index]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
        seen += 1
    return node


def _type_of_value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
    return "array"


def _fits(value: Any, types: Sequence[str]) -> bool:
    own = _type_of_value(value)
    whole = own == "number" and float(value).is_integer() and "integer" in types
    return own in types or (own == "integer" and "number" in types) or whole


def _against_draft(schema: Mapping[str, Any]) -> Iterator[SchemaFault]:
    if schema.get("$schema", _DRAFT) not in (_DRAFT, f"{_DRAFT}#"):
        yield SchemaFault("/$schema", f"Only draft 2020-12 is read: write {_DRAFT} or leave it out.")
        return
    try:
        written = msgspec.json.decode(as_json(schema))
    except (ValueError, TypeError, RecursionError):
        yield SchemaFault("", "The schema holds something that is no JSON: write numbers, texts, lists and objects.")
        return
    for error in validator_of({"$ref": _DRAFT}).iter_errors(written):
        yield SchemaFault(_pointer(error.instance_path), _in_words(error.instance_path, error.instance, error.message))


def _in_words(path: Sequence[str | int], value: Any, message: str) -> str:
    match path[-1] if path else None:
        case "type":
            return f"There is no such type: write one of {', '.join(_KEYWORDS)}, or a list of one of them and null."
        case "pattern" if isinstance(value, str) and (fault := pattern_fault(value)):
            return fault
    return f"This is no JSON Schema: {message}. Write it as draft 2020-12 says."


def _pointer(path: Sequence[str | int]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the walk stands: by pointer in the schema, by depth in the form, and behind which references."""

    pointer: str = ""
    depth: int = 0
    refs: tuple[str, ...] = ()
    required: bool = True

    def at(self, *parts: str | int) -> "_Place":
        return replace(self, pointer=self.pointer + _pointer(parts))

    def fault(self, message: str, *parts: str | int) -> SchemaFault:
        return SchemaFault(self.at(*parts).pointer, message)


class _Walk:
    """One walk through a schema that the draft allows. It counts fields, as a reference may multiply them."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._fields = 0

    def faults(self) -> Iterator[SchemaFault]:
        if self._root.get("type") != "object" or not self._root.get("properties"):
            yield SchemaFault("", 'A form is an object with fields: write "type": "object" and "properties".')
            return
        yield from self._node(self._root, _Place(), root=True)
        if self._fields > MOST_FIELDS:
            yield SchemaFault("", f"A form has at most {MOST_FIELDS} fields: split it into several intents or states.")

    def _node(self, node: Any, place: _Place, *, root: bool = False) -> Iterator[SchemaFault]:
        if not isinstance(node, Mapping):
            yield place.fault('True and false say nothing of a field: write an object such as {"type": "string"}.')
            return
        if self._fields > MOST_FIELDS:
            return
        if "$ref" in node:
            yield from self._reference(node, place)
            return
        yield from _undecidable(node, place)
        types = types_of(node)
        yield from _wrong_types(node, types, place)
        kind = next((each for each in types if each != "null"), None)
        if kind is None:
            return
        yield from _foreign_keywords(node, kind, place, root=root)
        yield from _impossible_ranges(node, place)
        if kind == "object":
            yield from self._object(node, place)
        elif kind == "array":
            yield from self._items(node, place)
        else:
            yield from _wrong_values(node, types, place)
            yield from _wrong_text(node, place)
        yield from _wrong_extensions(node, place)

    def _reference(self, node: Mapping[str, Any], place: _Place) -> Iterator[SchemaFault]:
        local = _LOCAL.fullmatch(node["$ref"])
        if local is None or local[1] not in self._root.get("$defs", {}):
            yield place.fault("Only what stands under $defs can be referred to: write #/$defs/name.", "$ref")
            return
        beside = [key for key in node if key not in _ANNOTATIONS and key != "$ref" and not key.startswith("x-")]
        if beside:
            yield place.fault(f"{beside[0]} beside a $ref is not read: write it in #/$defs/{local[1]}.", beside[0])
        if local[1] in place.refs:
            yield place.fault("This reference leads back to itself: a form has an end, take it out.", "$ref")
            return
        there = replace(place, pointer=_pointer(("$defs", local[1])), refs=(*place.refs, local[1]))
        yield from self._node(self._root["$defs"][local[1]], there)

    def _object(self, node: Mapping[str, Any], place: _Place) -> Iterator[SchemaFault]:
        properties = node.get("properties", {})
        required = node.get("required", ())
        if not properties:
            yield place.fault("An object without properties cannot be asked for: list its properties, or use a string.")
        if place.depth > 0 and place.required and not required:
            yield place.fault(
                "A required object must require something, or there is nothing to ask for: name one of its properties "
                "in its required."
            )
        if not isinstance(node.get("additionalProperties", False), bool):
            yield place.fault("Fields that are not named cannot be asked for: write false.", "additionalProperties")
        for number, name in enumerate(required):
            if name not in properties:
                yield place.fault(
                    f"{name} is required but no property: add it to properties or take it out.", "required", number
                )
        if place.depth >= DEEPEST:
            yield place.fault(f"A form is at most {DEEPEST} objects deep: bring these fields further up.")
            return
        for name, child in properties.items():
            inside = replace(place.at("properties", name), depth=place.depth + 1, required=name in required)
            yield from _wrong_name(name, inside, top=place.depth == 0)
            self._fields += 1
            yield from self._node(child, inside)

    def _items(self, node: Mapping[str, Any], place: _Place) -> Iterator[SchemaFault]:
        if "items" not in node:
            yield place.fault('It is not said what the list holds: add items, such as {"type": "string"}.')
            return
        if place.depth >= DEEPEST:
            yield place.fault(f"A form is at most {DEEPEST} objects deep: bring these fields further up.")
            return
        yield from self._node(node["items"], replace(place.at("items"), depth=place.depth + 1, required=False))


def _undecidable(node: Mapping[str, Any], place: _Place) -> Iterator[SchemaFault]:
    for key in node:
        if key in _UNDECIDABLE:
            yield place.fault(
                f"With {key} it cannot be told which field is missing: say it of each field by itself, with required, "
                "enum, pattern or a range, or split the form into states.",
                key,
            )


def _wrong_types(node: Mapping[str, Any], types: Sequence[str], place: _Place) -> Iterator[SchemaFault]:
    if not types:
        yield place.fault(f'It is not said what this is: add "type", one of {", ".join(_KEYWORDS)}.')
    elif len([each for each in types if each != "null"]) != 1:
        yield place.fault("A field has one type, and beside it at most null: choose one.", "type")
    elif place.depth == 0 and len(types) > 1:
        yield place.fault('A form is an object and never null: write "type": "object".', "type")


def _foreign_keywords(node: Mapping[str, Any], kind: str, place: _Place, *, root: bool) -> Iterator[SchemaFault]:
    known = _KEYWORDS[kind] | _ANNOTATIONS | {"type"} | (_ROOT if root else frozenset())
    for key in node:
        if key not in known and key not in _UNDECIDABLE and not key.startswith("x-"):
            yield place.fault(
                f"{key} means nothing for type {kind}: take it out, or name it x-{key.lstrip('$')} to keep it as a "
                f"remark. There are {', '.join(sorted(_KEYWORDS[kind]))}.",
                key,
            )


def _impossible_ranges(node: Mapping[str, Any], place: _Place) -> Iterator[SchemaFault]:
    for low, high, apart in _RANGES:
        if low in node and high in node and (node[low] > node[high] or (apart and node[low] == node[high])):
            yield place.fault(f"No value lies between {low} {node[low]} and {high} {node[high]}: swap them.", low)


def _wrong_values(node: Mapping[str, Any], types: Sequence[str], place: _Place) -> Iterator[SchemaFault]:
    if "enum" in node and not node["enum"]:
        yield place.fault("An empty enum leaves nothing to choose: list the choices or take it out.", "enum")
    given: list[tuple[tuple[str | int, ...], Any]] = [
        (("enum", number), value) for number, value in enumerate(node.get("enum", ()))
    ]
    given += [(("const",), node["const"])] if "const" in node else []
    for path, value in given:
        if not _fits(value, types):
            yield place.fault(f"This value is no {' or '.join(types)}: write one, or change the type.", *path)
        elif isinstance(value, str) and not value.strip():
            yield place.fault("A blank text counts as no answer: take it out, or leave the field optional.", *path)


def _wrong_text(node: Mapping[str, Any], place: _Place) -> Iterator[SchemaFault]:
    if node.get("format", "date") not in FORMATS:
        yield place.fault(
            f"The format {node['format']} is not known. There are {', '.join(sorted(FORMATS))}; a time of day without "
            "an offset, such as 19:30, is clock-time. Use one of them, or a pattern.",
            "format",
        )
        return
    if fault := pattern_fault(node.get("pattern", "")):
        yield place.fault(fault, "pattern")
        return
    validator = validator_of({key: node[key] for key in node if key in ("pattern", "format")})
    for number, value in enumerate(node.get("enum", ())):
        if isinstance(value, str) and not validator.is_valid(value):
            yield place.fault(
                "This choice can never be taken: it breaks the pattern or format beside it.", "enum", number
            )


def _wrong_name(name: str, place: _Place, *, top: bool) -> Iterator[SchemaFault]:
    if not _NAME.fullmatch(name):
        yield place.fault(
            "The name of a field has letters, digits, _ and - and no dots or blanks: rename it, and put the words for "
            "people into its title."
        )
    elif top and name in RESERVED_NAMES:
        yield place.fault(f"{name} is a reserved name: call the field otherwise, such as {name}_wanted.")


def _wrong_extensions(node: Mapping[str, Any], place: _Place) -> Iterator[SchemaFault]:
    aliases = node.get(ALIASES, [])
    if not isinstance(aliases, list) or not all(isinstance(each, str) and each.strip() for each in aliases):
        yield place.fault("Aliases are a list of words that people say for this field.", ALIASES)
    earliest = node.get(EARLIEST, "00:00")
    if not isinstance(earliest, str) or not is_clock_time(earliest):
        yield place.fault("The earliest time is written like 11:00; hours before it are read as past noon.", EARLIEST)
    labels = node.get(LABELS, {})
    if not isinstance(labels, Mapping) or not all(map(_is_label, labels.values())):
        yield place.fault("Labels are an object: for each choice a text, or a list of texts.", LABELS)
        return
    choices = {str(value) for value in node.get("enum", ())}
    for value in labels:
        if value not in choices:
            yield place.fault(
                f"{value} is no choice of this field: add it to enum or take its label out.", LABELS, value
            )


def _is_label(label: Any) -> bool:
    texts = label if isinstance(label, list) else [label]
    return bool(texts) and all(isinstance(each, str) and each.strip() for each in texts)
