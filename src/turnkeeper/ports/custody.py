"""What we ask of a database about sessions that it does not keep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.seal import SealKey
from turnkeeper.model.session import Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFields:
    """What a device is to find again, in place of what was kept for it before: that of this `version`, or of 0 for
    none. Each time one more is counted.
    """

    user: UserId
    session_id: SessionId
    fields: Mapping[str, Any]
    version: int = 0


class DeviceStore(Protocol):
    """The sessions of devices, as far as their owners want them to outlive a process."""

    async def load(self, tenant: TenantId, user: UserId, session_id: SessionId) -> DeviceFields | None:
        """What was kept last; None when nothing was."""

    async def keep(self, tenant: TenantId, kept: DeviceFields, *, at: datetime) -> None:
        """Raises SessionMoved when something else was kept since that version, or it was erased."""


class SealStore(Protocol):
    """The keys of the seals, shared by all nodes."""

    async def keys(self, tenant: TenantId) -> Sequence[SealKey]:
        """The oldest first, retired ones too."""

    async def make_first(self, key: SealKey) -> None:
        """Keep it, unless the tenant has one that is not retired. Of two nodes that try at once one does."""

    async def add(self, key: SealKey, audit: AuditFacts) -> None:
        """Everything is sealed with it from now on."""

    async def retire(self, tenant: TenantId, id: str, audit: AuditFacts, *, at: datetime) -> None:
        """Drop its bytes for good. Retiring it twice does nothing. Raises SealKeyNotFound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionMark:
    """From which revision a session that a client keeps goes on to which, where no older state is to be taken."""

    user: UserId
    session_id: SessionId
    sent: int
    becomes: int


def mark_of(conversation: Conversation) -> RevisionMark | None:
    """What is to be remembered of it; None where any state will do."""
    session = conversation.session
    if conversation.sent is None:
        return None
    return RevisionMark(user=session.owner, session_id=session.id, sent=conversation.sent, becomes=session.revision)


class RevisionStore(Protocol):
    """The newest revision of sessions that clients keep, where they want no older one to be taken."""

    async def newest(self, tenant: TenantId, user: UserId, session_id: SessionId) -> int:
        """0 when none is remembered."""

    async def of_user(self, tenant: TenantId, user: UserId) -> Sequence[Mapping[str, Any]]:
        """All that are remembered of a user: `session_id` and `revision`."""
