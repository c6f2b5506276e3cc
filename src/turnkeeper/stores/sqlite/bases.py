"""Knowledge bases in a SQLite file."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from turnkeeper.errors import KnowledgeBaseFull, KnowledgeBaseNotFound, RevisionMoved, SourceNotFound
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import KnowledgeBaseId, SourceId, TenantId
from turnkeeper.model.knowledge_base import BaseLimits, KnowledgeBase, NewSource, Source
from turnkeeper.model.unit import Unit
from turnkeeper.stores import units as rows
from turnkeeper.stores.rows import json_text, micros
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.stores.sqlite.units import add_units, index_copies
from turnkeeper.wording import WordsByPart


class SqliteBases:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, base: KnowledgeBase, audit: AuditFacts) -> KnowledgeBase:
        return await self._database.write("create_base", lambda tx: self._create(tx, base, audit))

    def _create(self, tx: Tx, base: KnowledgeBase, audit: AuditFacts) -> KnowledgeBase:
        if base.parent_id is not None:
            parent = self._at(tx, base.tenant, base.parent_id, None)
            base = replace(base, sources=parent.sources, units=parent.units)
        params = rows.base_params(base)
        tx.execute(sql.insert_base, params)
        if base.parent_id is not None:
            tx.execute(sql.copy_sources, params)
            tx.execute(sql.copy_units, params)
            index_copies(tx, base.tenant, base.id)
        self._audit.append(tx, audit)
        return base

    async def get(self, tenant: TenantId, base_id: KnowledgeBaseId) -> KnowledgeBase:
        found = self._database.read(sql.get_base, {"tenant": tenant, "id": base_id})
        if not found:
            raise KnowledgeBaseNotFound(base_id)
        return rows.base_of(found[0])

    async def list(self, tenant: TenantId, *, before: KnowledgeBaseId | None, limit: int) -> Sequence[KnowledgeBase]:
        place = {"tenant": tenant, "before": before or "~", "limit": limit}
        return [rows.base_of(row) for row in self._database.read(sql.list_bases, place)]

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
        return await self._database.write(
            "add_source", lambda tx: self._add_source(tx, tenant, base_id, new, words, expected_revision, limits, audit)
        )

    def _add_source(
        self,
        tx: Tx,
        tenant: TenantId,
        base_id: KnowledgeBaseId,
        new: NewSource,
        words: Sequence[WordsByPart],
        expected_revision: int | None,
        limits: BaseLimits,
        audit: AuditFacts,
    ) -> tuple[KnowledgeBase, Source]:
        base = self._at(tx, tenant, base_id, expected_revision)
        self._audit.append(tx, audit)
        place = {"tenant": tenant, "base_id": base_id}
        present = [rows.source_of(row) for row in tx.execute(sql.sources_of_base, place).fetchall()]
        older = next((source for source in present if source.name == new.source.name), None)
        if older is not None and older.hash == new.source.hash:
            return base, replace(older, content=new.source.content)
        gone = older.units if older else 0
        if len(present) + (older is None) > limits.sources or base.units - gone + len(new.units) > limits.units:
            raise KnowledgeBaseFull(base_id, sources=limits.sources, units=limits.units)
        if older is not None:
            self._end_source(tx, tenant, base_id, older.id, base.revision + 1)
        source = replace(new.source, units=len(new.units))
        tx.execute(sql.insert_source, rows.source_params(tenant, base_id, source, since=base.revision + 1))
        add_units(tx, tenant, base_id, new.units, since=base.revision + 1, at=source.added_at, words=words)
        return self._advance(tx, base, int(older is None), len(new.units) - gone, source.added_at), source

    async def remove_source(
        self,
        tenant: TenantId,
        base_id: KnowledgeBaseId,
        source_id: SourceId,
        *,
        expected_revision: int | None,
        audit: AuditFacts,
    ) -> KnowledgeBase:
        return await self._database.write(
            "remove_source", lambda tx: self._remove_source(tx, tenant, base_id, source_id, expected_revision, audit)
        )

    def _remove_source(
        self,
        tx: Tx,
        tenant: TenantId,
        base_id: KnowledgeBaseId,
        source_id: SourceId,
        expected_revision: int | None,
        audit: AuditFacts,
    ) -> KnowledgeBase:
        base = self._at(tx, tenant, base_id, expected_revision)
        source = tx.execute(sql.get_source, {"tenant": tenant, "base_id": base_id, "id": source_id}).fetchone()
        if source is None:
            raise SourceNotFound(source_id)
        self._end_source(tx, tenant, base_id, source_id, base.revision + 1)
        self._audit.append(tx, audit)
        return self._advance(tx, base, -1, -source["units"], audit.at)

    async def sources(self, tenant: TenantId, base_id: KnowledgeBaseId) -> Sequence[Source]:
        found = self._database.read(sql.sources_of_base, {"tenant": tenant, "base_id": base_id})
        return [rows.source_of(row) for row in found]

    async def source(self, tenant: TenantId, base_id: KnowledgeBaseId, source_id: SourceId) -> Source:
        found = self._database.read(sql.get_source, {"tenant": tenant, "base_id": base_id, "id": source_id})
        if not found:
            raise SourceNotFound(source_id)
        return rows.source_of(found[0], content=found[0]["content"])

    async def units(
        self, tenant: TenantId, base_id: KnowledgeBaseId, *, after: int, limit: int
    ) -> Sequence[tuple[int, Unit]]:
        place = {"tenant": tenant, "place": base_id, "after": after, "limit": limit}
        return [(row["no"], rows.unit_of(row["data"])) for row in self._database.read(sql.units_of_base, place)]

    async def revisions(self, tenant: TenantId, ids: Collection[KnowledgeBaseId]) -> Mapping[KnowledgeBaseId, int]:
        found = self._database.read(sql.base_revisions, {"tenant": tenant, "ids": json_text(list(ids))})
        return {KnowledgeBaseId(row["id"]): row["revision"] for row in found}

    # --- inside a write

    def _at(self, tx: Tx, tenant: TenantId, base_id: KnowledgeBaseId, expected: int | None) -> KnowledgeBase:
        found = tx.execute(sql.get_base, {"tenant": tenant, "id": base_id}).fetchone()
        if found is None:
            raise KnowledgeBaseNotFound(base_id)
        base = rows.base_of(found)
        if expected is not None and expected != base.revision:
            raise RevisionMoved(base_id, expected=expected, actual=base.revision)
        return base

    def _end_source(
        self, tx: Tx, tenant: TenantId, base_id: KnowledgeBaseId, source_id: SourceId, revision: int
    ) -> None:
        place = {"tenant": tenant, "base_id": base_id, "place": base_id, "revision": revision}
        tx.execute(sql.end_source, place | {"id": source_id})
        tx.execute(sql.end_units_of_source, place | {"source_id": source_id})

    def _advance(self, tx: Tx, base: KnowledgeBase, sources: int, units: int, at: datetime) -> KnowledgeBase:
        counted = {"tenant": base.tenant, "id": base.id, "sources": sources, "units": units, "now": micros(at)}
        tx.execute(sql.advance_base, counted)
        return replace(
            base,
            revision=base.revision + 1,
            sources=base.sources + sources,
            units=base.units + units,
            updated_at=at,
        )
