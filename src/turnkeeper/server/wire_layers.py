"""What travels over HTTP about tenants, projects, objectives, users, agents and models."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field, JsonValue, WithJsonSchema

from turnkeeper.keeping.definitions import KnownAgent
from turnkeeper.keeping.layers import LIMITS
from turnkeeper.model.definition import AgentTraits, ModelProfile, ModelTraits
from turnkeeper.model.layer import DefaultMount, Layer, LayerTerms, Quota
from turnkeeper.model.mount import MountRef
from turnkeeper.model.purpose import PolicyTemplate
from turnkeeper.model.user import User
from turnkeeper.server.wire import Id, Inbound, Outbound, PlainText, Title
from turnkeeper.server.wire_mounts import PinIn, UnpinIn
from turnkeeper.server.wire_sessions import IdleSeconds, PolicyName

Pattern = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:@*?-]{1,128}$")]
Patterns = Annotated[list[Pattern], Field(max_length=500)]
Amount = Annotated[float, Field(ge=0, le=1e15)]
Whole = Annotated[int, Field(ge=0, le=10**15)]
LimitName = Annotated[str, WithJsonSchema({"type": "string", "enum": sorted(LIMITS)})]
QuotaName = Annotated[str, WithJsonSchema({"type": "string", "enum": sorted(Quota)})]
RoleName = Literal["owner", "admin", "member", "viewer", "agent"]


class TermsIn(Inbound):
    """What sessions below inherit; what is left out stays as it is, null takes it back."""

    mounts: Annotated[list[PinIn], Field(max_length=500)] | None = None
    excluded: Annotated[list[UnpinIn], Field(max_length=500)] | None = None
    policy: PolicyName | None = None
    model_profile: Id | None = None
    allowed_tools: Patterns | None = None
    blocked_tools: Patterns | None = None
    limits: dict[LimitName, Amount] | None = None
    prompt: PlainText | None = None
    retrieval: dict[str, JsonValue] | None = None
    idle_for_seconds: IdleSeconds | None = None
    needs_isolation: bool | None = None

    def applied_to(self, terms: LayerTerms) -> LayerTerms:
        return replace(terms, **{name: _TERMS[name](getattr(self, name)) for name in self.model_fields_set})


class TenantTermsIn(TermsIn):
    """A tenant says in addition which models may be used, and how much there may be of everything."""

    allowed_models: Patterns | None = None
    quotas: dict[QuotaName, Whole] | None = None


def _defaults(pins: list[PinIn] | None) -> tuple[DefaultMount, ...]:
    found = (each.pin for each in pins or ())
    return tuple(DefaultMount(kind=pin.kind, id=pin.ref.id, mode=pin.mode) for pin in found)


def _refs(refs: list[UnpinIn] | None) -> tuple[MountRef, ...]:
    return tuple(each.ref for each in refs or ())


def _same(value: Any) -> Any:
    return value


def _listed(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


_TERMS: Mapping[str, Any] = {
    "mounts": _defaults,
    "excluded": _refs,
    "policy": lambda name: None if name is None else PolicyTemplate(name),
    "model_profile": _same,
    "allowed_models": _listed,
    "allowed_tools": _listed,
    "blocked_tools": lambda names: tuple(names or ()),
    "limits": lambda limits: limits or {},
    "prompt": _same,
    "retrieval": _same,
    "idle_for_seconds": _same,
    "needs_isolation": bool,
    "quotas": lambda quotas: quotas or {},
}


class LayerIn(Inbound):
    id: Id | None = None
    name: Title
    terms: TermsIn = Field(default_factory=TermsIn)


class TenantIn(LayerIn):
    id: Id
    terms: TenantTermsIn = Field(default_factory=TenantTermsIn)


class ObjectiveIn(LayerIn):
    project_id: Id


class LayerChangeIn(Inbound):
    """What is to be different afterwards; what is left out stays as it is."""

    name: Title | None = None
    status: Literal["active", "suspended", "archived"] | None = None
    terms: TermsIn | None = None


class TenantChangeIn(LayerChangeIn):
    terms: TenantTermsIn | None = None


class TermsOut(Outbound):
    mounts: list[dict[str, str]]
    excluded: list[dict[str, str]]
    policy: str | None
    model_profile: str | None
    allowed_models: list[str] | None
    allowed_tools: list[str] | None
    blocked_tools: list[str]
    limits: dict[str, float]
    prompt: str | None
    retrieval: dict[str, Any] | None
    idle_for_seconds: int | None
    needs_isolation: bool
    quotas: dict[str, int]

    @classmethod
    def of(cls, terms: LayerTerms) -> "TermsOut":
        return cls.model_validate(msgspec.to_builtins(terms))


class LayerOut(Outbound):
    """A tenant, a project or an objective. `revision` is its ETag; a tenant of which nobody said anything has 0."""

    level: str
    id: str
    project_id: str | None
    name: str
    status: str
    revision: int
    terms: TermsOut
    created_by: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, layer: Layer) -> "LayerOut":
        return cls(
            level=layer.level.value,
            id=layer.id,
            project_id=layer.project_id,
            name=layer.name,
            status=layer.status.value,
            revision=layer.revision,
            terms=TermsOut.of(layer.terms),
            created_by=layer.created_by,
            created_at=layer.created_at,
            updated_at=layer.updated_at,
        )


class UserIn(Inbound):
    id: Id
    name: Title | None = None
    role: RoleName = "member"


class UserChangeIn(Inbound):
    name: Title | None = None
    role: RoleName | None = None
    status: Literal["active", "suspended"] | None = None


class UserOut(Outbound):
    id: str
    name: str | None
    role: str
    status: str
    version: int
    created_by: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, user: User) -> "UserOut":
        return cls(
            id=user.id,
            name=user.name,
            role=user.role.value,
            status=user.status.value,
            version=user.version,
            created_by=user.created_by,
            created_at=user.created_at,
            updated_at=user.updated_at,
        )


class AgentIn(Inbound):
    """How an agent may be used here; its code may come later."""

    capabilities: Patterns = Field(default_factory=list)
    allowed_tools: Patterns | None = None
    model_profile: Id | None = None
    policy: PolicyName | None = None
    limits: dict[LimitName, Amount] = Field(default_factory=dict)
    needs_isolation: bool = False

    @property
    def traits(self) -> AgentTraits:
        return AgentTraits(
            capabilities=tuple(self.capabilities),
            allowed_tools=_listed(self.allowed_tools),
            model_profile=self.model_profile,
            policy=None if self.policy is None else PolicyTemplate(self.policy),
            limits=self.limits,
            needs_isolation=self.needs_isolation,
        )


class AgentOut(Outbound):
    """`has_code` when it is registered on a living node; `version` is null where nobody defined it."""

    id: str
    has_code: bool
    version: int | None
    capabilities: list[str]
    allowed_tools: list[str] | None
    model_profile: str | None
    policy: str | None
    limits: dict[str, float]
    needs_isolation: bool

    @classmethod
    def of(cls, agent: KnownAgent) -> "AgentOut":
        definition = agent.definition
        traits = definition.traits if definition else AgentTraits()
        return cls(
            id=agent.id,
            has_code=agent.has_code,
            version=definition.version if definition else None,
            **msgspec.to_builtins(traits),
        )


class ModelIn(Inbound):
    chat_model: Annotated[PlainText, Field(min_length=1, max_length=128)]
    params: dict[str, JsonValue] = Field(default_factory=dict)
    embedding_model: Annotated[PlainText, Field(min_length=1, max_length=128)] | None = None
    reranker: Annotated[PlainText, Field(min_length=1, max_length=128)] | None = None
    no_tool_calls: bool = False
    citations_required: bool = False
    no_external_network: bool = False

    @property
    def traits(self) -> ModelTraits:
        return ModelTraits(**self.model_dump())


class ModelOut(Outbound):
    id: str
    version: int
    chat_model: str
    params: dict[str, Any]
    embedding_model: str | None
    reranker: str | None
    no_tool_calls: bool
    citations_required: bool
    no_external_network: bool

    @classmethod
    def of(cls, profile: ModelProfile) -> "ModelOut":
        return cls(id=profile.id, version=profile.version, **msgspec.to_builtins(profile.traits))
