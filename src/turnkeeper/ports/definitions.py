"""What we ask of a database about agent definitions and model profiles."""

from collections.abc import Sequence
from typing import Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.definition import AgentDefinition, ModelProfile
from turnkeeper.model.ids import AgentId, TenantId


class DefinitionStore(Protocol):
    async def put_agent(
        self, definition: AgentDefinition, audit: AuditFacts, *, expected_version: int | None
    ) -> AgentDefinition:
        """Keep it, in place of the one before if there is one. Raises RevisionMoved."""

    async def agent(self, tenant: TenantId, id: AgentId) -> AgentDefinition | None: ...

    async def agents(self, tenant: TenantId, *, after: str, limit: int) -> Sequence[AgentDefinition]: ...

    async def remove_agent(self, tenant: TenantId, id: AgentId, audit: AuditFacts) -> bool:
        """Whether there was one."""

    async def put_model(
        self, profile: ModelProfile, audit: AuditFacts, *, expected_version: int | None
    ) -> ModelProfile:
        """Raises RevisionMoved."""

    async def model(self, tenant: TenantId, id: str) -> ModelProfile | None: ...

    async def models(self, tenant: TenantId, *, after: str, limit: int) -> Sequence[ModelProfile]: ...

    async def remove_model(self, tenant: TenantId, id: str, audit: AuditFacts) -> bool:
        """Whether there was one."""
