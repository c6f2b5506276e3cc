"""What sessions inherit from: their tenant, its projects and their objectives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import LayerId, TenantId, UserId
from turnkeeper.model.mount import MountKind, MountMode, MountRef
from turnkeeper.model.purpose import PolicyTemplate
from turnkeeper.model.scope import ChainLink, Level

LAYERS = (Level.TENANT, Level.PROJECT, Level.OBJECTIVE)


class LayerStatus(StrEnum):
    """In a suspended layer nothing goes on; in an archived one nothing new begins."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    ARCHIVED = "archived"


class Quota(StrEnum):
    """What a tenant may have at most: bytes of content, runs in a calendar month (UTC), sessions that live."""

    STORAGE_BYTES = "storage_bytes"
    RUNS_MONTHLY = "runs_monthly"
    SESSIONS = "sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultMount:
    """What every session below gets. A pointer is followed, or fixed to where it stands when a session begins."""

    kind: MountKind
    id: str
    mode: MountMode = MountMode.FOLLOW

    @property
    def ref(self) -> MountRef:
        return MountRef(kind=self.kind, id=self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTerms:
    """What a layer says; None, or nothing, says nothing. Only a tenant has `allowed_models` and `quotas`."""

    mounts: tuple[DefaultMount, ...] = ()
    excluded: tuple[MountRef, ...] = ()
    policy: PolicyTemplate | None = None
    model_profile: str | None = None
    allowed_models: tuple[str, ...] | None = None
    allowed_tools: tuple[str, ...] | None = None
    blocked_tools: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    prompt: str | None = None
    retrieval: Mapping[str, Any] | None = None
    idle_for_seconds: int | None = None
    needs_isolation: bool = False
    quotas: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """`revision` counts its changes, and is what a context names. An objective belongs to a project."""

    tenant: TenantId
    level: Level
    id: LayerId
    name: str
    terms: LayerTerms = field(default_factory=LayerTerms)
    project_id: LayerId | None = None
    status: LayerStatus = LayerStatus.ACTIVE
    revision: int = 1
    created_by: UserId
    created_at: datetime
    updated_at: datetime

    def __post_init__(self) -> None:
        if self.level not in LAYERS:
            raise ValueError("a Layer is a tenant, a project or an objective")
        if (self.project_id is not None) != (self.level is Level.OBJECTIVE):
            raise ValueError("an objective, and nothing else, belongs to a project")
        if self.level is not Level.TENANT and (self.terms.quotas or self.terms.allowed_models is not None):
            raise ValueError("only a tenant has quotas and allowed models")

    @property
    def link(self) -> ChainLink:
        return ChainLink(level=self.level, id=self.id, revision=self.revision)
