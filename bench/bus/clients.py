"""Clients that cost next to nothing themselves: they write frames that are ready, and count the bytes that come."""

import asyncio
import contextlib
import json
import struct
import time
from collections.abc import AsyncIterator
from typing import cast

from turnkeeper.bus import topics
from turnkeeper.bus.link import Link
from turnkeeper.bus.message import Message

CHARACTERS = 800
HANDSHAKE = (
    "GET /core HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
PATIENCE_SECONDS = 60.0
AT_ONCE = 16


def message(type: str, session_id: str = "kitchen", characters: int = CHARACTERS) -> bytes:
    """One as it is usual on a bus, of so many characters."""
    context = {"source": "bench", "session": {"session_id": session_id, "lang": "en-US", "x_vendor": {"n": 1}}}
    whole = {"type": type, "data": {"text": ""}, "context": context}
    whole["data"] = {"text": "x" * (characters - len(json.dumps(whole)))}
    return json.dumps(whole).encode()


def frame(payload: bytes) -> bytes:
    """A frame of a client. Its mask is zero, so that masking costs no time here."""
    assert 125 < len(payload) < 65_536
    return struct.pack("!BBH", 0x81, 0x80 | 126, len(payload)) + b"\0\0\0\0" + payload


HEARD = CHARACTERS + 4
"""What a message of this length takes on its way to a client."""


class Client(asyncio.Protocol):
    """Counts what it hears; `answer` is sent for every second message, which is the one that it did not send itself."""

    def __init__(self, answer: bytes | None = None) -> None:
        self._answer = answer
        self._transport: asyncio.Transport | None = None
        self._wanted = 0
        self._reached: asyncio.Future[None] | None = None
        self.heard = self._answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.heard += len(data)
        if self._answer is not None:
            while self.heard >= (2 * self._answered + 1) * HEARD:
                self._answered += 1
                self.say(self._answer)
        if self._reached is not None and self.heard >= self._wanted and not self._reached.done():
            self._reached.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if self._reached is not None and not self._reached.done():
            self._reached.set_exception(ConnectionError("the bus hung up"))

    def say(self, written: bytes) -> None:
        assert self._transport is not None
        self._transport.write(written)

    async def until(self, heard: int) -> None:
        """Return once so many bytes came."""
        if self.heard >= heard:
            return
        self._wanted, self._reached = heard, asyncio.get_running_loop().create_future()
        await self._reached

    async def begin(self) -> None:
        """Connect as a websocket, hear the greeting, and count from there on."""
        answer, self._answer = self._answer, None
        self.say(HANDSHAKE.encode())
        last = -1
        while last != self.heard or not self.heard:
            last = self.heard
            await asyncio.sleep(0.1)
        self.heard, self._answer = 0, answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


@contextlib.asynccontextmanager
async def connected(port: int, *answers: bytes | None) -> AsyncIterator[list[Client]]:
    loop = asyncio.get_running_loop()
    clients: list[Client] = []
    try:
        for answer in answers:
            _, client = await loop.create_connection(lambda answer=answer: Client(answer), "127.0.0.1", port)  # type: ignore[misc]
            await client.begin()
            clients.append(client)
        yield clients
    finally:
        for client in clients:
            client.close()


async def round_trips(port: int, count: int) -> list[float]:
    """How many milliseconds each took: asked by one, answered by another, both over the bus."""
    times: list[float] = []
    question, answer = frame(message("bench.question")), frame(message("bench.answer"))
    async with asyncio.timeout(PATIENCE_SECONDS), connected(port, None, answer) as (asker, _):
        for number in range(1, count + 1):
            began = time.perf_counter()
            asker.say(question)
            await asker.until(number * 2 * HEARD)
            times.append((time.perf_counter() - began) * 1000)
    return times


async def one_way(port: int, count: int, listeners: int) -> float:
    """How many messages a second came through to all of so many, who read as fast as they come."""
    written = frame(message("bench.news"))
    async with asyncio.timeout(PATIENCE_SECONDS), connected(port, *[None] * listeners) as clients:
        began, step = time.perf_counter(), 50
        for number in range(0, count, step):
            clients[0].say(written * step)
            # At most so many are under way, as with a program that does not run ahead of itself for ever.
            await clients[0].until((number - 1_000) * HEARD)
        await asyncio.gather(*(client.until(count * HEARD) for client in clients))
        return count / (time.perf_counter() - began)


async def many_sessions(port: int, first: int, count: int) -> None:
    """A message in each of so many sessions that nobody has heard of before."""
    async with asyncio.timeout(PATIENCE_SECONDS), connected(port, None) as (client,):
        for number in range(count):
            client.say(frame(message("bench.news", session_id=f"s{first + number:07}")))
            if number % 50 == 49:
                await client.until((number + 1) * HEARD)
        await client.until(count * HEARD)


async def many_rounds(port: int, first: int, count: int) -> None:
    """A whole round in each of so many sessions that nobody has heard of before, a few at a time."""
    ended = 0
    another = asyncio.Event()

    def hear(message: Message) -> None:
        nonlocal ended
        if message.type == topics.HANDLED:
            ended += 1
            another.set()

    async def until(wanted: int) -> None:
        while ended < wanted:
            another.clear()
            async with asyncio.timeout(PATIENCE_SECONDS):
                await another.wait()

    async with Link(f"ws://127.0.0.1:{port}/core", on_message=hear) as link:
        await link.opened(PATIENCE_SECONDS)
        for number in range(count):
            session = {"session_id": f"s{first + number:07}", "x_vendor": "x" * 400}
            data = {"utterances": ["hello"]}
            link.send(Message(type=topics.UTTERANCE, data=data, context={"session": session}))
            await until(number - AT_ONCE)
        await until(count)
