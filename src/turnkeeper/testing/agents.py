"""An agent that answers when the test lets it."""

import asyncio
from collections.abc import AsyncIterator

from turnkeeper.ports.agent import AgentTurn


class HeldAgent:
    """Says `first` at once if there is one, waits until it is let go, then says what it answers.

    `begun` hands out each turn as it starts; `stopped` counts the turns that were cancelled while they were held.
    """

    def __init__(self, *, first: str = "") -> None:
        self._first = first
        self._go = asyncio.Event()
        self.begun: asyncio.Queue[AgentTurn] = asyncio.Queue()
        self.stopped = 0

    def let_go(self) -> None:
        self._go.set()

    def hold(self) -> None:
        self._go.clear()

    async def __call__(self, turn: AgentTurn) -> AsyncIterator[str]:
        turn.state["turns"] = turn.state.get("turns", 0) + 1
        self.begun.put_nowait(turn)
        try:
            if self._first:
                yield self._first
            await self._go.wait()
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        yield f"[{turn.text}]"
