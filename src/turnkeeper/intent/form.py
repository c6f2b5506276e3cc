"""A schema read as a form: its fields by name, in order, each with the kind of answer that it takes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from turnkeeper.intent.formats import CLOCK_TIME, PHONE
from turnkeeper.intent.schemas import ALIASES, LABELS, followed, schema_faults, types_of
from turnkeeper.intent.validators import as_json
from turnkeeper.model.pack import JsonSchema

MOST_KEPT = 500


class Kind(StrEnum):
    """What an answer is, and so how it is read."""

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    DATE = "date"
    TIME = "time"
    CLOCK_TIME = "clock-time"
    DATE_TIME = "date-time"
    PHONE = "phone"
    EMAIL = "email"
    URI = "uri"
    TEXT = "text"
    LIST = "list"
    OBJECT = "object"


_BY_FORMAT = {
    "date": Kind.DATE,
    "time": Kind.TIME,
    "date-time": Kind.DATE_TIME,
    CLOCK_TIME: Kind.CLOCK_TIME,
    PHONE: Kind.PHONE,
    "email": Kind.EMAIL,
    "idn-email": Kind.EMAIL,
    "uri": Kind.URI,
    "iri": Kind.URI,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """`name` is dotted: `guest.name`. An object holds its own fields in `inside`, a list says what it holds in `item`.

    `required` is meant within the object that the field belongs to.
    """

    name: str
    kind: Kind
    schema: Mapping[str, Any]
    required: bool
    inside: "tuple[Field, ...]" = ()
    item: "Field | None" = None

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def takes_null(self) -> bool:
        return "null" in types_of(self.schema)

    @property
    def title(self) -> str:
        """How people call it: its title, or its name in words."""
        return str(self.schema.get("title") or " ".join(words_of_name(self.key)))

    @property
    def aliases(self) -> tuple[str, ...]:
        return tuple(self.schema.get(ALIASES, ()))

    @property
    def choices(self) -> tuple[Any, ...]:
        """What may be chosen; for a list, what may be in it."""
        if self.item is not None:
            return self.item.choices
        given = self.schema["enum"] if "enum" in self.schema else (self.schema.get("const"),)
        return tuple(value for value in given if value is not None)

    def labels_of(self, choice: Any) -> tuple[str, ...]:
        """What people say for a choice, the best first."""
        holder = self.item.schema if self.item is not None else self.schema
        given = holder.get(LABELS, {}).get(str(choice), ())
        labels = (given,) if isinstance(given, str) else tuple(given)
        return (*labels, " ".join(words_of_name(str(choice))))

    @property
    def leaves(self) -> "Iterator[Field]":
        """The fields that are answered: itself, or for an object those inside."""
        if self.kind is not Kind.OBJECT:
            yield self
        for field in self.inside:
            yield from field.leaves

    @property
    def wanted(self) -> "Iterator[Field]":
        """What must be answered for it to be there at all."""
        if self.kind is not Kind.OBJECT:
            yield self
        for field in self.inside:
            if field.required:
                yield from field.wanted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Form:
    """One for each content of a schema, and so compared by identity."""

    root: Field
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)

    def under(self, name: str) -> tuple[Field, ...]:
        """The field of this name, or all fields of the object of this name."""
        return tuple(field for field in self.fields if field.name == name or field.name.startswith(f"{name}."))


def form_of(schema: JsonSchema) -> Form:
    """Raises ValueError for a schema that has faults: a pack with one is not accepted."""
    return _read(as_json(schema))


@lru_cache(maxsize=MOST_KEPT)
def _read(written: bytes) -> Form:
    schema = msgspec.json.decode(written)
    faults = schema_faults(schema)
    if faults:
        raise ValueError(f"a form cannot be made of this schema, at {faults[0].pointer!r}: {faults[0].message}")
    root = _field("", _inlined(schema, schema), required=True)
    return Form(root=root, fields=tuple(root.leaves))


def _inlined(root: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without references: every field can then be judged by itself."""
    plain = dict(followed(root, node))
    plain.pop("$defs", None)
    if "properties" in plain:
        plain["properties"] = {name: _inlined(root, each) for name, each in plain["properties"].items()}
    if "items" in plain:
        plain["items"] = _inlined(root, plain["items"])
    return plain


def _field(name: str, schema: Mapping[str, Any], *, required: bool) -> Field:
    kind = _kind_of(schema)
    inside: tuple[Field, ...] = ()
    if kind is Kind.OBJECT:
        prefix = f"{name}." if name else ""
        wanted = schema.get("required", ())
        inside = tuple(
            _field(f"{prefix}{key}", each, required=key in wanted) for key, each in schema["properties"].items()
        )
    item = _field(name, schema["items"], required=True) if kind is Kind.LIST else None
    return Field(name=name, kind=kind, schema=schema, required=required, inside=inside, item=item)


def _kind_of(schema: Mapping[str, Any]) -> Kind:
    if "enum" in schema or "const" in schema:
        return Kind.CHOICE
    match next(each for each in types_of(schema) if each != "null"):
        case "array":
            return Kind.LIST
        case "string":
            return _BY_FORMAT.get(schema.get("format", ""), Kind.TEXT)
        case other:
            return Kind(other)


def words_of_name(name: str) -> list[str]:
    """party_size, party-size and partySize are all two words."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return (spaced if not name.isupper() else name.lower()).replace("_", " ").replace("-", " ").split()
