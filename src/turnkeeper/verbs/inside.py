"""What every verb of the keeper works with."""

from turnkeeper.agents.factory import AgentFactory
from turnkeeper.agents.registry import AgentRegistry
from turnkeeper.custody.device import DeviceMemory
from turnkeeper.dispatch import Dispatch
from turnkeeper.engine import Engine, World
from turnkeeper.errors import DatabaseMoving, ShuttingDown
from turnkeeper.keeping.archiving import Archiving
from turnkeeper.keeping.converting import Converting
from turnkeeper.keeping.door import Door, Ticket
from turnkeeper.keeping.erasing import Erasing
from turnkeeper.keeping.exporting import Exporting
from turnkeeper.keeping.histories import Histories
from turnkeeper.keeping.invoking import Invoking
from turnkeeper.keeping.resuming import Resuming
from turnkeeper.keeping.scoping import Scoping
from turnkeeper.ledger.feed import Feed
from turnkeeper.ledger.outcomes import Outcomes
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.envelope import Command, Envelope
from turnkeeper.model.ids import AgentId, SessionId, Subject, TenantId
from turnkeeper.model.principal import Principal
from turnkeeper.model.session import Session
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.plugins import KnowledgeEvent, KnowledgeEventType
from turnkeeper.ports.store import Store
from turnkeeper.ports.telemetry import Telemetry
from turnkeeper.settings import Settings
from turnkeeper.steps.intake import audit_of
from turnkeeper.steps.receive import Inbound


class Inside:
    """The parts of one Turnkeeper, and what several of its verbs do with them. The keeper itself puts them in."""

    settings: Settings
    telemetry: Telemetry
    device: DeviceMemory
    scoping: Scoping
    erasure: Erasing
    _world: World
    _store: Store
    _clock: Clock
    _registry: AgentRegistry
    _factory: AgentFactory
    _engine: Engine
    _dispatch: Dispatch
    _feed: Feed
    _outcomes: Outcomes
    _door: Door
    _invoking: Invoking[Ticket]
    _resuming: Resuming
    _histories: Histories
    _converting: Converting
    _exporting: Exporting
    _archiving: Archiving
    _accepting: bool
    _opened: bool

    def _check_open(self) -> None:
        if not self._opened:
            raise RuntimeError("open it first: async with Turnkeeper.open(...) as keeper")
        if not self._accepting:
            raise ShuttingDown

    def _command(self, command: Command, principal: Principal, *, trace_id: str | None = None) -> Envelope:
        return self._door.envelope(Inbound(command=command, trace_id=trace_id), principal)

    def _audit_of_command(
        self, command: Command, principal: Principal, trace_id: str | None, **ids: str | None
    ) -> AuditFacts:
        return audit_of(self._command(command, principal, trace_id=trace_id), "accepted", **ids)

    async def _ended_if_idle(self, session: Session) -> Session:
        """What a reader sees: one that was idle for too long has expired. While nothing can be written it waits."""
        if not session.is_idle_too_long(self._clock.now()):
            return session
        try:
            return await self._expire(session.tenant, session.id)
        except DatabaseMoving:
            return session

    async def _expire(self, tenant: TenantId, session_id: SessionId) -> Session:
        facts = {"session_id": session_id, "node": self._world.node}
        now = self._clock.now()
        audit = AuditFacts(tenant=tenant, at=now, verb="expire", outcome="expired", facts=facts)
        session = await self._store.sessions.expire(tenant, session_id, at=now, audit=audit)
        self._store.wakes.tell(tenant, Subject(session_id))
        return session

    def _tell_of_session(self, tenant: TenantId, session_id: SessionId, agent: AgentId) -> None:
        event = KnowledgeEvent(type=KnowledgeEventType.SESSION_CREATED, tenant=tenant, session_id=session_id)
        self._dispatch.tell(agent, event)
