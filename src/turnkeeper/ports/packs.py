"""What we ask of a database about packs."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import TenantId
from turnkeeper.model.pack import PackOverride, PushedPack


class PackStore(Protocol):
    async def push(self, pack: PushedPack, audit: AuditFacts) -> PushedPack:
        """Keep a pack for good. The same files again change nothing, and the first push is returned.

        Raises PackImmutable when this version is there with other files.
        """

    async def get(self, tenant: TenantId, pack_id: str, version: str | None = None) -> PushedPack:
        """One version, or the highest. Raises PackNotFound, also for a pack of another tenant."""

    async def list(self, tenant: TenantId, *, after: tuple[str, str] | None, limit: int) -> Sequence[PushedPack]:
        """By id and then newest version last, from just after an id and a version; without their files."""

    async def overrides(self, tenant: TenantId, pack_id: str) -> Mapping[str, PackOverride]:
        """What the tenant wants otherwise, by key, those that are switched off too."""

    async def set_override(self, tenant: TenantId, pack_id: str, override: PackOverride, audit: AuditFacts) -> None:
        """From the next turn on, on every node."""

    async def drop_override(self, tenant: TenantId, pack_id: str, key: str, audit: AuditFacts) -> bool:
        """Whether there was one."""
