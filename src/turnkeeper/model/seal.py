"""The key under which what a client carries is sealed."""

from dataclasses import dataclass, field
from datetime import datetime

from turnkeeper.model.ids import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class SealKey:
    """One of a tenant. Once it is retired its bytes are gone, and what it has sealed is opened by nobody."""

    tenant: TenantId
    id: str
    key: bytes | None = field(repr=False)
    created_at: datetime
    retired_at: datetime | None = None

    def __post_init__(self) -> None:
        if (self.key is None) != (self.retired_at is not None):
            raise ValueError("a SealKey has its bytes until it is retired")
