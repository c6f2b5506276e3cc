"""Reading the audit: what was asked for, by whom, and what became of it."""

import heapq
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnkeeper.errors import EnvelopeInvalid, NotAllowed
from turnkeeper.model.audit import AuditEntry
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.ports.audit import AuditStore

SOUGHT_BY = ("verb", "outcome", "session_id", "run_id", "request_id", "trace_id", "user", "channel", "mode", "stage")
"""The facts that entries can be sought by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """One entry with its facts as values. `id` is its place: its chain and its number in it."""

    entry: AuditEntry
    facts: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.entry.chain}/{self.entry.no}"

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.facts["at"])

    @property
    def order(self) -> tuple[str, str, int]:
        """By the moment, then by the place, which no two share."""
        return self.at.isoformat(timespec="microseconds"), self.entry.chain, self.entry.no


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """`facts` are those that must be equal; `since` is in, `until` is not."""

    facts: Mapping[str, str] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        if unknown := sorted(self.facts.keys() - {*SOUGHT_BY}):
            raise ValueError(f"the audit is not sought by {unknown[0]!r}, but by {', '.join(SOUGHT_BY)}")

    def fits(self, found: Audited) -> bool:
        return (
            all(found.facts.get(name) == value for name, value in self.facts.items())
            and (self.since is None or found.at >= self.since)
            and (self.until is None or found.at < self.until)
        )


class Audit:
    """The audit of a tenant, for its owner and admins."""

    def __init__(self, store: AuditStore) -> None:
        self._store = store

    async def find(
        self,
        query: AuditQuery | None = None,
        *,
        principal: Principal = LOCAL,
        limit: int = 50,
        before: str | None = None,
    ) -> Sequence[Audited]:
        """The newest entries that fit, newest first; `before` is the `id` of the last one of the page before.

        Walks over the whole audit of the tenant, holding no more than a page of it.
        """
        wanted, newest = query or AuditQuery(), await self._place_of(before, principal)
        heap: list[tuple[tuple[str, str, int], Audited]] = []
        async for each in self._all(principal):
            if not wanted.fits(each) or (newest is not None and each.order >= newest):
                continue
            if len(heap) < limit:
                heapq.heappush(heap, (each.order, each))
            elif each.order > heap[0][0]:
                heapq.heapreplace(heap, (each.order, each))
        return [each for _, each in sorted(heap, key=lambda held: held[0], reverse=True)]

    async def export(self, *, principal: Principal = LOCAL) -> AsyncIterator[str]:
        """Every entry as one line of JSON, chain by chain in order, with all that is needed to verify it elsewhere."""
        async for each in self._all(principal):
            entry = each.entry
            line = {"chain": entry.chain, "no": entry.no, "hash": entry.hash.hex(), "body": entry.body}
            yield json.dumps({"tenant": entry.tenant, **line}, ensure_ascii=False)

    async def _all(self, principal: Principal) -> AsyncIterator[Audited]:
        _check_may_read(principal)
        async for entry in self._store.entries(principal.tenant):
            yield Audited(entry=entry, facts=json.loads(entry.body))

    async def _place_of(self, id: str | None, principal: Principal) -> tuple[str, str, int] | None:
        if id is None:
            return None
        async for each in self._all(principal):
            if each.id == id:
                return each.order
        raise EnvelopeInvalid.at("cursor", "is not an entry of this audit; leave it out to begin with the newest")


def _check_may_read(principal: Principal) -> None:
    if not principal.sees_whole_tenant:
        raise NotAllowed("Only owner and admin of a tenant may read its audit. Ask one of them.")
