"""What we ask of a database about sessions."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.feed import FeedEntry
from turnkeeper.model.ids import AgentId, LayerId, SessionId, TenantId, UserId
from turnkeeper.model.message import Message
from turnkeeper.model.purpose import Module
from turnkeeper.model.session import Conversation, Past, Session, SessionStatus, SettingsChange
from turnkeeper.model.turn import Turn
from turnkeeper.ports.runs import RequestKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Which sessions are looked for; None is any.

    `title` is a part of it, in which letters a to z stand for their capitals, too. `text` are words that are in the
    title or in the opening, each of them, in whatever case. `fork_of` is the session that they were forked from. A span
    holds its first moment and not its last one.
    """

    status: SessionStatus | None = None
    module: Module | None = None
    project_id: LayerId | None = None
    agent: AgentId | None = None
    owner: UserId | None = None
    title: str | None = None
    created_from: datetime | None = None
    created_until: datetime | None = None
    active_from: datetime | None = None
    active_until: datetime | None = None
    text: str | None = None
    fork_of: SessionId | None = None


class SessionOrder(StrEnum):
    """Newest first: by when they began, which never changes, or by when they were last active."""

    CREATED = "created"
    ACTIVE = "active"

    def cursor_of(self, session: Session) -> str:
        """Where the page behind this session begins."""
        if self is SessionOrder.CREATED:
            return session.id
        return f"{(session.last_active_at - _EPOCH) // _MICROSECOND}:{session.id}"

    def place_of(self, cursor: str) -> tuple[int, str]:
        """What sorts like a session of this cursor. Raises ValueError for one of another order."""
        if self is SessionOrder.CREATED:
            return 0, cursor
        active, _, id = cursor.partition(":")
        return int(active), id


_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)

OPENING_CHARS = 120
"""How much of what was said first is told of a session in a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One page of sessions; `total` is how many there are on all pages."""

    sessions: Sequence[Session]
    total: int


class SessionStore(Protocol):
    async def create(
        self,
        session: Session,
        audit: AuditFacts,
        *,
        continued: Turn | None = None,
        request: RequestKey | None = None,
        is_current: bool = False,
        most: int | None = None,
    ) -> Session:
        """Keep a new session: empty, or with what it takes over from another one as its turn 0.

        Gives another one back, and keeps nothing, when the same request made it before, or with `is_current` when its
        owner is in one that lives in this module and project. `most` is how many may live in the tenant. Raises
        DuplicateRequest or QuotaExceeded.
        """

    async def load(
        self, tenant: TenantId, session_id: SessionId, *, window: int, known: Past | None = None
    ) -> Conversation:
        """The session with the newest `window` messages of its epoch, oldest first. Raises SessionNotFound.

        Where the session is still at the revision of `known`, only the session itself is read anew.
        """

    async def get(self, tenant: TenantId, session_id: SessionId) -> Session:
        """Raises SessionNotFound, also for a session of another tenant."""

    async def list(
        self,
        tenant: TenantId,
        *,
        owner: UserId | None,
        before: SessionId | None,
        limit: int,
        sought: Sought = Sought(),  # noqa: B008
    ) -> Sequence[Session]:
        """Newest first, from just before the given id; of one owner, or of the whole tenant."""

    async def count(self, tenant: TenantId, *, owner: UserId | None, sought: Sought) -> int:
        """How many `list` would give without an end."""

    async def seek(
        self,
        tenant: TenantId,
        *,
        owner: UserId | None,
        sought: Sought,
        order: SessionOrder,
        before: str | None,
        limit: int,
    ) -> Found:
        """The same for what no index leads to: words, and the order of the last activity. `before` is a cursor.

        Walks over all sessions that fit otherwise, page by page. One that becomes active meanwhile is told once or not
        at all, never twice. Raises ValueError for a cursor of another order.
        """

    async def openings(self, tenant: TenantId, ids: Collection[SessionId]) -> Mapping[SessionId, str]:
        """How the current epoch of each session begins: what its user said first, cut to `OPENING_CHARS`.

        Where nothing is committed in it yet, what was said to its newest run, for as long as that is known. One in
        which nothing was said is left out.
        """

    async def count_runs(self, tenant: TenantId, session_id: SessionId) -> int:
        """How many runs a session has had, whatever their end."""

    async def living(self, tenant: TenantId, *, at: datetime) -> int:
        """How many sessions of the tenant live at this moment."""

    async def events(self, tenant: TenantId, session_id: SessionId, *, after: int, limit: int) -> Sequence[FeedEntry]:
        """The changes of its settings, oldest first, from just after a number of its feed.

        Behind one that paused it stands the run that woke it again, if a message did.
        """

    async def messages(self, tenant: TenantId, session_id: SessionId, *, after: int, limit: int) -> Sequence[Message]:
        """In order, of every epoch, from just after the given seq."""

    async def messages_before(
        self, tenant: TenantId, session_id: SessionId, *, before: int, limit: int
    ) -> Sequence[Message]:
        """The newest of those before the given seq, of every epoch, told in order."""

    async def change(
        self,
        tenant: TenantId,
        session_id: SessionId,
        change: SettingsChange,
        *,
        at: datetime,
        expected_version: int | None,
        audit: AuditFacts,
    ) -> Session:
        """Change settings at once, whether or not a turn is running; the turn goes on.

        Closing cancels the waiting runs. Raises SessionNotFound, VersionMoved or InvalidTransition, and with `idle_at`
        SessionBusy or SessionMoved.
        """

    async def expire(self, tenant: TenantId, session_id: SessionId, *, at: datetime, audit: AuditFacts) -> Session:
        """End a session that has been idle for too long; one that is not, or that has runs under way, stays.

        Returns the session as it is afterwards. Raises SessionNotFound.
        """

    def idle(self, *, at: datetime) -> AsyncIterator[tuple[TenantId, SessionId]]:
        """Sessions that seem to have been idle for too long. Walks over all that live, page by page."""
