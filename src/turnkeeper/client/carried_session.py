"""A session that its client keeps: the server forgets it after each turn, and is sent it with the next."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
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
            asked = await self._asked(asked)
            try:
                reply = await self._keeper.chat(message, **asked)
            except RunEnded as error:
                await self._save(error.facts.get("carried"), asked["agent"])
                raise
            await self._save(reply.carried, asked["agent"])
            return reply

    def say(self, message: str, **asked: Any) -> "Saying[CarriedTurn, Reply]":
        """The same, and hear the answer as it is said. It is kept when the answer is heard to its end."""

        async def begin() -> CarriedTurn:
            return CarriedTurn(self, message, asked)

        return Saying(begin, CarriedTurn.frames, CarriedTurn.reply)

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
            await self._save(given.carried, given.session.agent)

    async def _asked(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        kept = await asyncio.to_thread(self._keep.load, self.name) or {}
        agent = asked.get("agent") or kept.get("agent") or self._agent
        carried = kept.get("carried")
        ours = {"session_id": self.name, "agent": agent, "custody": Custody.CLIENT, "carried": carried}
        return {"freshness": Freshness.ANY, **asked, **ours}

    async def _save(self, carried: str | None, agent: str | None) -> None:
        if carried is not None:
            session = {"session_id": self.name, "agent": agent, "carried": carried}
            await asyncio.to_thread(self._keep.save, self.name, session)


class CarriedTurn:
    """A turn that is heard as it comes. It is sent what is kept once the turn before it has come to its end."""

    def __init__(self, session: CarriedSession, message: str, asked: Mapping[str, Any]) -> None:
        self._session, self._message, self._asked = session, message, asked
        self._agent: str | None = None
        self._sent: Sent | None = None
        self._is_heard = False

    async def frames(self) -> AsyncGenerator[Frame, None]:
        async with self._session._in_turn:
            self._is_heard = True
            try:
                async with aclosing(self._kept()) as frames:
                    async for frame in frames:
                        yield frame
            finally:
                self._is_heard = False

    async def reply(self) -> Reply:
        """What was said in the end. Raises RunEnded when that is no answer."""
        if self._sent is None or not self._sent.course.is_over:
            # Whoever asks in the midst of hearing it has its turn already.
            async for _ in self._kept() if self._is_heard else self.frames():
                pass
        assert self._sent is not None, "it was heard to its end"
        return await self._sent.reply()

    async def _kept(self) -> AsyncGenerator[Frame, None]:
        if self._sent is None:
            asked = await self._session._asked(self._asked)
            self._agent, self._sent = asked["agent"], self._session._keeper.sending(self._message, **asked)
        async with aclosing(self._sent.frames()) as frames:
            async for frame in frames:
                if frame.type.ends_a_run:
                    await self._session._save(frame.data.get("carried"), self._agent)
                yield frame
