"""The past of sessions: reading one as it was, taking another one off it, and dropping what agents need no more."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from turnkeeper.errors import AgentMemoryLost, SessionNotFound
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.band import Lifetime
from turnkeeper.model.envelope import Command
from turnkeeper.model.history import StateAt
from turnkeeper.model.ids import RunId, SessionId, Subject, TenantId, id_made_at
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.purpose import Purpose
from turnkeeper.model.run import Finish
from turnkeeper.model.session import Fork, Session, SessionStatus
from turnkeeper.model.thread import ThreadHead, ThreadName
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import UnitChanges
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.feed import Wakes
from turnkeeper.ports.histories import HistoryStore
from turnkeeper.ports.runs import RequestKey
from turnkeeper.ports.sessions import SessionStore
from turnkeeper.ports.threads import Threads
from turnkeeper.settings import Settings

THREADS_AT_ONCE = 100
# As long as a run may take from putting its end away to its commit, and a fork from its copy to its session.
UNNAMED_SECONDS = 60.0

# Each holds the whole state of its graph, so that keeping all would grow with the square of the session.
HEADS_KEPT = 20


class SessionOf(Protocol):
    def __call__(self, session_id: str, *, principal: Principal = LOCAL) -> Awaitable[Session]: ...


class FindThreads(Protocol):
    def __call__(self, *, is_needed: bool = False) -> Threads | None: ...


class AuditOf(Protocol):
    def __call__(
        self, command: Command, principal: Principal, trace_id: str | None, **ids: str | None
    ) -> AuditFacts: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Histories:
    """`threads` gives where graphs keep their memory, or None where this node knows of none."""

    histories: HistoryStore
    sessions: SessionStore
    wakes: Wakes
    clock: Clock
    settings: Settings
    threads: FindThreads
    session_of: SessionOf
    lifetime_of: Callable[[Session], Awaitable[Lifetime | None]]
    most_sessions: Callable[[TenantId, datetime], Awaitable[int | None]]
    check_layers: Callable[[TenantId, Purpose], Awaitable[object]]
    audit: AuditOf

    async def state_at(self, session_id: str, turn: int, *, principal: Principal = LOCAL) -> StateAt:
        """Raises SessionNotFound or TurnNotFound."""
        session = await self.session_of(session_id, principal=principal)
        return await self._as_of(session, turn)

    async def fork(
        self,
        session_id: str,
        *,
        at_turn: int | None = None,
        title: str | None = None,
        principal: Principal = LOCAL,
        request: RequestKey | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """A new session that shares the history of this one up to a turn, the last one unless another is named.

        Raises LayerNotActive where nothing new begins.
        """
        parent = await self.session_of(session_id, principal=principal)
        await self.check_layers(parent.tenant, parent.purpose)
        then = await self._as_of(parent, parent.turns if at_turn is None else at_turn)
        now = self.clock.now()
        new_id = SessionId(self.clock.new_id("sess"))
        head = await self._own_head(then, parent, new_id)
        session = replace(
            parent,
            id=new_id,
            status=SessionStatus.ACTIVE,
            revision=then.turn + 1,
            version=1,
            turns=then.turn,
            last_seq=then.last_seq,
            epoch=then.epoch,
            title=title or parent.title,
            created_at=now,
            last_active_at=now,
            closed_at=None,
            closed_reason=None,
            preferences=then.preferences,
            dialogue=then.dialogue,
            from_session_id=None,
            fork=Fork(session_id=parent.id, turn=then.turn, seq=then.last_seq),
            agent_head=head,
            pruned_at=None,
            archived_at=None,
            archive=None,
            expires_by=None,
        )
        session = session.living_for(await self.lifetime_of(session))
        turn = Turn(
            number=then.turn,
            run_id=RunId(""),
            epoch=then.epoch.number,
            messages=(),
            state=then.state,
            finish=Finish.DONE,
            committed_at=now,
            units=UnitChanges(added=then.units),
            preferences=then.preferences,
            dialogue=then.dialogue,
            agent_head=head,
        )
        audit = self.audit(Command.FORK, principal, trace_id, session_id=session.id, forked_from=parent.id)
        most = await self.most_sessions(session.tenant, now)
        return await self.sessions.create(session, audit, continued=turn, request=request, most=most)

    async def prune_threads(self) -> int:
        """Drop what agents remember of sessions and epochs that are over, of turns long ago, and of what was not kept.

        Says how many threads are gone. What a paused session goes on from is never touched.
        """
        threads = self.threads()
        if threads is None:
            return 0
        gone, after = 0, ""
        while page := await threads.after(after, limit=THREADS_AT_ONCE):
            for thread in page:
                if (name := ThreadName.of(thread)) is not None:
                    gone += await self._prune(threads, thread, name)
            after = page[-1]
        return gone

    async def _prune(self, threads: Threads, thread: str, name: ThreadName) -> bool:
        now = self.clock.now()
        over, unnamed = (now - timedelta(seconds=each) for each in (self.settings.prune_seconds, UNNAMED_SECONDS))
        if name.user is not None:
            # Its session is kept by a client, and nobody tells when that is over.
            idle = timedelta(seconds=self.settings.idle_seconds)
            await threads.prune(thread, keep=(), before=min(over, unnamed) - idle)
            return False
        try:
            session = await self.sessions.get(name.tenant, name.session_id)
        except SessionNotFound:
            # A fork copies old checkpoints; how young the copy is, the id of its session tells.
            if name.session_id < id_made_at("sess", unnamed):
                await threads.prune(thread, keep=(), before=unnamed)
            return False
        if session.closed_at is not None:
            return session.closed_at <= over and await self._prune_closed(threads, thread, session)
        if name.epoch < session.epoch.number:
            if session.epoch.started_at > over:
                return False
            await threads.forget_thread(thread)
            return True
        named = await self.histories.heads(session.tenant, session.id, newest=HEADS_KEPT)
        if not named.is_busy:
            keep = [head.places for head in map(ThreadHead.of, named.heads) if head is not None]
            await threads.prune(thread, keep=keep, before=unnamed)
        return False

    async def _prune_closed(self, threads: Threads, thread: str, session: Session) -> bool:
        """What it was is told first; whoever finds it told already, and the thread still there, drops it."""
        if session.pruned_at is None:
            head = ThreadHead.of(session.agent_head)
            told: dict[str, Any] = {"thread": thread, "context_sha256": session.context_sha256}
            if head is not None:
                told |= {
                    "thread": head.thread,
                    "last_checkpoint": head.checkpoint,
                    **(await threads.summary(head)).told,
                }
            if await self.histories.mark_pruned(session.tenant, session.id, told, at=self.clock.now()):
                self.wakes.tell(session.tenant, Subject(session.id))
        await threads.forget_thread(thread)
        return True

    async def _as_of(self, session: Session, turn: int) -> StateAt:
        settings = self.settings
        return await self.histories.as_of(
            session, turn, window=settings.history_messages, most_units=settings.session_units
        )

    async def _own_head(self, then: StateAt, parent: Session, new_id: SessionId) -> Mapping[str, Any] | None:
        """The same memory in a thread of its own. Where it was dropped by now, the graph hears the messages again."""
        head = ThreadHead.of(then.agent_head)
        if head is None:
            return then.agent_head
        if (threads := self.threads(is_needed=True)) is None:
            return None
        name = ThreadName(tenant=TenantId(parent.tenant), session_id=new_id, epoch=then.epoch.number, agent=head.agent)
        try:
            return (await threads.copy(head, name)).told
        except AgentMemoryLost:
            return None
