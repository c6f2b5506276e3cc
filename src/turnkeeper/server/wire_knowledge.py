"""What travels over HTTP about units and knowledge bases."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import msgspec
from pydantic import ConfigDict, Field

from turnkeeper.model.knowledge_base import KnowledgeBase, Source
from turnkeeper.model.reply import Reply
from turnkeeper.model.unit import EDITABLE, KeptUnit, Unit
from turnkeeper.server.wire import Id, Inbound, Outbound, Title, one_of


class UnitsIn(Inbound):
    """A text to be read: plain sentences, or units in their text form."""

    text: str = Field(min_length=1)
    format: Literal["text", "units"] = "text"
    name: Title | None = None
    request_id: Id | None = Field(default=None, description="The same as the header Idempotency-Key.")


class UnitChangesOut(Outbound):
    """What became of the units: kept, superseded, or not kept and why."""

    session_id: str
    run_id: str
    added: list[str]
    superseded: list[dict[str, str]]
    pushed_out: list[str]
    dropped: list[dict[str, str]]
    warnings: list[str]

    @classmethod
    def of(cls, reply: Reply) -> "UnitChangesOut":
        units = reply.explanation.units
        return cls(
            session_id=reply.session_id,
            run_id=reply.run_id,
            added=units.get("added", []),
            superseded=units.get("superseded", []),
            pushed_out=units.get("pushed_out", []),
            dropped=units.get("dropped", []),
            warnings=list(reply.warnings),
        )


class UnitOut(Outbound):
    """A unit and what became of it. `unit` holds what it says, by the names of the reference; none when forgotten.

    `no` is its number in a list.
    """

    no: int | None = Field(default=None, exclude_if=lambda no: no is None)
    id: str
    status: str
    epoch: int
    turn: int | None
    run_id: str | None
    kept_at: datetime
    superseded_by: str | None
    unit: dict[str, Any] | None

    @classmethod
    def of(cls, kept: KeptUnit, no: int | None = None) -> "UnitOut":
        return cls(
            no=no,
            id=kept.id,
            status=kept.status.value,
            epoch=kept.epoch,
            turn=kept.turn,
            run_id=kept.run_id,
            kept_at=kept.kept_at,
            superseded_by=kept.superseded_by,
            unit=None if kept.unit is None else said_by(kept.unit),
        )


class BaseIn(Inbound):
    name: Title
    parent_id: Id | None = Field(default=None, description="Begin with all that this one has now.")


class BaseOut(Outbound):
    id: str
    name: str
    parent_id: str | None
    revision: int
    sources: int
    units: int
    created_by: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, base: KnowledgeBase) -> "BaseOut":
        return cls(
            id=base.id,
            name=base.name,
            parent_id=base.parent_id,
            revision=base.revision,
            sources=base.sources,
            units=base.units,
            created_by=base.created_by,
            created_at=base.created_at,
            updated_at=base.updated_at,
        )


class SourceIn(Inbound):
    """A text to be read into a base, or with `session_id` what a session knows by now."""

    model_config = ConfigDict(json_schema_extra=one_of(("name", "content"), "session_id"))

    name: Title | None = None
    content: str | None = Field(default=None, min_length=1)
    kind: Literal["plain-text", "markdown", "units"] = "plain-text"
    session_id: Id | None = None


class SourceOut(Outbound):
    id: str
    name: str
    kind: str
    hash: str
    units: int
    added_at: datetime
    base_revision: int | None = None

    @classmethod
    def of(cls, source: Source, base: KnowledgeBase | None = None) -> "SourceOut":
        return cls(
            id=source.id,
            name=source.name,
            kind=source.kind.value,
            hash=source.hash,
            units=source.units,
            added_at=source.added_at,
            base_revision=base.revision if base else None,
        )


class SourceTextOut(SourceOut):
    content: str

    @classmethod
    def of(cls, source: Source, base: KnowledgeBase | None = None) -> "SourceTextOut":
        return cls(**SourceOut.of(source, base).model_dump(), content=source.content or "")


class BaseUnitOut(Outbound):
    no: int
    id: str
    unit: dict[str, Any]

    @classmethod
    def of(cls, unit: Unit, no: int) -> "BaseUnitOut":
        return cls(no=no, id=unit.id, unit=said_by(unit))


def said_by(unit: Unit) -> dict[str, Any]:
    """Only what the unit says; a field that has nothing to say is left out."""
    said: dict[str, Any] = msgspec.to_builtins({**unit.given, "phase_scopes": unit.phase_scopes})
    return said


def change_of_unit() -> dict[str, Any]:
    """The JSON Schema of what may be changed in a unit by hand."""
    parts = msgspec.json.schema(Unit)["$defs"]

    def whole(part: Any) -> Any:
        if isinstance(part, dict):
            return whole(parts[part["$ref"].rpartition("/")[2]]) if "$ref" in part else _mapped(part, whole)
        return [whole(each) for each in part] if isinstance(part, list) else part

    said = parts["Unit"]["properties"]
    return {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "examples": [{"claim": "Ada likes the table by the window."}],
        "properties": {name: _without_default(whole(said[name])) for name in sorted(EDITABLE)},
    }


def _mapped(part: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: change(value) for name, value in part.items()}


def _without_default(schema: dict[str, Any]) -> dict[str, Any]:
    """What is left out of a change stays as it is."""
    return {name: value for name, value in schema.items() if name != "default"}
