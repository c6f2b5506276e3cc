"""What a handler in this process is handed when an utterance is for it."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from turnkeeper.bus.message import Message


class Dispatch(Protocol):
    """One utterance to be handled. `session` may be changed; what is emitted from then on carries the change."""

    message: Message
    session: dict[str, Any]

    @property
    def utterance(self) -> str: ...

    @property
    def lang(self) -> str: ...

    @property
    def slots(self) -> dict[str, str]: ...

    async def emit(self, type: str, data: dict[str, Any] | None = None) -> None:
        """Say something that belongs to this round, in the direction of whoever asked."""

    async def speak(self, text: str, *, lang: str | None = None, listen: bool = False) -> None:
        """Have something said; `listen` opens the microphone afterwards, where there is one."""

    async def ask(self, question: str, *, seconds: float = 60.0) -> None:
        """Ask something; the next utterance of this session is the answer, and comes as the intent `response`."""

    async def sync(self, fields: dict[str, Any]) -> None:
        """Tell everybody what has changed in the session, when nothing else carries it."""


Handler = Callable[[Dispatch], Awaitable[None]]
