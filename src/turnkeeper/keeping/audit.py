"""Reading the audit: what was asked for, by whom, and what became of it."""

import asyncio
import heapq
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from turnkeeper.errors import EnvelopeInvalid, NotAllowed
from turnkeeper.model.audit import AuditEntry
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.ports.audit import AuditStore
from turnkeeper.ports.clock import Clock

SOUGHT_BY = ("verb", "outcome", "session_id", "run_id", "request_id", "trace_id", "user", "channel", "mode", "stage")
"""The facts that entries can be sought by."""

DONE = frozenset({"accepted", "archived", "cleared", "erased", "expired"})
"""The outcomes of what was done; every other one is the code of a refusal."""

SLACK = timedelta(seconds=10)
"""How much later than its moment an entry may be written."""

PAGE = 200
MOST_COUNTED = 50_000
LONGEST_NO = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """One entry with its facts as values. `id` is its place: its chain and its number in it."""

    entry: AuditEntry
    facts: Mapping[str, Any]
    at: datetime

    @property
    def id(self) -> str:
        return f"{self.entry.chain}/{self.entry.no}"

    @property
    def order(self) -> tuple[datetime, str, int]:
        """By the moment, then by the place, which no two share."""
        return self.at, self.entry.chain, self.entry.no

    @property
    def is_refusal(self) -> bool:
        return self.facts["outcome"] not in DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """`facts` are those that must be equal; `since` is in, `until` is not. `refused` is whether it was."""

    facts: Mapping[str, str] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    refused: bool | None = None

    def __post_init__(self) -> None:
        if unknown := sorted(self.facts.keys() - {*SOUGHT_BY}):
            raise ValueError(f"the audit is not sought by {unknown[0]!r}, but by {', '.join(SOUGHT_BY)}")

    def fits(self, found: Audited) -> bool:
        return (
            all(found.facts.get(name) == value for name, value in self.facts.items())
            and (self.since is None or found.at >= self.since)
            and (self.until is None or found.at < self.until)
            and (self.refused is None or found.is_refusal is self.refused)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedFor:
    """`reason` is the code of what was refused."""

    reason: str
    count: int
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """Where the span holds more entries than are counted at once it begins later than asked, and is not whole."""

    since: datetime
    until: datetime
    is_whole: bool
    items: tuple[RefusedFor, ...]


@dataclass(frozen=True, slots=True)
class _Walking:
    """One chain on the way back, before the first of these."""

    page: deque[Audited]
    first: Audited

    def __lt__(self, other: "_Walking") -> bool:
        return self.first.order > other.first.order


class Audit:
    """The audit of a tenant, for its owner and admins."""

    def __init__(self, store: AuditStore, clock: Clock) -> None:
        self._store, self._clock = store, clock

    async def find(
        self,
        query: AuditQuery | None = None,
        *,
        principal: Principal = LOCAL,
        limit: int = 50,
        before: str | None = None,
    ) -> Sequence[Audited]:
        """The newest entries that fit, newest first; `before` is the `id` of the last one of the page before.

        Walks from the newest entry of the tenant back to the last one that can be on the page.
        """
        _check_may_read(principal)
        wanted, newest = query or AuditQuery(), await self._place_of(before, principal)
        heap: list[tuple[tuple[datetime, str, int], Audited]] = []
        async for each in self._newest(principal, wanted.since):
            if len(heap) == limit and heap and each.at < heap[0][1].at - SLACK:
                break
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

    async def reasons(
        self, *, since: datetime | None = None, until: datetime | None = None, principal: Principal = LOCAL
    ) -> Refusals:
        """Why how much was refused in a span, the most frequent reason first; the last day unless said.

        Looks at no more than `MOST_COUNTED` entries, the newest ones, and says from when on they are.
        """
        end = until or self._clock.now()
        begin = since or end - timedelta(days=1)
        wanted, looked_at, is_whole = AuditQuery(since=begin, until=end, refused=True), 0, True
        found: dict[str, list[datetime]] = {}
        async for each in self._newest(principal, begin):
            looked_at += 1
            if looked_at > MOST_COUNTED:
                begin, is_whole = each.at, False
                break
            if wanted.fits(each):
                found.setdefault(each.facts["outcome"], []).append(each.at)
        items = [RefusedFor(reason=reason, count=len(at), last_at=max(at)) for reason, at in found.items()]
        items.sort(key=lambda item: (-item.count, item.reason))
        return Refusals(since=begin, until=end, is_whole=is_whole, items=tuple(items))

    async def _newest(self, principal: Principal, since: datetime | None) -> AsyncIterator[Audited]:
        """From the newest entry back, up to what lies before a moment; out of order by no more than `SLACK`.

        A chain tells its entries in the order of their writing, so that of each only its newer end is read.
        """
        _check_may_read(principal)
        earliest = None if since is None else since - SLACK
        ends = [_audited(entry) for entry in await self._store.newest(principal.tenant)]
        heap = [_Walking(deque([end]), end) for end in ends]
        heapq.heapify(heap)
        while heap:
            walking = heapq.heappop(heap)
            each = walking.page.popleft()
            if earliest is not None and each.at < earliest:
                continue
            yield each
            if not walking.page:
                entry = each.entry
                page = await self._store.before(entry.tenant, entry.chain, entry.no, limit=PAGE)
                walking.page.extend(map(_audited, page))
                await asyncio.sleep(0)  # Where reading never waits, others get their turn.
            if walking.page:
                heapq.heappush(heap, _Walking(walking.page, walking.page[0]))

    async def _all(self, principal: Principal) -> AsyncIterator[Audited]:
        _check_may_read(principal)
        async for entry in self._store.entries(principal.tenant):
            yield _audited(entry)

    async def _place_of(self, id: str | None, principal: Principal) -> tuple[datetime, str, int] | None:
        if id is None:
            return None
        chain, _, no = id.rpartition("/")
        if chain and no.isascii() and no.isdigit() and len(no) < LONGEST_NO:
            for entry in await self._store.before(principal.tenant, chain, int(no) + 1, limit=1):
                if entry.no == int(no):
                    return _audited(entry).order
        raise EnvelopeInvalid.at("cursor", "is not an entry of this audit; leave it out to begin with the newest")


def _audited(entry: AuditEntry) -> Audited:
    facts = json.loads(entry.body)
    return Audited(entry=entry, facts=facts, at=datetime.fromisoformat(facts["at"]))


def _check_may_read(principal: Principal) -> None:
    if not principal.sees_whole_tenant:
        raise NotAllowed("Only owner and admin of a tenant may read its audit. Ask one of them.")
