"""Sessions that are there: reading, following, changing and ending them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from turnkeeper.errors import EnvelopeInvalid, InvalidTransition, SessionNotFound, VersionMoved
from turnkeeper.keeping.converting import Released
from turnkeeper.keeping.resuming import ResumeView, SessionEvent
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.envelope import Command
from turnkeeper.model.history import StateAt
from turnkeeper.model.ids import SessionId, Subject, UserId, is_id
from turnkeeper.model.message import Message
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.receipt import Receipt
from turnkeeper.model.session import Session, SessionStatus, SettingsChange
from turnkeeper.ports.sessions import Found, SessionOrder, Sought
from turnkeeper.steps.intake import audit_of
from turnkeeper.steps.open_session import lifetime_of
from turnkeeper.verbs.inside import Inside


class Sessions(Inside):
    """Raises SessionNotFound for a session of somebody else, as for one that never was."""

    async def session(self, session_id: str, *, principal: Principal = LOCAL) -> Session:
        """Raises SessionNotFound, also when it belongs to somebody else. One that was idle for too long has expired."""
        if not is_id(session_id):
            raise SessionNotFound(SessionId(session_id))
        session = await self._store.sessions.get(principal.tenant, SessionId(session_id))
        if not session.is_open_to(principal):
            raise SessionNotFound(session.id)
        return await self._ended_if_idle(session)

    async def sessions(
        self,
        *,
        principal: Principal = LOCAL,
        before: str | None = None,
        limit: int = 50,
        sought: Sought = Sought(),  # noqa: B008
        order: SessionOrder = SessionOrder.CREATED,
    ) -> Sequence[Session]:
        """Newest first: one's own, or all of the tenant's for its owner and admins.

        The order is that in which they began, so that a page stays where it is whatever happens to its sessions, or
        that in which they were last active. `before` is `order.cursor_of` the last one of the page before. `owner` of
        what is sought is for owner and admins; all others look among their own.
        """
        owner, at = self._owner_sought(sought, principal), before
        if _is_walk(sought, order):
            found = (await self._seek(sought, order, principal, before=at, limit=limit)).sessions
        else:
            place = None if at is None else SessionId(at)
            found = await self._store.sessions.list(
                principal.tenant, owner=owner, before=place, limit=limit, sought=sought
            )
        return [await self._ended_if_idle(session) for session in found]

    async def count_sessions(
        self,
        *,
        principal: Principal = LOCAL,
        sought: Sought = Sought(),  # noqa: B008
    ) -> int:
        """How many `sessions` would give without an end."""
        if _is_walk(sought, SessionOrder.CREATED):
            return (await self._seek(sought, SessionOrder.CREATED, principal, before=None, limit=0)).total
        owner = self._owner_sought(sought, principal)
        return await self._store.sessions.count(principal.tenant, owner=owner, sought=sought)

    async def find_sessions(
        self,
        *,
        principal: Principal = LOCAL,
        before: str | None = None,
        limit: int = 50,
        sought: Sought = Sought(),  # noqa: B008
        order: SessionOrder = SessionOrder.CREATED,
    ) -> Found:
        """`sessions` and `count_sessions` at once, which for some is the same walk."""
        if _is_walk(sought, order):
            found = await self._seek(sought, order, principal, before=before, limit=limit)
            return replace(found, sessions=[await self._ended_if_idle(session) for session in found.sessions])
        return Found(
            sessions=await self.sessions(principal=principal, before=before, limit=limit, sought=sought),
            total=await self.count_sessions(principal=principal, sought=sought),
        )

    async def openings_of(self, sessions: Sequence[Session]) -> Mapping[SessionId, str]:
        """How the current epoch of each session of one tenant begins, cut to a line, as far as anything was said."""
        if not sessions:
            return {}
        return await self._store.sessions.openings(sessions[0].tenant, [session.id for session in sessions])

    async def session_events(
        self, session_id: str, *, principal: Principal = LOCAL, after: int = 0, limit: int = 100
    ) -> Sequence[SessionEvent]:
        """What happened to the session itself, oldest first, each with who did it."""
        session = await self.session(session_id, principal=principal)
        return await self._resuming.events(session, after=after, limit=limit)

    async def counts_of(self, session: Session) -> Mapping[str, int]:
        """How many runs a session had, and how many artifacts came out of it."""
        return await self._resuming.counts(session)

    async def resume_view(self, session_id: str, *, principal: Principal = LOCAL, messages: int = 20) -> ResumeView:
        """Everything that somebody needs who comes back to a topic, in one call."""
        return await self._resuming.view(await self.session(session_id, principal=principal), messages=messages)

    async def messages(
        self,
        session_id: str,
        *,
        principal: Principal = LOCAL,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
    ) -> Sequence[Message]:
        """What was said, oldest first, from just after a seq; with `before` the newest of those before that seq."""
        session = await self.session(session_id, principal=principal)
        if before is not None:
            return await self._store.sessions.messages_before(session.tenant, session.id, before=before, limit=limit)
        return await self._store.sessions.messages(session.tenant, session.id, after=after, limit=limit)

    async def dialogue(self, session_id: str, *, principal: Principal = LOCAL) -> Dialogue:
        """What a session holds about its intent: the answers so far, what is missing, and what is asked."""
        return (await self.session(session_id, principal=principal)).dialogue

    async def state_at(self, session_id: str, turn: int, *, principal: Principal = LOCAL) -> StateAt:
        """A session as it stood after one of its turns, less what was forgotten since. Raises TurnNotFound."""
        return await self._histories.state_at(session_id, turn, principal=principal)

    async def pause_session(self, session_id: str, **asked: Any) -> Session:
        """Lay a session aside; the next message on it resumes it. Takes what `close_session` takes."""
        change = SettingsChange(status=SessionStatus.PAUSED)
        return await self.change_session(session_id, change, command=Command.PAUSE, **asked)

    async def resume_session(self, session_id: str, **asked: Any) -> Session:
        """Take up a paused session again, as if a message had come. Takes what `close_session` takes."""
        change = SettingsChange(status=SessionStatus.ACTIVE)
        return await self.change_session(session_id, change, command=Command.RESUME, **asked)

    async def close_session(
        self,
        session_id: str,
        *,
        reason: str = "closed",
        principal: Principal = LOCAL,
        expected_version: int | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """Take no more messages, and cancel what is under way. It stays readable. Closing twice does no harm."""
        try:
            return await self.change_session(
                session_id,
                SettingsChange(status=SessionStatus.CLOSED, reason=reason),
                command=Command.CLOSE,
                principal=principal,
                expected_version=expected_version,
                trace_id=trace_id,
            )
        except (InvalidTransition, VersionMoved):
            session = await self.session(session_id, principal=principal)
            if session.status is not SessionStatus.CLOSED:
                raise
            envelope = self._command(Command.CLOSE, principal, trace_id=trace_id)
            await self._store.audit.record(audit_of(envelope, "accepted", session_id=session.id))
            return session

    async def change_session(
        self,
        session_id: str,
        change: SettingsChange,
        *,
        command: Command = Command.CHANGE,
        principal: Principal = LOCAL,
        expected_version: int | None = None,
        trace_id: str | None = None,
        **about: str,
    ) -> Session:
        """`about` names what else the audit is to name."""
        envelope = self._command(command, principal, trace_id=trace_id)
        session = await self.session(session_id, principal=principal)
        if change.idle_for_seconds is not None and change.lifetime is None:
            # Nobody may let a session live for longer than the class of its data allows.
            bands = self._world.policy.bands
            change = replace(change, lifetime=await lifetime_of(session, session.packs, self._world.packs, bands))
        changed = await self._store.sessions.change(
            session.tenant,
            session.id,
            change,
            at=envelope.received_at,
            expected_version=expected_version,
            audit=audit_of(envelope, "accepted", session_id=session.id, **about),
        )
        self._store.wakes.tell(session.tenant, Subject(session.id))
        if changed.status.is_terminal:
            await self._cancel_open_runs(changed)
        return changed

    async def rebase_session(self, session_id: str, **asked: Any) -> Session:
        """Inherit again, as the layers are now; see `keeping.scoping`."""
        return await self.scoping.rebase(session_id, **asked)

    async def _cancel_open_runs(self, session: Session) -> None:
        """Nothing goes on in a session that is over."""
        most = self.settings.queue_limit + 2
        for run in await self._store.runs.list(session.tenant, session.id, before=None, limit=most):
            if run.status.is_open:
                await self._dispatch.cancel(run)

    async def release_session(
        self, session_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> Released:
        """Close a session and give what it holds to its client, who goes on with it under the same id.

        Raises SessionBusy while a run is under way, queued or waiting in it.
        """
        return await self._converting.release(session_id, principal=principal, trace_id=trace_id)

    async def export_session(
        self, session_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> AsyncGenerator[bytes, None]:
        """All that is kept of a session, as a zip archive that comes piece by piece while it is read."""
        exported = await self._exporting.session(session_id, principal=principal, trace_id=trace_id)
        async with aclosing(exported) as pieces:
            async for piece in pieces:
                yield piece

    async def export_user(
        self, user: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The same of a user, with each of its sessions in a folder of its own."""
        exported = await self._exporting.user(user, principal=principal, trace_id=trace_id)
        async with aclosing(exported) as pieces:
            async for piece in pieces:
                yield piece

    async def erase_session(
        self, session_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> Receipt:
        """Stop what runs in a session, and erase it everywhere; see `keeping.erasing`."""
        return await self.erasure.session(session_id, principal=principal, trace_id=trace_id)

    async def erase_user(self, user: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> Receipt:
        """Erase a user with all its sessions. Where its id must stay in a row of others, a pseudonym takes its place,
        or the receipt says that it stays.
        """
        return await self.erasure.user(user, principal=principal, trace_id=trace_id)

    async def _seek(
        self, sought: Sought, order: SessionOrder, principal: Principal, *, before: str | None, limit: int
    ) -> Found:
        owner = self._owner_sought(sought, principal)
        try:
            return await self._store.sessions.seek(
                principal.tenant, owner=owner, sought=sought, order=order, before=before, limit=limit
            )
        except ValueError:
            raise EnvelopeInvalid.at("cursor", "is not `next` of a page in this order; leave it out") from None

    def _owner_sought(self, sought: Sought, principal: Principal) -> UserId | None:
        return sought.owner if principal.sees_whole_tenant else principal.user


def _is_walk(sought: Sought, order: SessionOrder) -> bool:
    """Whether no index leads to what is asked for."""
    return bool(sought.text) or order is SessionOrder.ACTIVE
