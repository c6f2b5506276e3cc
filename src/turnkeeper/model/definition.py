"""How agents may be used in a tenant, and which models they think with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnkeeper.model.ids import AgentId, LayerId, TenantId, UserId
from turnkeeper.model.purpose import PolicyTemplate
from turnkeeper.model.scope import ChainLink, Level


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTraits:
    """What a definition says; None, or nothing, says nothing."""

    capabilities: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] | None = None
    model_profile: str | None = None
    policy: PolicyTemplate | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    needs_isolation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """Its code registers under the same id; a definition may be there before its code."""

    tenant: TenantId
    id: AgentId
    traits: AgentTraits = field(default_factory=AgentTraits)
    version: int = 1
    created_by: UserId
    created_at: datetime
    updated_at: datetime

    @property
    def link(self) -> ChainLink:
        return ChainLink(level=Level.AGENT, id=LayerId(self.id), revision=self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTraits:
    """The models of a profile, and what its flags forbid or demand."""

    chat_model: str
    params: Mapping[str, Any] = field(default_factory=dict)
    embedding_model: str | None = None
    reranker: str | None = None
    no_tool_calls: bool = False
    citations_required: bool = False
    no_external_network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    tenant: TenantId
    id: str
    traits: ModelTraits
    version: int = 1
    created_by: UserId
    created_at: datetime
    updated_at: datetime
