"""Keeping house: what is dropped, expired, archived, audited and counted."""

import logging
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

from turnkeeper.errors import StoreUnavailable, TurnkeeperError
from turnkeeper.ledger.audit import Verdict, verify_audit
from turnkeeper.model.audit import AuditEntry
from turnkeeper.model.ids import TenantId
from turnkeeper.model.node import Node
from turnkeeper.model.session import SessionStatus
from turnkeeper.verbs.inside import Inside

log = logging.getLogger(__name__)


class House(Inside):
    """What an operator asks for, and what is done by itself now and then."""

    async def forget_checkpoints(self) -> int:
        """Drop checkpoints and effects of sessions that have long been over; done each hour, on every node."""
        now, bands = self._clock.now(), self._world.policy.bands
        by_class = {each: now - timedelta(seconds=band.checkpoint_seconds) for each, band in bands.items()}
        before = now - timedelta(seconds=self.settings.checkpoint_seconds)
        return await self._store.checkpoints.forget(before=before, by_class=by_class)

    async def prune_threads(self) -> int:
        """Drop what graphs remember of sessions that are over, and say of how many; done each hour, on every node."""
        return await self._histories.prune_threads()

    async def archive_sessions(self) -> int:
        """Write down what sessions were that are long over, and say of how many; done each hour, on every node."""
        return await self._archiving()

    async def retain(self) -> int:
        """Erase the sessions that are past what the class of their data allows, and say how many; done each hour."""
        return await self.erasure.retain()

    async def expire_idle_sessions(self) -> int:
        """End the sessions that were idle for too long, and say how many. Done each minute, on every node."""
        found = [place async for place in self._store.sessions.idle(at=self._clock.now())]
        expired = 0
        for tenant, session_id in found:
            try:
                session = await self._expire(tenant, session_id)
            except StoreUnavailable:
                raise
            except Exception as error:
                # One that cannot be ended does not keep the others alive.
                log.error("session not expired", extra={"session_id": session_id, "kind": type(error).__name__})
            else:
                expired += session.status is SessionStatus.EXPIRED
        return expired

    async def verify_audit(self, tenant: str | None = None) -> Verdict:
        return await verify_audit(self._store.audit, None if tenant is None else TenantId(tenant))

    async def audit_entries(self, tenant: str | None = None) -> AsyncIterator[AuditEntry]:
        """Every entry of the audit, chain by chain in order; of one tenant or of all."""
        async for entry in self._store.audit.entries(None if tenant is None else TenantId(tenant)):
            yield entry

    async def refused(self, error: TurnkeeperError, **about: Any) -> None:
        """Record once that something was refused; see `keeping.door`."""
        await self._door.refused(error, **about)

    @property
    def unaudited(self) -> int:
        """How many refusals could not be recorded, because the store was gone."""
        return self._door.unaudited

    def metrics(self) -> bytes:
        """What was counted since this process began, as Prometheus reads it."""
        return self.telemetry.exposition()

    async def ping(self) -> None:
        """Raises StoreUnavailable when nothing can be written, ShuttingDown when this node is going away."""
        self._check_open()
        await self._store.database.ping()

    async def nodes(self) -> Sequence[Node]:
        return await self._store.nodes.living(seen_within_seconds=self.settings.lease_seconds)
