"""What we ask of a database about sessions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.message import Message
from turnkeeper.model.session import Conversation, Past, Session, SettingsChange


class SessionStore(Protocol):
    async def create(self, session: Session, audit: AuditFacts) -> None:
        """Keep a new session without a message in it."""

    async def load(
        self, tenant: TenantId, session_id: SessionId, *, window: int, known: Past | None = None
    ) -> Conversation:
        """The session with the newest `window` messages of its epoch, oldest first. Raises SessionNotFound.

        Where the session is still at the revision of `known`, only the session itself is read anew.
        """

    async def get(self, tenant: TenantId, session_id: SessionId) -> Session:
        """Raises SessionNotFound, also for a session of another tenant."""

    async def list(
        self, tenant: TenantId, *, owner: UserId | None, before: SessionId | None, limit: int
    ) -> Sequence[Session]:
        """Newest first, from just before the given id; of one owner, or of the whole tenant."""

    async def messages(self, tenant: TenantId, session_id: SessionId, *, after: int, limit: int) -> Sequence[Message]:
        """In order, of every epoch, from just after the given seq."""

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

        Closing cancels the waiting runs. Raises SessionNotFound, VersionMoved or InvalidTransition.
        """
