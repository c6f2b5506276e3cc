"""What we ask about how far a session reaches, right now."""

from collections.abc import Sequence
from typing import Protocol

from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.model.mount import Mount
from turnkeeper.model.run import Run
from turnkeeper.model.scope import Context, SessionScope
from turnkeeper.model.session import Session


class Scopes(Protocol):
    async def of(self, session: Session) -> SessionScope:
        """What the session may reach at this moment: what layers exclude, and what was deleted, is gone at once."""

    async def of_run(self, session: Session, run: Run) -> SessionScope:
        """The same for a run in it, also by the definition of the agent that answers where that is another one."""

    async def context(self, session: Session) -> Context:
        """What it inherited when it began or was rebased; read once, for it never changes."""


class Reach(Protocol):
    """What lies behind mounted pointers and behind the outputs of a session."""

    async def holds_manifest(
        self, tenant: TenantId, session_id: SessionId, pointers: Sequence[Mount], manifest: str
    ) -> bool:
        """Whether the manifest is or was where one of these pointers stood, or came out of this session.

        A fixed pointer holds the one manifest that it is fixed to.
        """

    async def holds_artifact(
        self, tenant: TenantId, session_id: SessionId, pointers: Sequence[Mount], sha256: str
    ) -> bool:
        """Whether the content is in a manifest that is held, or came out of this session."""
