"""What we ask of a database about the audit."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Protocol

from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import TenantId


class AuditStore(Protocol):
    async def record(self, facts: AuditFacts) -> None:
        """Append one entry by itself: a refusal, or a change of settings that wrote nothing else."""

    async def anchor(self, *, at: datetime) -> int:
        """Write the heads of the chains that grew since the last anchor into the house's own chain; how many."""

    def entries(self, tenant: TenantId | None = None) -> AsyncIterator[AuditEntry]:
        """Every entry, chain by chain in order; of one tenant or of all."""
