"""Keeping a tenant within the bytes that its quota allows."""

from dataclasses import dataclass

from turnkeeper.errors import QuotaExceeded
from turnkeeper.model.blob import Blob
from turnkeeper.model.ids import TenantId
from turnkeeper.model.layer import Quota
from turnkeeper.ports.artifacts import ArtifactStore
from turnkeeper.ports.substrate import OutputStore
from turnkeeper.scope.directory import Directory


@dataclass(frozen=True, slots=True)
class StorageQuota:
    """Asked once content has come and before it is kept. Content that the tenant has already takes no room.

    Uploads that come at the same moment are each measured against what was kept before them.
    """

    directory: Directory
    artifacts: ArtifactStore
    outputs: OutputStore

    async def __call__(self, tenant: TenantId, blob: Blob) -> None:
        """Raises QuotaExceeded."""
        layer = await self.directory.tenant(tenant)
        most = layer.terms.quotas.get(Quota.STORAGE_BYTES) if layer else None
        if most is None or await self.artifacts.of_content(tenant, blob.sha256):
            return
        kept = (await self.outputs.totals(tenant)).get("blob_bytes", 0)
        if kept + blob.size > most:
            raise QuotaExceeded(Quota.STORAGE_BYTES, most)
