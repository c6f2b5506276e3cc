"""Coming back to a topic: what happened to a session, and all that somebody needs to go on with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnkeeper.keeping.scoping import Scoping
from turnkeeper.model.approval import Approval, ApprovalStatus
from turnkeeper.model.feed import FeedEntry, FeedType
from turnkeeper.model.ids import RunId
from turnkeeper.model.message import Message
from turnkeeper.model.output import Output, OutputKind
from turnkeeper.model.run import Run
from turnkeeper.model.scope import SessionScope
from turnkeeper.model.session import Session, SessionStatus
from turnkeeper.ports.store import Store

STARTED, RESUMED = "started", "resumed"
MOST_RUNS = 50
MOST_OUTPUTS = 200
MOST_APPROVALS = 50
_NOT_TOLD = ("what", "by", "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvent:
    """Something that happened to a session: `no` is its number in the feed, 0 its beginning. `by` None is the house."""

    no: int
    what: str
    by: str | None
    at: datetime
    status: str | None = None
    run_id: RunId | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeView:
    """A session as whoever comes back to it wants to see it. `pointer_moves` are those outputs that moved one."""

    session: Session
    scope: SessionScope
    layout: Any
    messages: Sequence[Message]
    runs: Sequence[Run]
    outputs: Sequence[Output]
    approvals: Sequence[Approval]

    @property
    def pointer_moves(self) -> Sequence[Output]:
        return [output for output in self.outputs if output.kind is OutputKind.POINTER]


class Resuming:
    def __init__(self, store: Store, scoping: Scoping) -> None:
        self._store, self._scoping = store, scoping

    async def view(self, session: Session, *, messages: int) -> ResumeView:
        tenant, id = session.tenant, session.id
        newest = max(0, session.last_seq - messages)
        approvals = await self._store.approvals.list(
            tenant, owner=None, session_id=id, status=ApprovalStatus.PENDING, before=None, limit=MOST_APPROVALS
        )
        return ResumeView(
            session=session,
            scope=await self._scoping.scope(session),
            layout=await self._scoping.layout_of(session),
            messages=await self._store.sessions.messages(tenant, id, after=newest, limit=messages),
            runs=await self._store.runs.list(tenant, id, before=None, limit=MOST_RUNS),
            outputs=await self._store.outputs.newest(tenant, id, limit=MOST_OUTPUTS),
            approvals=approvals,
        )

    async def counts(self, session: Session) -> Mapping[str, int]:
        """How many runs a session had, and how many artifacts came out of it."""
        outputs = await self._store.outputs.counts(session.tenant, session.id)
        runs = await self._store.sessions.count_runs(session.tenant, session.id)
        return {"runs": runs, "artifacts": outputs.get(OutputKind.ARTIFACT, 0)}

    async def events(self, session: Session, *, after: int, limit: int) -> Sequence[SessionEvent]:
        """From its beginning, which is no entry of its own: the row of the session tells it."""
        entries = await self._store.sessions.events(session.tenant, session.id, after=after, limit=limit)
        told = [] if after > 0 else [_beginning(session)]
        for place, entry in enumerate(entries):
            if entry.type is FeedType.RUN_ACCEPTED:
                told += await self._woken(session, entry, entries[place + 1 :])
            else:
                told += _events_of(entry)
        return told

    async def _woken(self, session: Session, entry: FeedEntry, later: Sequence[FeedEntry]) -> list[SessionEvent]:
        """A message on a paused session resumed it, unless somebody had done so before."""
        changed = next((each for each in later if each.type is FeedType.SESSION_CHANGED), None)
        if entry.run_id is None or (changed is not None and changed.no < entry.no):
            return []
        run = await self._store.runs.get(session.tenant, entry.run_id)
        return [
            SessionEvent(
                no=entry.no, what=RESUMED, by=run.user, at=entry.at, status=SessionStatus.ACTIVE, run_id=run.id
            )
        ]


def _beginning(session: Session) -> SessionEvent:
    data: dict[str, Any] = {}
    if session.from_session_id is not None:
        data["from_session_id"] = session.from_session_id
    if session.fork is not None:
        data["fork_of"] = session.fork.session_id
    return SessionEvent(no=0, what=STARTED, by=session.owner, at=session.created_at, status="active", data=data)


def _events_of(entry: FeedEntry) -> list[SessionEvent]:
    """One for each part of a change."""
    data = {name: value for name, value in entry.data.items() if name not in _NOT_TOLD}
    return [
        SessionEvent(
            no=entry.no,
            what=what,
            by=entry.data.get("by"),
            at=entry.at,
            status=entry.data.get("status"),
            data=data,
        )
        for what in entry.data.get("what", ("changed",))
    ]
