"""A relay to PostgreSQL that counts what goes through it: round trips and statements."""

import asyncio
import contextlib
from collections.abc import Callable

_EXECUTE, _QUERY = ord("E"), ord("Q")


class Relay:
    """A round trip is a burst from the client after the server has spoken."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._trips = self._statements = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def counts(self) -> dict[str, int]:
        return {"round_trips": self._trips, "statements": self._statements}

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(self._host, self._port)
        conversation = _Conversation(self)
        down = asyncio.create_task(_pump(from_server, to_client, conversation.server_said))
        self._tasks.add(down)
        down.add_done_callback(self._tasks.discard)
        await _pump(from_client, to_server, conversation.client_said)
        down.cancel()

    def count(self, trips: int, statements: int) -> None:
        self._trips += trips
        self._statements += statements


class _Conversation:
    """One connection. Messages may be cut anywhere, so what is incomplete waits for its rest."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._rest = b""
        self._started = False
        self._server_spoke = True

    def server_said(self, _: bytes) -> None:
        self._server_spoke = True

    def client_said(self, data: bytes) -> None:
        self._relay.count(int(self._server_spoke), 0)
        self._server_spoke = False
        self._rest += data
        while (message := self._next_message()) is not None:
            self._relay.count(0, int(message in (_EXECUTE, _QUERY)))

    def _next_message(self) -> int | None:
        head = 1 if self._started else 0
        if len(self._rest) < head + 4:
            return None
        length = int.from_bytes(self._rest[head : head + 4]) + head
        if len(self._rest) < length:
            return None
        kind = self._rest[0] if self._started else 0
        is_startup = int.from_bytes(self._rest[head + 4 : head + 8]) == 3 << 16
        self._rest = self._rest[length:]
        # Requests for encryption come before the start of the protocol and have its shape.
        self._started = self._started or is_startup
        return kind


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: Callable[[bytes], None]) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            heard(data)
            writer.write(data)
            await writer.drain()
    writer.close()
