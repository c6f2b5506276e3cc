"""A session that changes hands: what a client has kept is kept here from now on, and the other way round."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from turnkeeper.custody.packing import CARRIED_CUT, Carried, Packing, dialogue_of, units_of
from turnkeeper.errors import AgentMemoryLost, InvalidTransition, ScopeDenied, SessionClosed
from turnkeeper.keeping.histories import FindThreads, SessionOf
from turnkeeper.knowledge.retrieval import view_of
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import RunId, SessionId
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.run import Finish
from turnkeeper.model.session import Session, SessionStatus, SettingsChange
from turnkeeper.model.thread import ThreadHead, ThreadName
from turnkeeper.model.tool import Denial
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import UnitChanges
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.sessions import SessionStore
from turnkeeper.ports.units import UnitReader
from turnkeeper.settings import Settings

RELEASED = "released"


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A session as it was closed, and what its client goes on with under the same id."""

    session: Session
    carried: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Converting:
    sessions: SessionStore
    units: UnitReader
    packs: PackShelf
    packing: Packing
    clock: Clock
    settings: Settings
    threads: FindThreads
    session_of: SessionOf
    change_session: Callable[..., Awaitable[Session]]

    async def adopted(self, session: Session, carried_as: SessionId, value: Mapping[str, Any]) -> tuple[Session, Turn]:
        """A new session of ours that stands where the carried one does, and the turn that it begins with.

        Raises EnvelopeInvalid, and PackNotFound or PackIntegrityError for pins that nobody can open.
        """
        carried = self.packing.taken(value)
        for pin in carried.packs:
            await self.packs.open(session.tenant, pin)
        session = replace(
            session,
            revision=max(carried.revision, 1),
            turns=carried.turns,
            last_seq=carried.last_seq,
            epoch=carried.epoch,
            preferences=carried.preferences,
            packs=carried.packs,
            dialogue=dialogue_of(carried),
            # What its packs mean for how long it lives is found out once they are known.
            classification=None,
            expires_by=None,
            from_session_id=carried_as,
            agent_head=await self._head_here(session, carried_as, carried),
        )
        turn = Turn(
            number=carried.turns,
            run_id=RunId(""),
            epoch=carried.epoch.number,
            messages=carried.history,
            state=carried.state,
            finish=Finish.DONE,
            committed_at=session.created_at,
            units=UnitChanges(added=units_of(carried)),
            preferences=session.preferences,
            dialogue=session.dialogue,
            agent_head=session.agent_head,
            after_seq=carried.last_seq,
        )
        return session, turn

    async def release(self, session_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> Released:
        """Close a session and give what it holds to its client. One that was released gives the same again.

        Raises SessionBusy while anything is under way in it, and SessionMoved when a turn was kept meanwhile.
        """
        if principal.session_id is not None:
            raise ScopeDenied(Denial.POLICY_DENIED)
        session = await self.session_of(session_id, principal=principal)
        if session.status.is_terminal:
            return await self._released_before(session)
        released = await self._packed(session)
        closing = SettingsChange(status=SessionStatus.CLOSED, reason=RELEASED, idle_at=released.session.revision)
        try:
            closed = await self.change_session(
                session.id, closing, command=Command.RELEASE, principal=principal, trace_id=trace_id
            )
        except InvalidTransition:
            return await self._released_before(await self.session_of(session_id, principal=principal))
        return replace(released, session=closed)

    async def _released_before(self, session: Session) -> Released:
        """The same again, for who has lost the first answer. Raises SessionClosed for one that was closed otherwise."""
        if session.closed_reason != RELEASED:
            raise SessionClosed(session.id)
        return await self._packed(session)

    async def _packed(self, session: Session) -> Released:
        window, limit = self.settings.history_messages, self.settings.session_units
        loaded = await self.sessions.load(session.tenant, session.id, window=window + 1)
        units = await self.units.newest(view_of(loaded.session), limit=limit)
        kept = replace(loaded.session, agent_head=await self._head_there(loaded.session))
        carried, is_cut = self.packing.packed(replace(loaded, session=kept, units=tuple(units)[::-1]))
        is_cut = is_cut or len(loaded.history) > window
        return Released(session=loaded.session, carried=carried, warnings=(CARRIED_CUT,) if is_cut else ())

    async def _head_here(self, session: Session, carried_as: SessionId, carried: Carried) -> Mapping[str, Any] | None:
        """The memory of the agent in a thread of the new session. What is carried is not believed: that of somebody
        else is not copied.
        """
        told = carried.head_for(session.agent)
        head = ThreadHead.of(told)
        if head is None:
            return told
        theirs = ThreadName(
            tenant=session.tenant,
            session_id=carried_as,
            epoch=carried.epoch.number,
            agent=head.agent,
            user=session.owner,
        )
        if head.thread != str(theirs):
            raise AgentMemoryLost
        return await self._copied(head, replace(theirs, session_id=session.id, user=None))

    async def _head_there(self, session: Session) -> Mapping[str, Any] | None:
        """The memory of the agent in a thread of its client, where it lives as long as those of clients do."""
        head = ThreadHead.of(session.agent_head)
        if head is None:
            return session.agent_head
        lives_for = timedelta(seconds=self.settings.prune_seconds + self.settings.idle_seconds)
        if session.last_active_at + lives_for <= self.clock.now():
            return None
        place = ThreadName(
            tenant=session.tenant,
            session_id=session.id,
            epoch=session.epoch.number,
            agent=head.agent,
            user=session.owner,
        )
        return await self._copied(head, place)

    async def _copied(self, head: ThreadHead, place: ThreadName) -> Mapping[str, Any] | None:
        """Where it was dropped by now, the graph hears the messages again."""
        if (threads := self.threads(is_needed=True)) is None:
            return None
        try:
            return (await threads.copy(head, place)).told
        except AgentMemoryLost:
            return None
