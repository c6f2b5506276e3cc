"""What we ask of a database about the layers that sessions inherit from."""

from collections.abc import Sequence
from typing import Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import LayerId, TenantId
from turnkeeper.model.layer import Layer
from turnkeeper.model.scope import Level


class LayerStore(Protocol):
    async def create(self, layer: Layer, audit: AuditFacts) -> None:
        """Raises LayerExists."""

    async def get(self, tenant: TenantId, level: Level, id: LayerId) -> Layer:
        """Raises LayerNotFound, also for one of another tenant."""

    async def above(
        self, tenant: TenantId, project_id: LayerId | None = None, objective_id: LayerId | None = None
    ) -> Sequence[Layer]:
        """Those of a session, from the general to the special; what is not there is left out."""

    async def list(
        self, tenant: TenantId, level: Level, *, project_id: LayerId | None, before: LayerId | None, limit: int
    ) -> Sequence[Layer]:
        """Newest first; objectives of one project, or of all."""

    async def tenants(self, *, after: TenantId | None, limit: int) -> Sequence[Layer]:
        """All tenants of this house, by their ids."""

    async def change(self, layer: Layer, audit: AuditFacts, *, expected_revision: int) -> Layer:
        """Name, status and terms. Raises LayerNotFound or RevisionMoved."""
