"""A movable name for a manifest, and everywhere it has been."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import PointerId, RunId, SessionId, TenantId, UserId

DEFAULT_NAMESPACE = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,254}")


class PointerKind(StrEnum):
    """A bundle moves freely, a corpus only with care, a snapshot never again once it has a manifest."""

    BUNDLE = "bundle"
    CORPUS = "corpus"
    SNAPSHOT = "snapshot"


class MoveKind(StrEnum):
    CREATE = "create"
    ADVANCE = "advance"
    RESET = "reset"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """`manifest` is None while it is empty; `moves` counts what is in its history."""

    tenant: TenantId
    id: PointerId
    namespace: str
    name: str
    kind: PointerKind
    manifest: str | None
    description: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    moves: int = 1
    created_by: UserId
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None

    def __post_init__(self) -> None:
        if not (is_pointer_name(self.namespace) and is_pointer_name(self.name)):
            raise ValueError("namespace and name of a Pointer are simple names")

    @property
    def is_frozen(self) -> bool:
        return self.kind is PointerKind.SNAPSHOT and self.manifest is not None

    @property
    def needs_promotion(self) -> bool:
        """Whether moving it makes something official: a corpus, or what a snapshot is frozen to."""
        return self.kind is not PointerKind.BUNDLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Where a pointer must stand for a move to happen; `manifest` None expects it to be empty."""

    manifest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A move that is wanted. `expected` None lets it happen wherever the pointer stands."""

    kind: MoveKind
    to: str | None
    expected: Expected | None = None
    reason: str | None = None
    moved_by: UserId
    moved_at: datetime
    session_id: SessionId | None = None
    run_id: RunId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PointerMove:
    """Number `no` in the history of a pointer; nothing is ever taken out of it."""

    pointer_id: PointerId
    no: int
    kind: MoveKind
    old: str | None
    new: str | None
    reason: str | None
    session_id: SessionId | None
    run_id: RunId | None
    moved_by: UserId
    moved_at: datetime


def is_pointer_name(value: str) -> bool:
    return _NAME.fullmatch(value) is not None
