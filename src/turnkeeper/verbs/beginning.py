"""Every way in which a session begins."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from turnkeeper.errors import EnvelopeInvalid, SessionNotOver
from turnkeeper.keeping.continuing import checked_idle, continued
from turnkeeper.keeping.scoping import Pin, purpose_of, written_layout
from turnkeeper.knowledge.retrieval import view_of
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import SessionId
from turnkeeper.model.mount import MountKind
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.purpose import Module, PolicyTemplate
from turnkeeper.model.session import Conversation, Session
from turnkeeper.steps.intake import audit_of
from turnkeeper.steps.open_session import lifetime_of
from turnkeeper.steps.receive import Inbound, is_foreign_id
from turnkeeper.verbs.sessions import Sessions


class Beginning(Sessions):
    """New, continued, forked, or adopted from whoever kept it until now."""

    async def create_session(
        self,
        *,
        principal: Principal = LOCAL,
        agent: str | None = None,
        pack: str | None = None,
        title: str | None = None,
        plugins: Any = None,
        model: Any = None,
        level: Any = None,
        idle_for_seconds: int | None = None,
        from_session_id: str | None = None,
        module: Module | str | None = None,
        project_id: str | None = None,
        objective_id: str | None = None,
        objective: str | None = None,
        policy: PolicyTemplate | str | None = None,
        model_profile: str | None = None,
        backend: str | None = None,
        pins: Iterable[Pin] = (),
        without: Iterable[MountKind] = (),
        layout: Any = None,
        request_id: str | None = None,
        is_current: bool = False,
        trace_id: str | None = None,
    ) -> Session:
        """Begin a session without a message; with `from_session_id` it continues a finished one.

        Then it begins with the newest messages, the state, the units, the preferences, the context and the mounts that
        the other one ended with, and is for the same purpose but for what is asked for here; `without` names the kinds
        of which no pins are taken over. `pins` are mounted on top of what it inherits. The same `request_id` again
        gives the same session, and with `is_current` so does the same module and project while that session lives.
        """
        asked = {
            "module": module,
            "project_id": project_id,
            "objective_id": objective_id,
            "objective": objective,
            "policy": policy,
            "model_profile": model_profile,
            "backend": backend,
        }
        inbound = Inbound(
            command=Command.CREATE,
            request_id=request_id,
            agent=agent,
            pack=pack,
            plugins=plugins,
            model=model,
            level=level,
            trace_id=trace_id,
        )
        begun, _ = await self._begin(
            inbound,
            asked,
            principal,
            title=title,
            idle_for_seconds=idle_for_seconds,
            from_session_id=from_session_id,
            pins=tuple(pins),
            without=tuple(without),
            saved=None if layout is None else written_layout(layout),
            is_current=is_current,
        )
        return begun

    async def _begin(
        self,
        inbound: Inbound,
        asked: Mapping[str, Any],
        principal: Principal,
        *,
        title: str | None = None,
        idle_for_seconds: int | None = None,
        from_session_id: str | None = None,
        pins: tuple[Pin, ...] = (),
        without: tuple[MountKind, ...] = (),
        saved: str | None = None,
        is_current: bool = False,
        adopting: tuple[SessionId, Mapping[str, Any]] | None = None,
    ) -> tuple[Session, bool]:
        """The session, and whether it began with this. `adopting` is what a client has kept, and its id there."""
        envelope = self._door.envelope(inbound, principal)
        before = None if from_session_id is None else await self._finished(from_session_id, principal)
        if before is not None and inbound.agent is None:
            envelope = replace(envelope, agent=before.session.agent)
        await self._engine.take_in.check_agent(envelope)
        if before is None:
            purpose = purpose_of(**asked)
        else:
            purpose = await self.scoping.going_on(before.session, asked)
        or_stricter = before is not None and asked.get("policy") is None
        session = await self._engine.take_in.new_session(envelope, purpose, or_stricter=or_stricter)
        session = replace(session, title=title)
        turn = None
        if before is not None:
            session, turn = continued(session, before, envelope.received_at)
            session = replace(session, mounts=tuple(pin for pin in session.mounts if pin.kind not in without))
        if adopting is not None:
            session, turn = await self._converting.adopted(session, *adopting)
        if idle_for_seconds is not None:
            session = replace(session, idle_for_seconds=checked_idle(idle_for_seconds))
        bands = self._world.policy.bands
        session = session.living_for(await lifetime_of(session, session.packs, self._world.packs, bands))
        session = await self.scoping.pinned_in(session, pins, principal=principal)
        quotas = await self._engine.take_in.quotas(session.tenant, envelope.received_at)
        said: tuple[object, ...] = (purpose, pins, without, title, idle_for_seconds, from_session_id, saved, is_current)
        if adopting is not None:
            said = (*said, *adopting)
        kept = await self._store.sessions.create(
            session,
            audit_of(envelope, "accepted", session_id=session.id),
            continued=turn,
            request=self._engine.take_in.request_to_create(envelope, said),
            is_current=is_current,
            most=None if quotas is None else quotas.sessions,
        )
        if kept.id != session.id:
            return kept, False
        if saved is not None:
            await self._store.layouts.save(session.tenant, session.id, saved, at=envelope.received_at)
        self._tell_of_session(session.tenant, session.id, session.agent)
        return kept, True

    async def _finished(self, session_id: str, principal: Principal) -> Conversation:
        """All that a session ended with. Raises SessionNotOver."""
        session = await self.session(session_id, principal=principal)
        if not session.status.is_terminal:
            raise SessionNotOver(session.id)
        window = self.settings.history_messages
        ended = await self._store.sessions.load(session.tenant, session.id, window=window)
        newest = await self._store.units.newest(view_of(session), limit=self.settings.session_units)
        return replace(ended, units=tuple(newest)[::-1])

    async def current_session(
        self, module: Module | str, *, project_id: str | None = None, principal: Principal = LOCAL, **asked: Any
    ) -> Session:
        """The session that this user was in last, in this module and project; a new one where there is none that lives.

        Takes what `create_session` takes.
        """
        return await self.create_session(
            module=module, project_id=project_id, is_current=True, principal=principal, **asked
        )

    async def enter_session(
        self,
        module: Module | str,
        *,
        project_id: str | None = None,
        objective_id: str | None = None,
        agent: str | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> tuple[Session, bool]:
        """`current_session`, and whether it began with this."""
        asked = {"module": module, "project_id": project_id, "objective_id": objective_id}
        inbound = Inbound(command=Command.CREATE, agent=agent, trace_id=trace_id)
        return await self._begin(inbound, asked, principal, is_current=True)

    async def fork_session(
        self,
        session_id: str,
        *,
        at_turn: int | None = None,
        title: str | None = None,
        principal: Principal = LOCAL,
        request_id: str | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """Go on from a turn of a session, the last one unless another is named, in a new session of the same owner.

        The messages up to there are shared, not copied; all else is as it was then, settings and pins as they are now.
        """
        envelope = self._door.envelope(Inbound(command=Command.FORK, request_id=request_id), principal)
        session = await self._histories.fork(
            session_id,
            at_turn=at_turn,
            title=title,
            principal=principal,
            request=self._engine.take_in.request_to_create(envelope, (session_id, at_turn, title)),
            trace_id=trace_id,
        )
        self._tell_of_session(session.tenant, session.id, session.agent)
        return session

    async def adopt_session(
        self,
        session_id: str,
        carried: Mapping[str, Any],
        *,
        principal: Principal = LOCAL,
        agent: str | None = None,
        title: str | None = None,
        request_id: str | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """Keep a session here that its client has kept under this id until now. It is a new one, with an id of its own.

        Its next turn begins with what it would have begun with there: messages, state, units, params, intent, pack,
        preferences, epoch and what its agent remembers.
        """
        if not is_foreign_id(session_id):
            raise EnvelopeInvalid.at("/session_id", "must be the id under which the client has kept it")
        inbound = Inbound(command=Command.ADOPT, request_id=request_id, agent=agent, trace_id=trace_id)
        adopting = (SessionId(session_id), carried)
        session, _ = await self._begin(inbound, {}, principal, title=title, adopting=adopting)
        return session
