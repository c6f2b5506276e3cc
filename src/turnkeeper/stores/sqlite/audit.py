"""The audit in a SQLite file: one chain per tenant and node start, its head kept in memory."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from turnkeeper.model.audit import GENESIS, AuditEntry, AuditFacts, chain_hash
from turnkeeper.model.ids import HOUSE, NodeId, TenantId
from turnkeeper.stores import rows
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql

PAGE = 500


class SqliteAudit:
    def __init__(self, database: SqliteDatabase, node: NodeId) -> None:
        self._database = database
        self._chain = str(node)
        self._heads: dict[TenantId, tuple[int, bytes]] = {}
        self._grown: set[TenantId] = set()
        database.on_rollback(self._heads.clear)

    def append(self, tx: Tx, facts: AuditFacts) -> None:
        """Chain one more entry. To be called last in a write: the head moves with it."""
        no, previous = self._heads.get(facts.tenant) or self._head(tx, facts.tenant)
        body = rows.audit_body(facts)
        digest = chain_hash(previous, facts.tenant, self._chain, no + 1, body)
        tx.execute(
            sql.append_audit,
            {"tenant": facts.tenant, "chain": self._chain, "no": no + 1, "body": body, "hash": digest},
        )
        self._heads[facts.tenant] = (no + 1, digest)
        self._grown.add(facts.tenant)

    async def record(self, facts: AuditFacts) -> None:
        await self._database.write("record_audit", lambda tx: self.append(tx, facts))

    async def anchor(self, *, at: datetime) -> int:
        grown, self._grown = self._grown - {HOUSE}, set()
        try:
            return await self._database.write("anchor_audit", lambda tx: self._anchor(tx, grown, at))
        except BaseException:
            self._grown |= grown
            raise

    async def newest(self, tenant: TenantId) -> Sequence[AuditEntry]:
        return [rows.audit_entry_of(row) for row in self._database.read(sql.newest_of_chains, {"tenant": tenant})]

    async def before(self, tenant: TenantId, chain: str, no: int, *, limit: int) -> Sequence[AuditEntry]:
        place: rows.Params = {"tenant": tenant, "chain": chain, "no": no, "limit": limit}
        return [rows.audit_entry_of(row) for row in self._database.read(sql.audit_before, place)]

    async def entries(self, tenant: TenantId | None = None) -> AsyncIterator[AuditEntry]:
        place: rows.Params = {"tenant": tenant or "", "chain": "", "no": 0, "limit": PAGE}
        while page := self._database.read(sql.audit_page, place):
            for row in page:
                if tenant is not None and row["tenant"] != tenant:
                    return
                yield rows.audit_entry_of(row)
            place |= {name: page[-1][name] for name in ("tenant", "chain", "no")}

    def _anchor(self, tx: Tx, grown: set[TenantId], at: datetime) -> int:
        heads = {tenant: self._heads.get(tenant) or self._head(tx, tenant) for tenant in sorted(grown)}
        if heads:
            said = {tenant: {"no": no, "hash": digest.hex()} for tenant, (no, digest) in heads.items()}
            facts = {"chain": self._chain, "heads": said}
            self.append(tx, AuditFacts(tenant=HOUSE, at=at, verb="anchor", outcome="accepted", facts=facts))
        return len(heads)

    def _head(self, tx: Tx, tenant: TenantId) -> tuple[int, bytes]:
        row: sqlite3.Row | None = tx.execute(sql.audit_head, {"tenant": tenant, "chain": self._chain}).fetchone()
        return (row["no"], bytes(row["hash"])) if row else (0, GENESIS)
