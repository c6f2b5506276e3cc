"""What comes out of sessions: publishing by hand, looking at outputs, cost and storage, and clearing up."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnkeeper.errors import ManifestInvalid, NotAllowed, SessionClosed, SessionExpired
from turnkeeper.keeping.manifests import made_for
from turnkeeper.keeping.pointers import Pointers, check_may_move
from turnkeeper.keeping.units import SessionOf
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import RunId, SessionId, Subject, TenantId
from turnkeeper.model.output import (
    Output,
    OutputKind,
    PointerTarget,
    Published,
    SessionCost,
    SessionStorage,
    TenantStorage,
)
from turnkeeper.model.pointer import Expected
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.session import SessionStatus
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.feed import Wakes
from turnkeeper.ports.substrate import OutputStore
from turnkeeper.substrate.collecting import Collected, Collector
from turnkeeper.substrate.publishing import Files, artifacts_in, entries_of, new_manifest, publication_of

SESSIONS_AT_ONCE = 100


class Substrate:
    def __init__(
        self,
        outputs: OutputStore,
        pointers: Pointers,
        collector: Collector,
        wakes: Wakes,
        clock: Clock,
        *,
        most_entries: int,
        session_of: SessionOf,
        audit: Callable[..., AuditFacts],
    ) -> None:
        self._outputs, self._pointers, self._collector = outputs, pointers, collector
        self._wakes, self._clock, self._most_entries = wakes, clock, most_entries
        self._session_of, self._audit = session_of, audit

    async def publish(
        self,
        session_id: str,
        files: Files,
        *,
        pointer: str | None = None,
        expected: Expected | None = None,
        message: str | None = None,
        reason: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> Published:
        """Bring paths and content out of a session: artifacts, a manifest and the move of a pointer, or nothing of it.

        `pointer` is an id or `namespace/name`. Raises ManifestInvalid, ArtifactsMissing, PointerMoved, PointerFrozen,
        SessionClosed or SessionExpired.
        """
        if not principal.may_write:
            raise NotAllowed("A viewer publishes nothing. Ask the operator for another role.")
        session = await self._session_of(session_id, principal=principal)
        if session.status.is_terminal:
            raise (SessionClosed if session.status is SessionStatus.CLOSED else SessionExpired)(session.id)
        entries = entries_of(files)
        if not entries:
            raise ManifestInvalid("There is nothing to publish.")
        target = None
        if pointer is not None:
            found = await self._pointers.get(pointer, principal=principal)
            check_may_move(principal, found.kind)
            if expected is not None and expected.manifest is not None:
                expected = Expected(manifest=expected.manifest.lower())
            target = PointerTarget(id=found.id, expected=expected, reason=reason)
        manifest = new_manifest(
            principal.tenant,
            entries,
            metadata=metadata,
            parent=None,
            message=message,
            created_by=principal.user,
            created_at=self._clock.now(),
            made_for=made_for(principal),
            most_entries=self._most_entries,
        )
        audit = self._audit(
            Command.PUBLISH, principal, trace_id, session_id=session.id, manifest=manifest.sha256, pointer_id=pointer
        )
        publication = publication_of(manifest, session.id, target, artifacts_in(files))
        published = await self._outputs.publish(publication, audit=audit)
        self._wakes.tell(session.tenant, Subject(session.id))
        return published

    async def outputs(
        self,
        session_id: str,
        *,
        run_id: str | None = None,
        kind: OutputKind | None = None,
        principal: Principal = LOCAL,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[Output]:
        """What came out of a session, in the order of its feed; of one run, or of one kind."""
        session = await self._session_of(session_id, principal=principal)
        run = None if run_id is None else RunId(run_id)
        return await self._outputs.list(session.tenant, session.id, run_id=run, kind=kind, after=after, limit=limit)

    async def counts(
        self, session_id: str, *, run_id: str | None = None, principal: Principal = LOCAL
    ) -> Mapping[OutputKind, int]:
        """How much came out of a session, or of one run in it, by kind."""
        session = await self._session_of(session_id, principal=principal)
        found = await self._outputs.counts(session.tenant, session.id, run_id=None if run_id is None else RunId(run_id))
        return {kind: found.get(kind, 0) for kind in OutputKind}

    async def cost(self, session_id: str, *, principal: Principal = LOCAL) -> SessionCost:
        """What the runs of a session spent, and what it takes to keep it."""
        session = await self._session_of(session_id, principal=principal)
        return await self._outputs.cost(session.tenant, session.id)

    async def storage(self, *, principal: Principal = LOCAL) -> TenantStorage:
        """What a tenant takes, and each of its sessions; for its owner and admins. Reads all of its messages."""
        if not principal.sees_whole_tenant:
            raise NotAllowed("What a tenant takes is told to its owner and admins.")
        sessions: list[SessionStorage] = []
        after: SessionId | None = None
        while page := await self._outputs.storage(principal.tenant, after=after, limit=SESSIONS_AT_ONCE):
            sessions += page
            after = page[-1].session_id
        return TenantStorage(**await self._outputs.totals(principal.tenant), sessions=tuple(sessions))

    async def collect(self, tenant: str | None = None, *, grace_seconds: float | None = None) -> Collected:
        """Remove content that nobody refers to and that was kept before the grace period, of one tenant or of all.

        Done each day, on every node; abandoned uploads are swept with it.
        """
        return await self._collector(None if tenant is None else TenantId(tenant), grace_seconds=grace_seconds)
