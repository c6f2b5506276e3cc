"""Who takes part in the tests of a bus: raw sockets that say anything, and links that collect what they hear."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

from websockets.asyncio.client import ClientConnection, connect

import tests.eventually
from turnkeeper.bus.link import Link
from turnkeeper.bus.message import Message

WITHIN = 20.0
"""Longer than anything takes, unless it never happens."""


@asynccontextmanager
async def a_socket(url: str, **more: Any) -> AsyncIterator[ClientConnection]:
    """A connection that is greeted already."""
    async with connect(url, **{"proxy": None, "max_size": None, "max_queue": None, **more}) as socket:
        await heard(socket)
        yield socket


async def heard(socket: ClientConnection) -> str:
    async with asyncio.timeout(WITHIN):
        frame = await socket.recv()
    assert isinstance(frame, str)
    return frame


async def heard_until(socket: ClientConnection, last: str) -> list[str]:
    """Everything up to a frame that was sent to mark the end."""
    frames: list[str] = []
    while not frames or frames[-1] != last:
        frames.append(await heard(socket))
    return frames


async def eventually(happened: Callable[[], bool]) -> None:
    async def has_happened() -> bool:
        return happened()

    await tests.eventually.eventually(has_happened, within=WITHIN)


class Participant:
    """Somebody on the bus who may answer, and who remembers what was said."""

    def __init__(
        self,
        url: str,
        answers: Callable[[Message], list[Message]] = lambda _: [],
        says_first: Message | None = None,
        **more: Any,
    ) -> None:
        self.heard: list[Message] = []
        self.opened = 0
        self._answers, self._says_first = answers, says_first
        self.link = Link(url, on_message=self._hear, on_open=self._opened, **more)
        self._something = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self.link.__aenter__()
        await self.link.opened(WITHIN)
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.link.close()

    def _opened(self) -> None:
        self.opened += 1
        if self._says_first is not None:
            self.link.send(self._says_first)
        self._something.set()

    def _hear(self, message: Message) -> None:
        self.heard.append(message)
        for answer in self._answers(message):
            self.link.send(answer)
        self._something.set()

    async def until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN):
            while not happened():
                self._something.clear()
                await self._something.wait()

    async def hears(self, topic: str, count: int = 1) -> list[Message]:
        """The messages of a topic, once there are so many."""
        await self.until(lambda: len(self.of(topic)) >= count)
        return self.of(topic)

    def of(self, topic: str) -> list[Message]:
        return [each for each in self.heard if each.type == topic]
