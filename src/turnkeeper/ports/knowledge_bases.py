"""What we ask of a database about knowledge bases."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import KnowledgeBaseId, SourceId, TenantId
from turnkeeper.model.knowledge_base import BaseLimits, KnowledgeBase, NewSource, Source
from turnkeeper.model.unit import Unit


class KnowledgeBaseStore(Protocol):
    async def create(self, base: KnowledgeBase, audit: AuditFacts) -> KnowledgeBase:
        """Keep a new base; one with a parent begins with the sources and units that the parent has at this moment.

        Returns it as it is kept. Raises KnowledgeBaseNotFound for a parent that is not there.
        """

    async def get(self, tenant: TenantId, base_id: KnowledgeBaseId) -> KnowledgeBase:
        """Raises KnowledgeBaseNotFound, also for one of another tenant."""

    async def list(self, tenant: TenantId, *, before: KnowledgeBaseId | None, limit: int) -> Sequence[KnowledgeBase]:
        """Newest first, from just before the given id."""

    async def add_source(
        self,
        tenant: TenantId,
        base_id: KnowledgeBaseId,
        new: NewSource,
        *,
        expected_revision: int | None,
        limits: BaseLimits,
        audit: AuditFacts,
    ) -> tuple[KnowledgeBase, Source]:
        """Add a source; one of the same name gives way, and the same content again changes nothing.

        What another source states too is kept for both, and found once. Raises KnowledgeBaseNotFound, RevisionMoved
        or KnowledgeBaseFull.
        """

    async def remove_source(
        self,
        tenant: TenantId,
        base_id: KnowledgeBaseId,
        source_id: SourceId,
        *,
        expected_revision: int | None,
        audit: AuditFacts,
    ) -> KnowledgeBase:
        """Later mounts do not see it any more. Raises KnowledgeBaseNotFound, SourceNotFound or RevisionMoved."""

    async def sources(self, tenant: TenantId, base_id: KnowledgeBaseId) -> Sequence[Source]:
        """The sources of a base as it is now, oldest first, without their content."""

    async def source(self, tenant: TenantId, base_id: KnowledgeBaseId, source_id: SourceId) -> Source:
        """One of them, with its content. Raises SourceNotFound."""

    async def units(
        self, tenant: TenantId, base_id: KnowledgeBaseId, *, after: int, limit: int
    ) -> Sequence[tuple[int, Unit]]:
        """The units of a base as it is now, in order, each with its number."""

    async def revisions(self, tenant: TenantId, ids: Collection[KnowledgeBaseId]) -> Mapping[KnowledgeBaseId, int]:
        """At which revision these bases are now; one that is gone is not in the answer."""
