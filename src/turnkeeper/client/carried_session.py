"""A session that its client keeps: the server forgets it after each turn, and is sent it with the next."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from turnkeeper.client.carried import SessionKeep
from turnkeeper.client.shapes import Reply, Session
from turnkeeper.client.talking import Sent
from turnkeeper.errors import RunEnded
from turnkeeper.ledger.feed import Frame
from turnkeeper.ledger.saying import Saying
from turnkeeper.model.session import Custody, Freshness

if TYPE_CHECKING:
    from turnkeeper.client.keeper import Turnkeeper


class CarriedSession:
    """One turn at a time. What it holds is sealed: it is kept, sent back, and read by nobody here.

    It is kept under its name before a reply is given, also what a run that failed has left. The name is its id.
    """

    def __init__(self, keeper: "Turnkeeper", name: str, keep: SessionKeep, *, agent: str | None = None) -> None:
        self.name = name
        self._keeper, self._keep, self._agent = keeper, keep, agent
        self._in_turn = asyncio.Lock()

    async def chat(self, message: str, **asked: Any) -> Reply:
        """Say something, with all that was said before. Takes what `chat` of the keeper takes."""
        async with self._in_turn:
            try:
                reply = await self._keeper.chat(message, **(await self._asked(asked)))
            except RunEnded as error:
                await self._save(error.facts.get("carried"))
                raise
            await self._save(reply.carried)
            return reply

    def say(self, message: str, **asked: Any) -> Saying[Sent, Reply]:
        """The same, and hear the answer as it is said. It is kept when the answer is heard to its end."""

        async def send() -> Sent:
            return self._keeper.sending(message, **(await self._asked(asked)))

        return Saying(send, self._followed, Sent.reply)

    async def adopt(self, *, title: str | None = None) -> Session:
        """Have the server keep it from now on, as a new session with an id of its own."""
        async with self._in_turn:
            kept = await asyncio.to_thread(self._keep.load, self.name) or {}
            return await self._keeper.adopt_session(
                self.name, kept.get("carried", ""), agent=kept.get("agent") or self._agent, title=title
            )

    async def release(self) -> None:
        """Take over the session of this id, which the server kept until now: it is closed there, and goes on here."""
        async with self._in_turn:
            given = await self._keeper.release_session(self.name)
            self._agent = given.session.agent
            await self._save(given.carried)

    async def _followed(self, sent: Sent) -> AsyncGenerator[Frame, None]:
        async with self._in_turn, aclosing(sent.frames()) as frames:
            async for frame in frames:
                if frame.type.ends_a_run:
                    await self._save(frame.data.get("carried"))
                yield frame

    async def _asked(self, asked: dict[str, Any]) -> dict[str, Any]:
        kept = await asyncio.to_thread(self._keep.load, self.name) or {}
        agent = asked.pop("agent", None) or kept.get("agent") or self._agent
        carried = kept.get("carried")
        ours = {"session_id": self.name, "agent": agent, "custody": Custody.CLIENT, "carried": carried}
        return {"freshness": Freshness.ANY, **asked, **ours}

    async def _save(self, carried: str | None) -> None:
        if carried is not None:
            session = {"session_id": self.name, "agent": self._agent, "carried": carried}
            await asyncio.to_thread(self._keep.save, self.name, session)
