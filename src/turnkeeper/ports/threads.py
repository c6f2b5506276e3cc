"""What we ask of where agents keep a memory of their own: to list, copy and drop what belongs to a session."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.model.thread import ThreadHead, ThreadName


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSummary:
    """What is told of a thread before it is dropped."""

    messages: int
    checkpoints: int

    @property
    def told(self) -> dict[str, Any]:
        return {"messages": self.messages, "checkpoints": self.checkpoints}


class Threads(Protocol):
    """Raises AgentMemoryUnavailable when it cannot be reached."""

    @property
    def is_used(self) -> bool:
        """Whether there is, or may be, anything in it. Asking opens nothing."""

    async def threads_of(self, tenant: TenantId, session_id: SessionId) -> Sequence[str]:
        """The threads of a session, of every epoch, those of its clients too."""

    async def after(self, thread: str, *, limit: int) -> Sequence[str]:
        """The names of threads in order, from just after this one."""

    async def summary(self, head: ThreadHead) -> ThreadSummary:
        """How much a thread holds, and what its graph remembers at this place."""

    async def forget_thread(self, thread: str) -> int:
        """Drop a thread, and say how many checkpoints it had."""

    async def prune(self, thread: str, *, keep: Collection[Mapping[str, str]], before: datetime) -> int:
        """Drop the checkpoints of a thread that are older and belong to none of these places; say how many."""

    async def copy(self, head: ThreadHead, to: ThreadName) -> ThreadHead:
        """The same memory at this place, in a thread of its own. Raises AgentMemoryLost when it is not there."""

    def told(self, thread: str) -> AsyncIterator[Mapping[str, Any]]:
        """What a thread holds, checkpoint by checkpoint, as plain as it can be told."""

    async def scrub(self) -> bool:
        """Leave nothing of what was dropped in the files; False when it must be tried again."""

    async def close(self) -> None: ...
