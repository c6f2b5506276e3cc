"""Removing content that nobody refers to, and never any that somebody does.

Content is referred to by a manifest, by what came out of a session, and by whatever names it or one of its artifacts:
messages, what was sent and is no message yet, mounts, contexts, layers. The last of these are read without haste; then
each content is claimed, looked at once more, and removed in one transaction.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from turnkeeper.model.blob import Blob
from turnkeeper.model.ids import TenantId
from turnkeeper.ports.artifacts import BlobStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.substrate import CollectionStore

LOOKED_AT_TOGETHER = 10_000
REMOVED_TOGETHER = 50
_NAME = re.compile(r"[A-Za-z0-9_.@:-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """How much was removed."""

    blobs: int = 0
    bytes: int = 0
    uploads: int = 0


@dataclass(frozen=True, slots=True)
class Collector:
    store: CollectionStore
    blobs: BlobStore
    clock: Clock
    grace_seconds: float

    async def __call__(self, tenant: TenantId | None = None, *, grace_seconds: float | None = None) -> Collected:
        """Of one tenant, or of all; what was kept within the grace period stays."""
        grace = timedelta(seconds=self.grace_seconds if grace_seconds is None else grace_seconds)
        gone: list[Blob] = []
        for each in await self.store.tenants() if tenant is None else [tenant]:
            gone += await self._collect(each, grace)
        before = self.clock.now() - grace
        uploads = await self.store.sweep_uploads(before=before) + await self.blobs.sweep(before=before)
        return Collected(blobs=len(gone), bytes=sum(blob.size for blob in gone), uploads=uploads)

    async def _collect(self, tenant: TenantId, grace: timedelta) -> list[Blob]:
        gone: list[Blob] = []
        since, after = self.clock.now(), ""
        before = since - grace
        while found := await self.store.candidates(tenant, before=before, after=after, limit=LOOKED_AT_TOGETHER):
            after = found[-1][0].sha256
            named = await self._named(tenant, {name for blob, names in found for name in (blob.sha256, *names)})
            loose = [blob for blob, names in found if named.isdisjoint((blob.sha256, *names))]
            for begin in range(0, len(loose), REMOVED_TOGETHER):
                part: Sequence[Blob] = loose[begin : begin + REMOVED_TOGETHER]
                removed = await self.store.remove(tenant, part, before=before, since=since)
                await self.blobs.drop(removed)
                gone += removed
        return gone

    async def _named(self, tenant: TenantId, wanted: set[str]) -> set[str]:
        """Which of these hashes and ids are mentioned anywhere."""
        named: set[str] = set()
        async for text in self.store.mentions(tenant):
            for word in _NAME.findall(text):
                named |= {word, word.rpartition(":")[2], word.removeprefix("artifact:")} & wanted
        return named
