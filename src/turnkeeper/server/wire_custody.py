"""What goes over the wire about sessions that clients keep."""

from datetime import datetime

from turnkeeper.model.seal import SealKey
from turnkeeper.server.wire import Outbound


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
