"""What we ask of a database about the audit."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Protocol

from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import TenantId


class AuditStore(Protocol):
    async def record(self, facts: AuditFacts) -> None:
        """Append one entry by itself: a refusal, or a change of settings that wrote nothing else."""

    async def anchor(self, *, at: datetime) -> int:
        """Write the heads of the chains that grew since the last anchor into the house's own chain; how many."""

    async def newest(self, tenant: TenantId) -> Sequence[AuditEntry]:
        """The newest entry of each chain of a tenant."""

    async def before(self, tenant: TenantId, chain: str, no: int, *, limit: int) -> Sequence[AuditEntry]:
        """Those that stand before this number of a chain, newest first."""

    def entries(self, tenant: TenantId | None = None) -> AsyncIterator[AuditEntry]:
        """Every entry, chain by chain in order; of one tenant or of all."""
