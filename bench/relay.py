"""A relay to PostgreSQL that counts what goes through it: round trips and statements."""

import asyncio
import contextlib
from collections.abc import Callable

_EXECUTE, _QUERY = ord("E"), ord("Q")


class Relay:
    """A round trip is a burst from the client after the server has spoken."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._conversations: list[_Conversation] = []
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def counts(self) -> dict[str, int]:
        """Connections that listen and notify carry hints between nodes, and nothing that a turn waits for."""
        of_turns = [one for one in self._conversations if not one.carries_hints]
        of_hints = [one for one in self._conversations if one.carries_hints]
        return {
            "round_trips": sum(one.trips for one in of_turns),
            "statements": sum(one.statements for one in of_turns),
            "round_trips_of_hints": sum(one.trips for one in of_hints),
        }

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(self._host, self._port)
        conversation = _Conversation()
        self._conversations.append(conversation)
        down = asyncio.create_task(_pump(from_server, to_client, conversation.server_said))
        self._tasks.add(down)
        down.add_done_callback(self._tasks.discard)
        await _pump(from_client, to_server, conversation.client_said)
        down.cancel()


class _Conversation:
    """One connection. Messages may be cut anywhere, so what is incomplete waits for its rest."""

    def __init__(self) -> None:
        self.trips = self.statements = 0
        self.carries_hints = False
        self._rest = b""
        self._started = False
        self._server_spoke = True

    def server_said(self, _: bytes) -> None:
        self._server_spoke = True

    def client_said(self, data: bytes) -> None:
        self.trips += self._server_spoke
        self._server_spoke = False
        self.carries_hints = self.carries_hints or b"LISTEN" in data or b"pg_notify" in data or b"NOTIFY" in data
        self._rest += data
        while (message := self._next_message()) is not None:
            self.statements += message in (_EXECUTE, _QUERY)

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
