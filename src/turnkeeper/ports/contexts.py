"""What we ask of a database about frozen contexts and saved layouts."""

from datetime import datetime
from typing import Protocol

from turnkeeper.model.ids import SessionId, TenantId


class ContextStore(Protocol):
    async def keep(self, tenant: TenantId, hash: str, canonical: str, *, at: datetime) -> None:
        """Keep a context under its hash; once is enough for all sessions that have it."""

    async def find(self, tenant: TenantId, hash: str) -> str | None:
        """As it was written down."""


class LayoutStore(Protocol):
    async def save(self, tenant: TenantId, session_id: SessionId, layout: str, *, at: datetime) -> None:
        """The last one counts."""

    async def find(self, tenant: TenantId, session_id: SessionId) -> str | None: ...

    async def drop(self, tenant: TenantId, session_id: SessionId) -> bool:
        """Whether there was one."""
