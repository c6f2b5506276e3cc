"""What came out of a session and outlives it: artifacts, manifests and moves of pointers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import PointerId, RunId, SessionId, TenantId, UserId
from turnkeeper.model.manifest import Manifest, NewManifest
from turnkeeper.model.pointer import Expected, Pointer


class OutputKind(StrEnum):
    ARTIFACT = "artifact"
    MANIFEST = "manifest"
    POINTER = "pointer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """`no` is its number in the feed of the session; `ref` a hash, or the id of a pointer."""

    no: int
    kind: OutputKind
    ref: str
    run_id: RunId | None
    at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointerTarget:
    """The pointer that a publication moves, and where it must stand for that. `to` is a manifest that is there already,
    None is the one that is published.
    """

    id: PointerId
    to: str | None = None
    expected: Expected | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """All of it comes out of the session in one go, or none of it. `emitted` are contents by hash, each with its path.

    Without a manifest only artifacts come out, without a pointer nothing moves. The
    manifest of a publication has, unless it names another parent, the one that its pointer stands at.
    """

    tenant: TenantId
    session_id: SessionId
    emitted: Mapping[str, Mapping[str, Any]]
    manifest: NewManifest | None = None
    pointer: PointerTarget | None = None
    published_by: UserId
    published_at: datetime

    def __post_init__(self) -> None:
        if self.pointer is not None and (self.manifest is None) == (self.pointer.to is None):
            raise ValueError("a Publication that moves a pointer has one manifest to move it to")
        if not self.emitted and self.manifest is None and self.pointer is None:
            raise ValueError("a Publication brings something out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What came out. `outputs` are those that are new to the session: nothing is told twice."""

    manifest: Manifest | None
    is_duplicate: bool
    pointer: Pointer | None
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCost:
    """What the runs of a session spent, and what they left behind in bytes."""

    session_id: SessionId
    runs: int
    tokens: float
    cost_cents: float
    model_calls: int
    tool_calls: int
    message_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStorage:
    session_id: SessionId
    classification: str | None
    message_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStorage:
    """Content is counted once however often it is kept; of a session its messages and what came out of it."""

    blobs: int
    blob_bytes: int
    artifacts: int
    manifests: int
    sessions: tuple[SessionStorage, ...]
