"""Sources and their units that can be mounted."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from turnkeeper.model.ids import KnowledgeBaseId, SourceId, TenantId, UserId
from turnkeeper.model.unit import Unit


class SourceKind(StrEnum):
    TEXT = "plain-text"
    MARKDOWN = "markdown"
    UNITS = "units"
    JOURNAL = "conversation-journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBase:
    """`revision` counts the changes of its sources; a session sees it as it was when it was mounted."""

    tenant: TenantId
    id: KnowledgeBaseId
    name: str
    created_by: UserId
    created_at: datetime
    updated_at: datetime
    revision: int = 0
    sources: int = 0
    units: int = 0
    parent_id: KnowledgeBaseId | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a KnowledgeBase has a name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A text as it was added, by its SHA-256. A newer one of the same name takes its place.

    In lists of sources the content is left out, which may be long.
    """

    id: SourceId
    name: str
    kind: SourceKind
    hash: str
    content: str | None
    added_at: datetime
    units: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    """A source on its way into a base, and the units that were read from it."""

    source: Source
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseLimits:
    sources: int
    units: int
