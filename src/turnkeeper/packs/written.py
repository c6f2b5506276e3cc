"""All that was read of a pack, each with its place, before one part of it is held against another."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from turnkeeper.model.pack import Intent, PackSource
from turnkeeper.packs.intents import WrittenIntent
from turnkeeper.packs.manifest import Manifest
from turnkeeper.packs.responses import WrittenResponse
from turnkeeper.packs.schemas import WrittenSchema, fields_of


@dataclass(kw_only=True)
class WrittenPack:
    """`lacks_intents` and `lacks_schemas` say that some could not be read, so that nobody is blamed for naming them."""

    manifest: Manifest = field(default_factory=Manifest)
    intents: list[WrittenIntent] = field(default_factory=list)
    schemas: list[WrittenSchema] = field(default_factory=list)
    responses: list[WrittenResponse] = field(default_factory=list)
    sources: list[PackSource] = field(default_factory=list)
    lacks_intents: bool = False
    lacks_schemas: bool = False
    _fields: dict[str | None, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def codes(self) -> frozenset[str]:
        """Every code that is declared, as it was written."""
        return frozenset(written.code for written in self.intents)

    def intent(self, code: str) -> Intent | None:
        return next((written.intent for written in self.intents if written.code == code and written.intent), None)

    def read_intents(self) -> Iterator[tuple[WrittenIntent, Intent]]:
        return ((written, written.intent) for written in self.intents if written.intent)

    def has_form(self, code: str) -> bool:
        return any(schema.intent == code for schema in self.schemas)

    def knows_fields(self, code: str | None) -> bool:
        """Whether all schemas of an intent, or of all intents, could be read."""
        unread = [schema for schema in self.schemas if schema.schema is None and code in (None, schema.intent)]
        return not unread and not self.lacks_schemas

    def fields(self, code: str | None) -> frozenset[str]:
        """The fields of every form of an intent, or of all intents; a field in a field with a dot between."""
        if code in self._fields:
            return self._fields[code]
        schemas = [each.schema for each in self.schemas if each.schema is not None and code in (None, each.intent)]
        self._fields[code] = frozenset(name for schema in schemas for name in fields_of(schema))
        return self._fields[code]
