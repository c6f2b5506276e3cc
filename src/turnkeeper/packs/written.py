"""All that was read of a pack, each with its place, before one part of it is held against another."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from turnkeeper.model.pack import Intent, PackSource
from turnkeeper.packs.intents import WrittenIntent
from turnkeeper.packs.manifest import Manifest
from turnkeeper.packs.responses import WrittenResponse
from turnkeeper.packs.schemas import WrittenSchema, fields_of


@dataclass(kw_only=True)
class WrittenPack:
    """Asked only once it is complete: what it finds is remembered.

    `lacks_intents` and `lacks_schemas` say that some could not be read, so that nobody is blamed for naming them.
    """

    manifest: Manifest = field(default_factory=Manifest)
    intents: list[WrittenIntent] = field(default_factory=list)
    schemas: list[WrittenSchema] = field(default_factory=list)
    responses: list[WrittenResponse] = field(default_factory=list)
    sources: list[PackSource] = field(default_factory=list)
    lacks_intents: bool = False
    lacks_schemas: bool = False
    _fields: dict[str | None, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def by_code(self) -> Mapping[str, WrittenIntent]:
        """Under every code that is declared, as it was written, the first intent that has it."""
        return {written.code: written for written in reversed(self.intents)}

    @cached_property
    def usable_codes(self) -> frozenset[str]:
        """What can be named: a code that is itself a fault is nothing to advise."""
        return frozenset(written.code for written in self.intents if written.intent)

    def lacks_intent(self, code: str) -> bool:
        """Whether there is none, not even one that was meant to be it and has a fault in its code."""
        meant = {_plain(written.code) for written in self.intents if written.intent is None}
        return code not in self.by_code and _plain(code) not in meant and not self.lacks_intents

    def lacks_state(self, code: str, state: str) -> bool:
        """False for an intent of which not every state could be read: it may be one of those."""
        intent = self.intent(code)
        if intent is None or intent.state(state) is not None:
            return False
        listed = self.by_code[code].part.inside("states").value
        return listed is None or (isinstance(listed, list) and len(listed) == len(intent.states))

    @cached_property
    def handed_to_agent(self) -> frozenset[str]:
        """The intents with a response that the agent speaks."""
        return frozenset(each.response.intent for each in self.responses if each.response.text is None)

    def intent(self, code: str) -> Intent | None:
        return self.by_code[code].intent if code in self.by_code else None

    def read_intents(self) -> Iterator[tuple[WrittenIntent, Intent]]:
        return ((written, written.intent) for written in self.intents if written.intent)

    def has_form(self, code: str) -> bool:
        return any(schema.intent == code for schema in self.schemas)

    def knows_fields(self, code: str | None) -> bool:
        """Whether all schemas of an intent, or of all intents, could be read."""
        unread = [schema for schema in self.schemas if schema.schema is None and code in (None, schema.intent)]
        return not unread and not self.lacks_schemas

    def uncertain_fields(self, code: str) -> frozenset[str]:
        """The fields of an intent that none of its forms requires, so that they may have no answer."""
        schemas = [each.schema for each in self.schemas if each.schema is not None and each.intent == code]
        certain = {each.name for schema in schemas for each in fields_of(schema) if each.is_certain}
        return self.fields(code) - certain

    def fields(self, code: str | None) -> frozenset[str]:
        """The fields of every form of an intent, or of all intents; a field in a field with a dot between."""
        if code in self._fields:
            return self._fields[code]
        schemas = [each.schema for each in self.schemas if each.schema is not None and code in (None, each.intent)]
        self._fields[code] = frozenset(each.name for schema in schemas for each in fields_of(schema))
        return self._fields[code]


def _plain(code: str) -> str:
    """BOOK_TABLE for book-table, Book Table and their like."""
    return re.sub(r"[^A-Z0-9]+", "_", code.upper())
