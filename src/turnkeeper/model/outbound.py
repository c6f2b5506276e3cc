"""What goes out through a channel, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import BindingId, DeliveryId, RunId, SessionId, TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTo:
    """Where the answer to a message goes. `thread` is what its channel needs to put it in the right place there."""

    binding: BindingId
    channel: str
    address: str
    thread: Mapping[str, Any] = field(default_factory=dict)


class DeliveryStatus(StrEnum):
    """`unknown` may have gone out or not: nobody repeats it silently."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One text on its way to one address. Its id is the same in every attempt, also for the one who receives it."""

    tenant: TenantId
    id: DeliveryId
    session_id: SessionId
    run_id: RunId
    to: ReplyTo
    text: str
    created_at: datetime
    due_at: datetime
    status: DeliveryStatus = DeliveryStatus.PENDING
    attempts: int = 0
    error: str | None = None
    ended_at: datetime | None = None
