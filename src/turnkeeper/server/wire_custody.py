"""What goes over the wire about sessions that clients keep."""

from datetime import datetime

from pydantic import Field

from turnkeeper.model.seal import SealKey
from turnkeeper.server.wire import Id, Inbound, Outbound, Title


class AdoptIn(Inbound):
    """`session_id` is the id under which the client has kept the session, `carried` its newest state."""

    session_id: Id
    carried: str
    agent: Id | None = None
    title: Title | None = None
    request_id: Id | None = Field(default=None, description="The same as the header Idempotency-Key.")


class ReleasedOut(Outbound):
    """What the client goes on with, under the same id and with the same agent."""

    session_id: str
    agent: str
    carried: str
    warnings: list[str]


class SealKeyOut(Outbound):
    """A key by its id; its bytes are told to nobody."""

    id: str
    created_at: datetime
    retired_at: datetime | None

    @classmethod
    def of(cls, key: SealKey) -> "SealKeyOut":
        return cls(id=key.id, created_at=key.created_at, retired_at=key.retired_at)


class SealKeysOut(Outbound):
    items: list[SealKeyOut]
