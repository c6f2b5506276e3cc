"""Keeping a tenant within the bytes that its quota allows."""

from dataclasses import dataclass

from turnkeeper.model.ids import TenantId
from turnkeeper.model.layer import Quota
from turnkeeper.scope.directory import Directory


@dataclass(frozen=True, slots=True)
class StorageQuota:
    """Asked once content has come. What there is of it is measured by the store, as it keeps the content."""

    directory: Directory

    async def __call__(self, tenant: TenantId) -> int | None:
        """How many bytes the tenant may keep; None where nobody said."""
        layer = await self.directory.tenant(tenant)
        return layer.terms.quotas.get(Quota.STORAGE_BYTES) if layer else None
