"""Clients that cost next to nothing themselves: they write bytes that are ready, and time what comes back."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import cast

from bench.acceptance.envelopes import torrent
from bench.acceptance.serving import Address

PATIENCE_SECONDS = 60.0
_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length:"


@dataclass(frozen=True, slots=True)
class Block:
    """What one go of all clients gave: every latency, how long they took together, and what the server used."""

    times_ms: list[float]
    seconds: float
    cpu_seconds: float


class Client(asyncio.Protocol):
    """One connection that is kept, with one request at a time on it."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._read = bytearray()
        self._wanted = 0
        self._answer: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the server hung up"))

    def data_received(self, data: bytes) -> None:
        self._read += data
        if not self._wanted:
            end = self._read.find(_END_OF_HEAD)
            if end < 0:
                return
            head = bytes(self._read[:end]).lower()
            place = head.find(_LENGTH)
            self._wanted = end + len(_END_OF_HEAD) + int(head[place + len(_LENGTH) :].split(b"\r\n", 1)[0])
        if len(self._read) >= self._wanted and self._answer is not None:
            self._answer.set_result(bytes(self._read[: self._wanted]))

    async def ask(self, request: bytes, status: bytes) -> bytes:
        """The body of the answer. Raises RuntimeError for another status than this."""
        assert self._transport is not None
        self._read.clear()
        self._wanted = 0
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        answer = await self._answer
        if not answer.startswith(b"HTTP/1.1 " + status):
            raise RuntimeError(answer.decode())
        return answer.partition(_END_OF_HEAD)[2]

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


@contextlib.asynccontextmanager
async def connected(address: Address, count: int) -> AsyncIterator[list[Client]]:
    loop = asyncio.get_running_loop()
    clients = [(await loop.create_connection(Client, address.host, address.port))[1] for _ in range(count)]
    try:
        yield clients
    finally:
        for client in clients:
            client.close()


async def asked_once(address: Address, request: bytes) -> bytes:
    async with connected(address, 1) as (client,):
        return await client.ask(request, b"200")


async def all_at_once(address: Address, requests: Sequence[Sequence[bytes]], status: bytes) -> Block:
    """One client for each list of requests; each sends the next one as soon as the last is answered."""
    times: list[float] = []

    async def go(client: Client, own: Sequence[bytes]) -> None:
        for request in own:
            began = time.perf_counter()
            await client.ask(request, status)
            times.append((time.perf_counter() - began) * 1000)

    async with asyncio.timeout(PATIENCE_SECONDS), connected(address, len(requests)) as clients:
        used, began = address.cpu_seconds(), time.perf_counter()
        await asyncio.gather(*(go(client, own) for client, own in zip(clients, requests, strict=True)))
        seconds = time.perf_counter() - began
        return Block(times, seconds, address.cpu_seconds() - used)


@contextlib.asynccontextmanager
async def streaming(address: Address, *, reads: bool) -> AsyncIterator[None]:
    """A reader with a small window that asks for the torrent, and takes all of it or nothing."""
    loop = asyncio.get_running_loop()
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536 if reads else 4_096)
    reader.setblocking(False)
    taking = None
    try:
        await loop.sock_connect(reader, (address.host, address.port))
        await loop.sock_sendall(reader, torrent())
        if reads:
            taking = asyncio.create_task(_take(reader))
        yield
    finally:
        if taking is not None:
            taking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await taking
        reader.close()


async def _take(reader: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while await loop.sock_recv(reader, 65_536):
        pass
