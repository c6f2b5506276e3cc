"""Asking everybody on the bus the same thing, for a bounded time."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from turnkeeper.bus.message import Message

MOST_ANSWERS = 1024


class Polls:
    """The questions of one round that are still open. `emit` sends one in its name."""

    def __init__(self, emit: Callable[[str, dict[str, Any]], None]) -> None:
        self._emit = emit
        self._open: dict[str, tuple[list[Message], asyncio.Future[None], Callable[[Sequence[Message]], bool]]] = {}

    async def __call__(
        self,
        topic: str,
        data: dict[str, Any],
        *,
        answers: str,
        seconds: float,
        is_enough: Callable[[Sequence[Message]], bool],
    ) -> Sequence[Message]:
        came: list[Message] = []
        enough: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open[answers] = (came, enough, is_enough)
        try:
            self._emit(topic, data)
            await asyncio.wait([enough], timeout=seconds)
        finally:
            del self._open[answers]
        return tuple(came)

    def answered(self, message: Message) -> bool:
        """Whether somebody asked for this. Who answers late is not heard."""
        asked = self._open.get(message.type)
        if asked is None:
            return False
        came, enough, is_enough = asked
        if len(came) < MOST_ANSWERS:
            came.append(message)
        if not enough.done() and is_enough(tuple(came)):
            enough.set_result(None)
        return True
