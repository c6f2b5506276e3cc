"""The forms of a pack: one JSON Schema for an intent, or for one of its states."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from turnkeeper.model.control import RESERVED_NAMES
from turnkeeper.model.pack import ANY, UNKNOWN, JsonSchema
from turnkeeper.packs.faults import PackFaultCode, meant_instead, shown
from turnkeeper.packs.intents import CODE
from turnkeeper.packs.parts import Part

KEYWORDS = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "uniqueItems"),
        *("minLength", "maxLength", "pattern", "format", "enum", "const", "title", "description", "default"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "examples", "$comment", "$defs"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSchema:
    """`state` is None for a schema of every state. One that has faults is no `schema`."""

    intent: str
    state: str | None
    part: Part
    schema: JsonSchema | None

    @property
    def name(self) -> str:
        return self.intent if self.state is None else f"{self.intent}.{self.state}"


def read_schema(part: Part) -> WrittenSchema | None:
    from turnkeeper.intent.schemas import schema_faults

    faults = schema_faults(part.value)
    for fault in faults:
        Part(file=part.file, document=part.document, faults=part.faults, pointer=fault.pointer, value=None).refuse(
            _code_of(fault.pointer), _said(part.value, fault.pointer, fault.message)
        )
    codes = _codes_in(part)
    if codes is None:
        return None
    return WrittenSchema(intent=codes[0], state=codes[1], part=part, schema=None if faults else part.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """`name` has a dot between where the field stands in another one. One that `is_certain` is required all the way."""

    name: str
    node: Mapping[str, Any]
    is_required: bool
    is_certain: bool


def fields_of(schema: JsonSchema) -> Iterator[FormField]:
    return _fields_below(schema, schema, "", is_certain=True)


def _fields_below(root: JsonSchema, node: Mapping[str, Any], above: str, *, is_certain: bool) -> Iterator[FormField]:
    from turnkeeper.intent.schemas import followed

    for name, child in node.get("properties", {}).items():
        inside = followed(root, child)
        is_required = name in node.get("required", ())
        certain = is_certain and is_required
        yield FormField(name=f"{above}{name}", node=inside, is_required=is_required, is_certain=certain)
        yield from _fields_below(root, inside, f"{above}{name}.", is_certain=certain)


def _code_of(pointer: str) -> PackFaultCode:
    """A reserved name is told apart: it is not the schema that is wrong there, but the name that is taken."""
    parts = pointer.split("/")[1:]
    is_reserved = len(parts) == 2 and parts[0] == "properties" and parts[1] in RESERVED_NAMES
    return PackFaultCode.RESERVED_FIELD if is_reserved else PackFaultCode.UNFIT_SCHEMA


def _said(schema: Any, pointer: str, message: str) -> str:
    """The message, unless there is more to say: of a slip of the fingers what was meant, of a form that it is empty."""
    if isinstance(schema, Mapping) and not pointer and schema.get("type") == "object" and not schema.get("properties"):
        return 'A form needs at least one field. Write it into "properties", as in "name": {"type": "string"}.'
    word = pointer.rpartition("/")[2]
    if word in KEYWORDS or not message.startswith(f"{word} means nothing"):
        return message
    meant = meant_instead(word, KEYWORDS)
    return f"There is no keyword {shown(word)}. {meant}" if meant.startswith("Did") else message


def _codes_in(part: Part) -> tuple[str, str | None] | None:
    name = PurePosixPath(part.file).name.removesuffix(".json")
    codes = name.split(".")
    if len(codes) > 2 or not all(CODE.fullmatch(code) for code in codes) or codes[0] in (ANY, UNKNOWN):
        message = f"{shown(name)} names no intent. Call the file INTENT.json or INTENT.STATE.json."
        part.refuse(PackFaultCode.UNFIT_CODE, message)
        return None
    return codes[0], codes[1] if len(codes) == 2 and codes[1] != ANY else None
