"""The audit in a PostgreSQL database: a few chains per tenant and node start, their heads kept in memory.

A chain takes one entry after the other, and several intakes are on their way at once. So a node has a few lanes, each
with chains of its own; whoever writes an entry has a lane to itself until that write is durable.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

import asyncpg

from turnkeeper.errors import StoreUnavailable
from turnkeeper.model.audit import GENESIS, AuditEntry, AuditFacts, chain_hash
from turnkeeper.model.ids import HOUSE, NodeId, TenantId
from turnkeeper.stores import rows
from turnkeeper.stores.postgres.database import PostgresDatabase, Row, sql

LANES = 4
MOST_TRIES = 5
PAGE = 500

T = TypeVar("T")


class Lane:
    """One chain per tenant. Its head moves only after the entry is durable."""

    def __init__(self, database: PostgresDatabase, chain: str) -> None:
        self._database = database
        self._heads: dict[TenantId, tuple[int, bytes]] = {}
        self.chain = chain
        self.grown: set[TenantId] = set()

    async def next_entry(self, facts: AuditFacts) -> AuditEntry:
        """What is to be appended for these facts. Looks for the head first, so it is asked outside of a transaction."""
        no, previous = await self.head(facts.tenant)
        body = rows.audit_body(facts)
        digest = chain_hash(previous, facts.tenant, self.chain, no + 1, body)
        return AuditEntry(tenant=facts.tenant, chain=self.chain, no=no + 1, body=body, hash=digest)

    async def head(self, tenant: TenantId) -> tuple[int, bytes]:
        """The newest durable entry. What is looked up is not kept: the lane may be in use by someone else."""
        if tenant in self._heads:
            return self._heads[tenant]
        found = await self._database.read(sql.audit_head, {"tenant": tenant, "chain": self.chain})
        return (found[0]["no"], found[0]["hash"]) if found else (0, GENESIS)

    def keep(self, entry: AuditEntry) -> None:
        """The entry is durable: the next one follows it."""
        self._heads[entry.tenant] = (entry.no, entry.hash)
        self.grown.add(entry.tenant)

    def forget(self) -> None:
        """The chain is longer than was known: look before the next write."""
        self._heads.clear()


class PostgresAudit:
    def __init__(self, database: PostgresDatabase, node: NodeId) -> None:
        self._database = database
        self._lanes = tuple(Lane(database, f"{node}/{number}") for number in range(LANES))
        self._free: asyncio.LifoQueue[Lane] = asyncio.LifoQueue()
        for lane in reversed(self._lanes):
            self._free.put_nowait(lane)

    async def append(self, facts: AuditFacts, write: Callable[[AuditEntry], Awaitable[T | None]]) -> T | None:
        """Have a write done that appends an entry with these facts. None says that nothing was written.

        A write of ours whose connection broke may turn out to be durable after all, and its entry then has the place
        that this one was made for; so this one is made again.
        """
        for _ in range(MOST_TRIES):
            async with self._lane() as lane:
                entry = await lane.next_entry(facts)
                try:
                    written = await write(entry)
                except asyncpg.UniqueViolationError as error:
                    if error.constraint_name != "audit_pkey":
                        raise
                    lane.forget()
                    continue
                if written is not None:
                    lane.keep(entry)
                return written
        raise StoreUnavailable("The audit cannot be appended to.")

    @contextlib.asynccontextmanager
    async def _lane(self) -> AsyncIterator[Lane]:
        """A lane to oneself."""
        lane = await self._free.get()
        try:
            yield lane
        finally:
            self._free.put_nowait(lane)

    async def record(self, facts: AuditFacts) -> None:
        await self._database.finish(self.append(facts, lambda entry: self._write("record_audit", entry)))

    async def _write(self, name: str, entry: AuditEntry) -> list[Row]:
        return await self._database.write(name, sql.append_audit, entry_params(entry))

    async def anchor(self, *, at: datetime) -> int:
        return await self._database.finish(self._anchor(at))

    async def _anchor(self, at: datetime) -> int:
        """One entry for each lane that grew, in the same form as a node with a single chain writes it."""
        grown = {lane: lane.grown - {HOUSE} for lane in self._lanes if lane.grown - {HOUSE}}
        for lane in grown:
            lane.grown = set()
        try:
            for lane, tenants in grown.items():
                heads = {tenant: await lane.head(tenant) for tenant in sorted(tenants)}
                await self._anchor_lane(lane, heads, at)
        except BaseException:
            for lane, tenants in grown.items():
                lane.grown |= tenants
            raise
        return sum(len(tenants) for tenants in grown.values())

    async def _anchor_lane(self, lane: Lane, heads: dict[TenantId, tuple[int, bytes]], at: datetime) -> None:
        said = {tenant: {"no": no, "hash": digest.hex()} for tenant, (no, digest) in heads.items()}
        facts = {"chain": lane.chain, "heads": said}
        anchor = AuditFacts(tenant=HOUSE, at=at, verb="anchor", outcome="accepted", facts=facts)
        await self.append(anchor, lambda entry: self._write("anchor_audit", entry))

    async def newest(self, tenant: TenantId) -> Sequence[AuditEntry]:
        return [rows.audit_entry_of(row) for row in await self._database.read(sql.newest_of_chains, {"tenant": tenant})]

    async def before(self, tenant: TenantId, chain: str, no: int, *, limit: int) -> Sequence[AuditEntry]:
        place: rows.Params = {"tenant": tenant, "chain": chain, "no": no, "limit": limit}
        return [rows.audit_entry_of(row) for row in await self._database.read(sql.audit_before, place)]

    async def entries(self, tenant: TenantId | None = None) -> AsyncIterator[AuditEntry]:
        place: rows.Params = {"tenant": tenant or "", "chain": "", "no": 0, "limit": PAGE}
        while page := await self._database.read(sql.audit_page, place):
            for row in page:
                if tenant is not None and row["tenant"] != tenant:
                    return
                yield rows.audit_entry_of(row)
            place |= {name: page[-1][name] for name in ("tenant", "chain", "no")}


def entry_params(entry: AuditEntry) -> rows.Params:
    return {
        "audit_tenant": entry.tenant,
        "audit_chain": entry.chain,
        "audit_no": entry.no,
        "audit_body": entry.body,
        "audit_hash": entry.hash,
    }
