"""Knowledge bases: making them, filling them, and mounting them to sessions."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace

from turnkeeper.errors import (
    EnvelopeInvalid,
    KnowledgeBaseNotFound,
    MountExcluded,
    SessionClosed,
    SessionExpired,
    SourceNotFound,
    SourceTooLarge,
    VersionMoved,
)
from turnkeeper.keeping.units import SessionOf
from turnkeeper.knowledge.ingesting import units_of_source
from turnkeeper.knowledge.text_form.write import serialize
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import AgentId, KnowledgeBaseId, SourceId, is_id
from turnkeeper.model.knowledge_base import BaseLimits, KnowledgeBase, NewSource, Source, SourceKind
from turnkeeper.model.mount import Mount, MountKind, MountRef
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.session import Session, SessionStatus, SettingsChange
from turnkeeper.model.unit import Unit, UnitStatus
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.extractor import Extractor
from turnkeeper.ports.knowledge_bases import KnowledgeBaseStore
from turnkeeper.ports.plugins import KnowledgeEvent, KnowledgeEventType
from turnkeeper.ports.units import UnitStore
from turnkeeper.scope.effective import LiveScopes
from turnkeeper.scope.inheritance import Choice, unpinned
from turnkeeper.settings import Settings

UNITS_AT_ONCE = 500
MOST_NAME_CHARS = 200
MOST_TRIES = 8
JOURNAL_NAME = "conversation {session_id}"


class Bases:
    """The knowledge bases of a tenant: everyone in it may read them, and whoever may write may fill them."""

    def __init__(
        self,
        bases: KnowledgeBaseStore,
        units: UnitStore,
        extractor: Extractor,
        clock: Clock,
        settings: Settings,
        scopes: LiveScopes,
        *,
        session_of: SessionOf,
        change_session: Callable[..., Awaitable[Session]],
        audit: Callable[..., AuditFacts],
        tell: Callable[[AgentId, KnowledgeEvent], None],
    ) -> None:
        self._bases, self._units, self._extractor, self._clock = bases, units, extractor, clock
        self._settings, self._scopes = settings, scopes
        self._session_of, self._change_session, self._audit = session_of, change_session, audit
        self._tell = tell

    async def create(
        self,
        name: str,
        *,
        parent_id: str | None = None,
        base_id: KnowledgeBaseId | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> KnowledgeBase:
        """A new base, empty or with all that its parent has now. Either may change without the other."""
        _check_name(name)
        id = base_id or KnowledgeBaseId(self._clock.new_id("kb"))
        audit = self._audit(Command.CREATE_BASE, principal, trace_id, knowledge_base=id, parent=parent_id)
        parent = None if parent_id is None else await self.get(parent_id, principal=principal)
        base = KnowledgeBase(
            tenant=principal.tenant,
            id=id,
            name=name,
            created_by=principal.user,
            created_at=audit.at,
            updated_at=audit.at,
            revision=1 if parent else 0,
            parent_id=parent.id if parent else None,
        )
        return await self._bases.create(base, audit)

    async def get(self, base_id: str, *, principal: Principal = LOCAL) -> KnowledgeBase:
        """Raises KnowledgeBaseNotFound, also for one of another tenant."""
        if not is_id(base_id):
            raise KnowledgeBaseNotFound(KnowledgeBaseId(base_id))
        return await self._bases.get(principal.tenant, KnowledgeBaseId(base_id))

    async def list(
        self, *, principal: Principal = LOCAL, before: str | None = None, limit: int = 50
    ) -> Sequence[KnowledgeBase]:
        """Newest first."""
        at = None if before is None else KnowledgeBaseId(before)
        return await self._bases.list(principal.tenant, before=at, limit=limit)

    async def add_source(
        self,
        base_id: str,
        name: str,
        content: str,
        *,
        kind: SourceKind | str = SourceKind.TEXT,
        expected_revision: int | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> tuple[KnowledgeBase, Source]:
        """Read a text into a base. A source of the same name gives way; the same content again changes nothing.

        Raises SourceTooLarge, KnowledgeBaseFull, RevisionMoved or UnitTextInvalid, and then has changed nothing.
        """
        base = await self.get(base_id, principal=principal)
        _check_name(name)
        if kind not in set(SourceKind) - {SourceKind.JOURNAL}:
            raise EnvelopeInvalid.at("/kind", "must be 'plain-text', 'markdown' or 'units'")
        if not content.strip() or not is_plain_text(content):
            raise EnvelopeInvalid.at("/content", "must be text, without NUL and not empty")
        return await self._add(base, name, content, SourceKind(kind), expected_revision, principal, trace_id)

    async def save_session(
        self,
        base_id: str,
        session_id: str,
        *,
        expected_revision: int | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> tuple[KnowledgeBase, Source]:
        """Put what a session knows by now into a base, as one source; saving it again takes the place of the first."""
        base = await self.get(base_id, principal=principal)
        session = await self._session_of(session_id, principal=principal)
        units = [unit async for unit in self._known_in(session) if unit.is_evidence]
        if not units:
            raise EnvelopeInvalid.at("/session_id", "names a session that knows nothing yet; there is nothing to save")
        name = JOURNAL_NAME.format(session_id=session.id)
        text = serialize(units)
        return await self._add(base, name, text, SourceKind.JOURNAL, expected_revision, principal, trace_id)

    async def remove_source(
        self,
        base_id: str,
        source_id: str,
        *,
        expected_revision: int | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> KnowledgeBase:
        """Sessions that mounted the base before still see the source, as it was then."""
        base = await self.get(base_id, principal=principal)
        if not is_id(source_id):
            raise SourceNotFound(SourceId(source_id))
        return await self._bases.remove_source(
            principal.tenant,
            base.id,
            SourceId(source_id),
            expected_revision=expected_revision,
            audit=self._audit(Command.REMOVE_SOURCE, principal, trace_id, knowledge_base=base.id, source=source_id),
        )

    async def sources(self, base_id: str, *, principal: Principal = LOCAL) -> Sequence[Source]:
        """Oldest first, without their content."""
        base = await self.get(base_id, principal=principal)
        return await self._bases.sources(principal.tenant, base.id)

    async def source(self, base_id: str, source_id: str, *, principal: Principal = LOCAL) -> Source:
        """One source with its content. Raises SourceNotFound."""
        base = await self.get(base_id, principal=principal)
        if not is_id(source_id):
            raise SourceNotFound(SourceId(source_id))
        return await self._bases.source(principal.tenant, base.id, SourceId(source_id))

    async def units(
        self, base_id: str, *, principal: Principal = LOCAL, after: int = 0, limit: int = 100
    ) -> Sequence[tuple[int, Unit]]:
        base = await self.get(base_id, principal=principal)
        return await self._bases.units(principal.tenant, base.id, after=after, limit=limit)

    async def mount(
        self,
        session_id: str,
        base_id: str,
        *,
        principal: Principal = LOCAL,
        expected_version: int | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """Let a session use a base as it is now. Mounting it again brings it up to date; what it inherited stays.

        Raises MountExcluded.
        """
        await self._session_of(session_id, principal=principal)
        base = await self.get(base_id, principal=principal)
        mount = Mount(kind=MountKind.KNOWLEDGE_BASE, id=base.id, revision=base.revision, mounted_at=self._clock.now())

        async def mounted(session: Session) -> SettingsChange:
            removed = tuple(ref for ref in session.removed if ref != mount.ref)
            if mount.ref in await self._scopes.excluded(session):
                raise MountExcluded(mount.kind, mount.id)
            if any(given.ref == mount.ref for given in (await self._scopes.context(session)).mounts):
                return SettingsChange(removed=removed)
            others = tuple(each for each in session.mounts if each.id != base.id)
            if len(others) >= self._settings.mounts:
                most = self._settings.mounts
                raise EnvelopeInvalid.at("/knowledge_base", f"would be one too many: a session mounts at most {most}")
            return SettingsChange(mounts=(*others, mount), removed=removed)

        return await self._remount(Command.MOUNT, session_id, base.id, mounted, principal, expected_version, trace_id)

    async def unmount(
        self,
        session_id: str,
        base_id: str,
        *,
        principal: Principal = LOCAL,
        expected_version: int | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """Take a base away from a session, at once: a turn that is running does not see it any more either."""
        id = KnowledgeBaseId(base_id)

        async def unmounted(session: Session) -> SettingsChange:
            ref, context = MountRef(kind=MountKind.KNOWLEDGE_BASE, id=id), await self._scopes.context(session)
            before = Choice(pins=session.mounts, removed=session.removed)
            left = unpinned(before, context, ref)
            if left == before:
                raise KnowledgeBaseNotFound(id)
            return SettingsChange(mounts=left.pins, removed=left.removed)

        return await self._remount(Command.UNMOUNT, session_id, id, unmounted, principal, expected_version, trace_id)

    async def _remount(
        self,
        command: Command,
        session_id: str,
        base_id: KnowledgeBaseId,
        changed: Callable[[Session], Awaitable[SettingsChange]],
        principal: Principal,
        expected_version: int | None,
        trace_id: str | None,
    ) -> Session:
        """Of several who mount at once all are heard: whoever comes second looks again."""
        for attempt in range(MOST_TRIES):
            session = await self._session_of(session_id, principal=principal)
            if session.status.is_terminal:
                over = SessionClosed if session.status is SessionStatus.CLOSED else SessionExpired
                raise over(session.id)
            try:
                remounted = await self._change_session(
                    session_id,
                    await changed(session),
                    command=command,
                    principal=principal,
                    expected_version=session.version if expected_version is None else expected_version,
                    trace_id=trace_id,
                    knowledge_base=base_id,
                )
            except VersionMoved:
                if expected_version is not None or attempt == MOST_TRIES - 1:
                    raise
            else:
                break
        is_mounted = command is Command.MOUNT
        kind = KnowledgeEventType.BASE_MOUNTED if is_mounted else KnowledgeEventType.BASE_UNMOUNTED
        event = KnowledgeEvent(type=kind, tenant=session.tenant, session_id=session.id, base=base_id)
        self._tell(session.agent, event)
        return remounted

    async def _add(
        self,
        base: KnowledgeBase,
        name: str,
        content: str,
        kind: SourceKind,
        expected_revision: int | None,
        principal: Principal,
        trace_id: str | None,
    ) -> tuple[KnowledgeBase, Source]:
        id = SourceId(self._clock.new_id("src"))
        audit = self._audit(Command.ADD_SOURCE, principal, trace_id, knowledge_base=base.id, source=id)
        encoded = content.encode()
        if len(encoded) > self._settings.source_bytes:
            raise SourceTooLarge(f"{len(encoded)} bytes", self._settings.source_bytes)
        source = Source(
            id=id,
            name=name,
            kind=kind,
            hash=hashlib.sha256(encoded).hexdigest(),
            content=content,
            added_at=audit.at,
        )
        most = self._settings.source_units
        # In a thread: a long source takes long to read, and nobody else should wait for it.
        units = await asyncio.to_thread(units_of_source, source, self._extractor, most=most)
        if len(units) > most:
            raise SourceTooLarge(f"more than {most} units", most)
        limits = BaseLimits(sources=self._settings.base_sources, units=self._settings.base_units)
        return await self._bases.add_source(
            principal.tenant,
            base.id,
            NewSource(source=replace(source, units=len(units)), units=units),
            expected_revision=expected_revision,
            limits=limits,
            audit=audit,
        )

    async def _known_in(self, session: Session) -> AsyncIterator[Unit]:
        after = 0
        while True:
            page = await self._units.list(
                session.tenant, session.id, epoch=session.epoch.number, after=after, limit=UNITS_AT_ONCE
            )
            for no, kept in page:
                after = no
                if kept.unit is not None and kept.status is UnitStatus.COMMITTED:
                    yield kept.unit
            if not page:
                return


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip() or len(name) > MOST_NAME_CHARS or not is_plain_text(name):
        raise EnvelopeInvalid.at("/name", f"must be text of 1 to {MOST_NAME_CHARS} characters")
