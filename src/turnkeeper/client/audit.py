"""The audit of a tenant, read from a distance."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part

if TYPE_CHECKING:
    from turnkeeper.keeping.audit import AuditQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """One entry with its facts; `hash` binds it to the one before."""

    id: str
    facts: Mapping[str, Any]
    hash: str

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.facts["at"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedFor:
    reason: str
    count: int
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """Where the span holds too many entries it begins later than asked, and is not whole."""

    since: datetime
    until: datetime
    is_whole: bool
    items: tuple[RefusedFor, ...]


class Audit(Part):
    async def find(
        self, query: "AuditQuery | None" = None, *, limit: int = 50, before: str | None = None
    ) -> Page[Audited]:
        """The newest entries that fit, newest first; `before` is the `id` of the last one of the page before."""
        asked: dict[str, Any] = {}
        if query is not None:
            asked = {**query.facts, "since": query.since, "until": query.until, "refused": query.refused}
        return await self._page(_audited_of, "audit", cursor=before, limit=limit, **asked)

    async def reasons(self, *, since: datetime | None = None, until: datetime | None = None) -> Refusals:
        """Why how much was refused in a span, the most frequent reason first; the last day unless said."""
        return await self._get(Refusals, "audit", "reasons", since=since, until=until)

    async def export(self) -> AsyncGenerator[str, None]:
        """Every entry as one line of JSON, chain by chain in order, with all that is needed to verify it elsewhere."""
        rest = b""
        async with aclosing(self._content("audit", "export")) as pieces:
            async for piece in pieces:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield line.decode()


def _audited_of(told: Mapping[str, Any]) -> Audited:
    facts = {name: told[name] for name in ("at", "verb", "outcome")} | told["facts"]
    return Audited(id=told["id"], facts=facts, hash=told["hash"])
