"""Knowledge bases in a PostgreSQL database."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from turnkeeper.errors import KnowledgeBaseFull, KnowledgeBaseNotFound, RevisionMoved, SourceNotFound
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import KnowledgeBaseId, SourceId, TenantId
from turnkeeper.model.knowledge_base import BaseLimits, KnowledgeBase, NewSource, Source
from turnkeeper.model.unit import Unit
from turnkeeper.stores import units as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Tx, sql
from turnkeeper.stores.postgres.units import add_units
from turnkeeper.stores.rows import micros
from turnkeeper.wording import WordsByPart


class PostgresBases:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, base: KnowledgeBase, audit: AuditFacts) -> KnowledgeBase:
        created = await self._database.finish(self._audit.append(audit, lambda entry: self._create(base, entry)))
        assert created is not None
        return created

    async def _create(self, base: KnowledgeBase, entry: AuditEntry) -> KnowledgeBase:
        async with self._database.transaction("create_base") as tx:
            if base.parent_id is not None:
                parent = await self._at(tx, base.tenant, base.parent_id, None)
                base = replace(base, sources=parent.sources, units=parent.units)
            params = rows.base_params(base)
            await tx.run(sql.insert_base, params)
            if base.parent_id is not None:
                await tx.run(sql.copy_sources, params)
                await tx.run(sql.copy_units, params)
            await tx.run(sql.append_audit, entry_params(entry))
            return base

    async def get(self, tenant: TenantId, base_id: KnowledgeBaseId) -> KnowledgeBase:
        found = await self._database.read(sql.get_base, {"tenant": tenant, "id": base_id})
        if not found:
            raise KnowledgeBaseNotFound(base_id)
        return rows.base_of(found[0])

    async def list(self, tenant: TenantId, *, before: KnowledgeBaseId | None, limit: int) -> Sequence[KnowledgeBase]:
        place = {"tenant": tenant, "before": before or "~", "limit": limit}
        return [rows.base_of(row) for row in await self._database.read(sql.list_bases, place)]

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
        # In a thread: the words of a long source take a while, and nobody else should wait for them.
        words = await asyncio.to_thread(rows.words_of_units, new.units)
        added = await self._database.finish(
            self._audit.append(
                audit, lambda entry: self._add_source(tenant, base_id, new, words, expected_revision, limits, entry)
            )
        )
        assert added is not None
        return added

    async def _add_source(
        self,
        tenant: TenantId,
        base_id: KnowledgeBaseId,
        new: NewSource,
        words: Sequence[WordsByPart],
        expected_revision: int | None,
        limits: BaseLimits,
        entry: AuditEntry,
    ) -> tuple[KnowledgeBase, Source]:
        async with self._database.transaction("add_source") as tx:
            await tx.run(sql.append_audit, entry_params(entry))
            return await self._add_source_in(tx, tenant, base_id, new, words, expected_revision, limits)

    async def _add_source_in(
        self,
        tx: Tx,
        tenant: TenantId,
        base_id: KnowledgeBaseId,
        new: NewSource,
        words: Sequence[WordsByPart],
        expected_revision: int | None,
        limits: BaseLimits,
    ) -> tuple[KnowledgeBase, Source]:
        base = await self._at(tx, tenant, base_id, expected_revision)
        place = {"tenant": tenant, "base_id": base_id}
        present = [rows.source_of(row) for row in await tx.run(sql.sources_of_base, place)]
        older = next((source for source in present if source.name == new.source.name), None)
        if older is not None and older.hash == new.source.hash:
            return base, replace(older, content=new.source.content)
        gone = older.units if older else 0
        if len(present) + (older is None) > limits.sources or base.units - gone + len(new.units) > limits.units:
            raise KnowledgeBaseFull(base_id, sources=limits.sources, units=limits.units)
        if older is not None:
            await self._end_source(tx, tenant, base_id, older.id, base.revision + 1)
        source = replace(new.source, units=len(new.units))
        await tx.run(sql.insert_source, rows.source_params(tenant, base_id, source, since=base.revision + 1))
        await add_units(tx, tenant, base_id, new.units, since=base.revision + 1, at=source.added_at, words=words)
        return await self._advance(tx, base, int(older is None), len(new.units) - gone, source.added_at), source

    async def remove_source(
        self,
        tenant: TenantId,
        base_id: KnowledgeBaseId,
        source_id: SourceId,
        *,
        expected_revision: int | None,
        audit: AuditFacts,
    ) -> KnowledgeBase:
        left = await self._database.finish(
            self._audit.append(
                audit, lambda entry: self._remove_source(tenant, base_id, source_id, expected_revision, audit.at, entry)
            )
        )
        assert left is not None
        return left

    async def _remove_source(
        self,
        tenant: TenantId,
        base_id: KnowledgeBaseId,
        source_id: SourceId,
        expected_revision: int | None,
        at: datetime,
        entry: AuditEntry,
    ) -> KnowledgeBase:
        async with self._database.transaction("remove_source") as tx:
            base = await self._at(tx, tenant, base_id, expected_revision)
            source = await tx.one(sql.get_source, {"tenant": tenant, "base_id": base_id, "id": source_id})
            if source is None:
                raise SourceNotFound(source_id)
            await self._end_source(tx, tenant, base_id, source_id, base.revision + 1)
            await tx.run(sql.append_audit, entry_params(entry))
            return await self._advance(tx, base, -1, -source["units"], at)

    async def sources(self, tenant: TenantId, base_id: KnowledgeBaseId) -> Sequence[Source]:
        found = await self._database.read(sql.sources_of_base, {"tenant": tenant, "base_id": base_id})
        return [rows.source_of(row) for row in found]

    async def source(self, tenant: TenantId, base_id: KnowledgeBaseId, source_id: SourceId) -> Source:
        found = await self._database.read(sql.get_source, {"tenant": tenant, "base_id": base_id, "id": source_id})
        if not found:
            raise SourceNotFound(source_id)
        return rows.source_of(found[0], content=found[0]["content"])

    async def units(
        self, tenant: TenantId, base_id: KnowledgeBaseId, *, after: int, limit: int
    ) -> Sequence[tuple[int, Unit]]:
        place = {"tenant": tenant, "place": base_id, "after": after, "limit": limit}
        return [(row["no"], rows.unit_of(row["data"])) for row in await self._database.read(sql.units_of_base, place)]

    async def revisions(self, tenant: TenantId, ids: Collection[KnowledgeBaseId]) -> Mapping[KnowledgeBaseId, int]:
        found = await self._database.read(sql.base_revisions, {"tenant": tenant, "ids": list(ids)})
        return {KnowledgeBaseId(row["id"]): row["revision"] for row in found}

    # --- inside a write

    async def _at(self, tx: Tx, tenant: TenantId, base_id: KnowledgeBaseId, expected: int | None) -> KnowledgeBase:
        found = await tx.one(sql.lock_base, {"tenant": tenant, "id": base_id})
        if found is None:
            raise KnowledgeBaseNotFound(base_id)
        base = rows.base_of(found)
        if expected is not None and expected != base.revision:
            raise RevisionMoved(base_id, expected=expected, actual=base.revision)
        return base

    async def _end_source(
        self, tx: Tx, tenant: TenantId, base_id: KnowledgeBaseId, source_id: SourceId, revision: int
    ) -> None:
        place = {"tenant": tenant, "base_id": base_id, "place": base_id, "revision": revision}
        await tx.run(sql.end_source, place | {"id": source_id})
        await tx.run(sql.end_units_of_source, place | {"source_id": source_id})

    async def _advance(self, tx: Tx, base: KnowledgeBase, sources: int, units: int, at: datetime) -> KnowledgeBase:
        counted = {"tenant": base.tenant, "id": base.id, "sources": sources, "units": units, "now": micros(at)}
        await tx.run(sql.advance_base, counted)
        return replace(
            base,
            revision=base.revision + 1,
            sources=base.sources + sources,
            units=base.units + units,
            updated_at=at,
        )
