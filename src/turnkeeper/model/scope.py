"""What a session inherited, and what of it holds right now.

The inherited part is frozen with its hash when the session begins; what is taken away in a layer above is taken away at
once, what is added there comes with a rebase.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from turnkeeper.model.ids import LayerId, SessionId, TenantId
from turnkeeper.model.mount import Mount, MountKind, MountMode, MountRef
from turnkeeper.model.purpose import IN_PROCESS, STANDARD, PolicyTemplate


class Level(StrEnum):
    """Where a value comes from, from the general to the special."""

    TENANT = "tenant"
    PROJECT = "project"
    OBJECTIVE = "objective"
    AGENT = "agent"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink:
    """A layer as it was when a context was resolved."""

    level: Level
    id: LayerId
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """A mount that came from a layer: the first one that declared it. `revision` and `manifest` are as on a Mount."""

    kind: MountKind
    id: str
    source: Level
    mode: MountMode = MountMode.FOLLOW
    revision: int = 0
    manifest: str | None = None

    @property
    def ref(self) -> MountRef:
        return MountRef(kind=self.kind, id=self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a session inherited, as it was resolved. The same layers in the same state give the same context.

    `allowed_tools` holds one list of patterns for each layer that has one: a tool must be in all of them. `provenance`
    says which level gave a value, by the name of the field; of limits by `limits.NAME`, of lists by `prompt.0`.
    `allowed_models` are patterns for profiles and models; None is every one.
    """

    mounts: tuple[Inherited, ...] = ()
    policy: PolicyTemplate = STANDARD
    model_profile: str | None = None
    allowed_models: tuple[str, ...] | None = None
    allowed_tools: tuple[tuple[str, ...], ...] = ()
    blocked_tools: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    prompt: tuple[str, ...] = ()
    retrieval: Mapping[str, Any] = field(default_factory=dict)
    needs_isolation: bool = False
    chain: tuple[ChainLink, ...] = ()
    provenance: Mapping[str, Level] = field(default_factory=dict)

    def permits_model(self, name: str) -> bool:
        return self.allowed_models is None or matches(name, self.allowed_models)

    def permits_tool(self, name: str) -> bool:
        return all(matches(name, patterns) for patterns in self.allowed_tools) and not matches(name, self.blocked_tools)


NOTHING_INHERITED = Context()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveMount:
    """A mount that holds right now, and who gave it."""

    mount: Mount
    source: Level


class MountState(StrEnum):
    """Effective; or taken away by the session, excluded by a layer, or no longer there."""

    EFFECTIVE = "effective"
    REMOVED = "removed"
    EXCLUDED = "excluded"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class MountView:
    """A mount as it is told to its user: who gave it, and whether it can be used."""

    mount: Mount
    source: Level
    state: MountState


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionScope:
    """How far a session reaches at this moment. `views` are all its mounts.

    `is_suspended` when nothing goes on in it; `suspended_by` is the layer that is suspended, where one is.
    """

    tenant: TenantId
    session_id: SessionId
    context: Context = NOTHING_INHERITED
    mounts: tuple[EffectiveMount, ...] = ()
    views: tuple[MountView, ...] = ()
    is_suspended: bool = False
    suspended_by: ChainLink | None = None
    backend: str = IN_PROCESS

    def mount(self, ref: MountRef) -> Mount | None:
        return next((each.mount for each in self.mounts if each.mount.ref == ref), None)

    def of_kind(self, kind: MountKind) -> tuple[Mount, ...]:
        return tuple(each.mount for each in self.mounts if each.mount.kind is kind)


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of these patterns, such as `connector.*.write`, has this name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
