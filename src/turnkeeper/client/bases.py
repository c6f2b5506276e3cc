"""Knowledge bases, looked after from a distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part, reading
from turnkeeper.client.shapes import Session, read, session_of
from turnkeeper.model.ids import KnowledgeBaseId, SourceId, UserId
from turnkeeper.model.knowledge_base import SourceKind
from turnkeeper.model.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBase:
    id: KnowledgeBaseId
    name: str
    created_by: UserId
    created_at: datetime
    updated_at: datetime
    revision: int
    sources: int
    units: int
    parent_id: KnowledgeBaseId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    id: SourceId
    name: str
    kind: SourceKind
    hash: str
    added_at: datetime
    units: int = 0
    content: str | None = None


class Bases(Part):
    async def create(self, name: str, *, parent_id: str | None = None) -> KnowledgeBase:
        """A new base, empty or with all that its parent has now. Either may change without the other."""
        return read(await self._ask("POST", "kbs", body={"name": name, "parent_id": parent_id}), KnowledgeBase)

    async def get(self, base_id: str) -> KnowledgeBase:
        """Raises KnowledgeBaseNotFound, also for one of another tenant."""
        return await self._get(KnowledgeBase, "kbs", base_id)

    async def list(self, *, before: str | None = None, limit: int = 50) -> Page[KnowledgeBase]:
        """Newest first."""
        return await self._page(reading(KnowledgeBase), "kbs", cursor=before, limit=limit)

    async def add_source(
        self,
        base_id: str,
        name: str,
        content: str,
        *,
        kind: SourceKind | str = SourceKind.TEXT,
        expected_revision: int | None = None,
    ) -> tuple[KnowledgeBase, Source]:
        """Read a text into a base. A source of the same name gives way; the same content again changes nothing."""
        return await self._added(base_id, {"name": name, "content": content, "kind": kind}, expected_revision)

    async def save_session(
        self, base_id: str, session_id: str, *, expected_revision: int | None = None
    ) -> tuple[KnowledgeBase, Source]:
        """Put what a session knows by now into a base, as one source; saving it again takes the place of the first."""
        return await self._added(base_id, {"session_id": session_id}, expected_revision)

    async def _added(self, base_id: str, body: Mapping[str, Any], revision: int | None) -> tuple[KnowledgeBase, Source]:
        told = await self._ask("POST", "kbs", base_id, "sources", body=body, if_match=revision)
        return await self.get(base_id), read(told, Source)

    async def remove_source(
        self, base_id: str, source_id: str, *, expected_revision: int | None = None
    ) -> KnowledgeBase:
        """Sessions that mounted the base before still see the source, as it was then."""
        told = await self._ask("DELETE", "kbs", base_id, "sources", source_id, if_match=expected_revision)
        return await self.get(base_id) if told is None else read(told, KnowledgeBase)

    async def source(self, base_id: str, source_id: str) -> Source:
        """One source with its content. Raises SourceNotFound."""
        return await self._get(Source, "kbs", base_id, "sources", source_id)

    async def sources(self, base_id: str) -> Sequence[Source]:
        """Oldest first, without their content."""
        return await self._all(reading(Source), "kbs", base_id, "sources")

    async def units(self, base_id: str, *, after: int = 0, limit: int = 100) -> Page[tuple[int, Unit]]:
        return await self._page(_numbered, "kbs", base_id, "units", cursor=after or None, limit=limit)

    async def mount(self, session_id: str, base_id: str, *, expected_version: int | None = None) -> Session:
        """Let a session use a base as it is now. Mounting it again brings it up to date; what it inherited stays."""
        return session_of(await self._ask("PUT", "sessions", session_id, "mounts", base_id, if_match=expected_version))

    async def unmount(self, session_id: str, base_id: str, *, expected_version: int | None = None) -> Session:
        """Take a base away from a session, at once: a turn that is running does not see it any more either."""
        told = await self._ask("DELETE", "sessions", session_id, "mounts", base_id, if_match=expected_version)
        return session_of(told or await self._ask("GET", "sessions", session_id))


def _numbered(told: Mapping[str, Any]) -> tuple[int, Unit]:
    return told["no"], read(told["unit"], Unit)
