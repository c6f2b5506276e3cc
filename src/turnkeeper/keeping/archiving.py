"""Writing down what a session was that has long been over, as one artifact."""

import hashlib
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from turnkeeper.errors import StoreUnavailable
from turnkeeper.keeping.resuming import Resuming, SessionEvent
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import ArtifactId, Subject
from turnkeeper.model.manifest import ManifestEntry
from turnkeeper.model.principal import Principal
from turnkeeper.model.session import Session
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.erasure import OverSession
from turnkeeper.ports.store import Store
from turnkeeper.substrate.artifacts import ArtifactShelf
from turnkeeper.substrate.publishing import new_manifest

log = logging.getLogger(__name__)

AT_ONCE = 200
PATH = "session.json"
_LATER = ("archived_at", "archive", "agent_head", "dialogue")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archiving:
    """The same session gives the same bytes, so that trying again leaves nothing behind."""

    store: Store
    shelf: ArtifactShelf
    resuming: Resuming
    clock: Clock
    archive_seconds: float

    async def __call__(self) -> int:
        """Archive what has been over for long enough; says how many sessions."""
        before = self.clock.now() - timedelta(seconds=self.archive_seconds)
        due = [each async for each in self.store.retention.over(before=before) if each.archived_at is None]
        archived = 0
        for each in due:
            try:
                archived += await self._archive(each)
            except StoreUnavailable:
                raise
            except Exception as error:
                # One that cannot be archived does not keep the others from it.
                log.error("session not archived", extra={"session_id": each.id, "kind": type(error).__name__})
        return archived

    async def _archive(self, over: OverSession) -> bool:
        session = await self.store.sessions.get(over.tenant, over.id)
        now = self.clock.now()
        principal = Principal(tenant=session.tenant, user=session.owner)
        facts = {"session_id": session.id}
        artifact = await self.shelf.keep(
            self._told(session),
            media_type="application/json",
            name=f"{session.id}.json",
            principal=principal,
            audit=AuditFacts(tenant=session.tenant, at=now, verb="archive", outcome="archived", facts=facts),
            artifact_id=ArtifactId(f"art_{hashlib.sha256(f'archive:{session.id}'.encode()).hexdigest()[:32]}"),
        )
        manifest = new_manifest(
            session.tenant,
            (ManifestEntry(path=PATH, sha256=artifact.sha256),),
            metadata={"archive_of": session.id},
            parent=None,
            message=None,
            created_by=session.owner,
            created_at=now,
            made_for=None,
            most_entries=1,
        )
        marked = await self.store.retention.mark_archived(session.tenant, session.id, manifest, at=now)
        self.store.wakes.tell(session.tenant, Subject(session.id))
        return marked

    async def _told(self, session: Session) -> AsyncIterator[bytes]:
        row = dict(await self.store.exports.session(session.tenant, session.id))
        told = {name: value for name, value in row.items() if name not in _LATER}
        yield b'{"session": ' + _json(told) + b',\n"runs": ['
        before = b""
        async for run in self.store.exports.rows(session.tenant, (session.id, Subject(session.id)), "runs"):
            yield before + _json(run["id"])
            before = b", "
        yield b'],\n"events": ['
        before, after = b"\n", 0
        while events := await self.resuming.events(session, after=after, limit=AT_ONCE):
            for event in events:
                yield before + _json(_event(event))
                before = b",\n"
            if events[-1].no <= after:
                break
            after = events[-1].no
        yield b"\n]}\n"


def _event(event: SessionEvent) -> dict[str, Any]:
    return {
        "no": event.no,
        "what": event.what,
        "by": event.by,
        "at": event.at.isoformat().replace("+00:00", "Z"),
        "status": event.status,
        "run_id": event.run_id,
        "data": dict(event.data),
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True).encode()
