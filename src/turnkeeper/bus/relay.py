"""The bus itself: whatever one connection says, every connection hears.

A frame goes to all connections in one step of the event loop, so that everybody hears everything in the same order.
The relay does not look into frames and remembers none. Each connection has a queue of its own, bounded in bytes and in
frames: who does not read is sent away, the others do not wait, and nobody misses a frame unknowingly.
"""

import asyncio
import hmac
import ipaddress
import logging
import secrets
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.frames import DATA_OPCODES, Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import Event, State

log = logging.getLogger(__name__)

PATH = "/core"
GREETING = b'{"type":"connected","data":{},"context":{"session":{"session_id":"default"}}}'
MiB = 1_048_576

GOING_AWAY, NOT_TEXT, TOO_SLOW, TAKEN_BACK = 1001, 1007, 1008, 1008
CLOSING = "the bus is closing"
NOT_GOOD_ANY_MORE = "the token is not good any more"
LOOK_AGAIN_SECONDS = 2.0


@dataclass(slots=True, kw_only=True)
class RelayCounts:
    """What has happened since the relay was started; `open` is how many are connected now."""

    open: int = 0
    connections: int = 0
    refused: int = 0
    sent_away: int = 0
    frames_in: int = 0
    frames_out: int = 0
    frames_rejected: int = 0


class Relay:
    """Serves `ws://host:port/core`.

    `admits` says whether a token is good that comes from an address; None when that cannot be told now. Where it is
    given, whoever comes from another machine must bring one. A relay that listens on loopback only asks for none.
    `guard` says what to relay for a frame; without one it is the frame. `farewell_seconds` is how long somebody who is
    sent away may take to hear why.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 8181,
        *,
        admits: Callable[[str, str], Awaitable[bool | None]] | None = None,
        guard: Callable[[bytes], bytes | None] | None = None,
        frame_bytes: int = 10 * MiB,
        queue_bytes: int = 32 * MiB,
        queue_frames: int = 50_000,
        connections: int = 1_000,
        farewell_seconds: float = 2.0,
    ) -> None:
        self._host, self.port = host, port
        self._admits, self._guard = admits, guard
        self._frame_bytes, self._connections = frame_bytes, connections
        self.queue_bytes, self.queue_frames, self.farewell_seconds = queue_bytes, queue_frames, farewell_seconds
        self.arriving: set[_Listener] = set()
        self._listeners: set[_Listener] = set()
        self._server: Server | None = None
        self._is_open_to_others = False
        self._looking: asyncio.Task[None] | None = None
        self.token = secrets.token_urlsafe(32)
        """Admits those who belong to the house, wherever it listens."""
        self.counts = RelayCounts()

    async def start(self) -> None:
        """Listen. Raises OSError when the port is taken."""
        self._server = await serve(
            self._attend,
            self._host,
            self.port,
            process_request=self._refuse,
            create_connection=self._listener,  # type: ignore[arg-type]  # any factory will do
            compression=None,
            max_size=self._frame_bytes,
            close_timeout=self.farewell_seconds,
            # A client whose handler blocks it for a while is slow, not gone.
            ping_interval=30,
            ping_timeout=120,
            logger=_quiet(),
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._is_open_to_others = not all(_is_loopback(each.getsockname()[0]) for each in self._server.sockets)
        if self._is_open_to_others and self._admits is None:
            log.warning("the bus is open to other machines and asks for no token", extra={"host": self._host})
        if self._admits is not None:
            self._looking = asyncio.create_task(self._keep_looking())

    async def close(self) -> None:
        """Tell everybody that the bus goes away, and wait until they are gone."""
        if self._server is None:
            return
        if self._looking is not None:
            self._looking.cancel()
        self._server.close(close_connections=False)
        for arriving in tuple(self.arriving):
            arriving.transport.abort()
        if leaving := [asyncio.create_task(each.close(GOING_AWAY, CLOSING)) for each in self._listeners]:
            await asyncio.wait(leaving, timeout=self.farewell_seconds)
        for listener in tuple(self._listeners):
            listener.transport.abort()
        await self._server.wait_closed()
        self._server = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def url(self) -> str:
        """Where a client on this machine finds it."""
        host = "127.0.0.1" if self._host in ("", "0.0.0.0", "::") else self._host
        return f"ws://{f'[{host}]' if ':' in host else host}:{self.port}{PATH}"

    def hear(self, frame: bytes) -> None:
        """Relay what somebody said."""
        self.counts.frames_in += 1
        if self._guard is None:
            self._to_all(frame)
            return
        told = self._guard(frame)
        if told is not frame:
            self.counts.frames_rejected += 1
        if told is not None:
            self._to_all(told)

    def _to_all(self, frame: bytes) -> None:
        written = Frame(Opcode.TEXT, frame).serialize(mask=False)
        self.counts.frames_out += len(self._listeners)
        # Whoever is too slow leaves the set meanwhile.
        for listener in tuple(self._listeners):
            listener.tell(written)

    # --- who comes and goes

    def _listener(self, *given: Any, **more: Any) -> "_Listener":
        return _Listener(self, *given, **more)

    async def _attend(self, connection: ServerConnection) -> None:
        assert isinstance(connection, _Listener)
        self.arriving.discard(connection)
        self.counts.connections += 1
        self.counts.open += 1
        connection.tell(Frame(Opcode.TEXT, GREETING).serialize(mask=False))
        self._listeners.add(connection)
        try:
            await connection.wait_closed()
        finally:
            self.counts.open -= 1
            self.forget(connection)

    async def look_again(self) -> None:
        """Send away who came in by a token that is no longer good."""
        for listener in tuple(self._listeners):
            peer = str((listener.remote_address or ("",))[0])
            if listener.let_in_by is not None and await self._is_good(listener.let_in_by, peer) is False:
                await listener.close(TAKEN_BACK, NOT_GOOD_ANY_MORE)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            await self.look_again()

    def forget(self, listener: "_Listener") -> None:
        self._listeners.discard(listener)

    async def _refuse(self, connection: ServerConnection, request: Request) -> Response | None:
        peer = connection.remote_address or ("",)
        assert isinstance(connection, _Listener)
        refusal = await self._refusal(connection, str(peer[0]), request)
        if refusal is None:
            return None
        self.counts.refused += 1
        status, text = refusal
        log.warning("connection refused", extra={"status": int(status)})
        return connection.respond(status, text + "\n")

    async def _refusal(self, connection: "_Listener", peer: str, request: Request) -> tuple[HTTPStatus, str] | None:
        asked = urlsplit(request.path)
        if asked.path != PATH:
            return HTTPStatus.NOT_FOUND, f"The bus is at {PATH}."
        if len(self._listeners) >= self._connections:
            return HTTPStatus.SERVICE_UNAVAILABLE, "There are too many connections to this bus. Try again later."
        for token in _tokens(request, asked.query):
            if await self._is_good(token, peer) is True:
                connection.let_in_by = token
                return None
        if self._admits is not None and self._is_open_to_others and not _is_loopback(peer):
            return HTTPStatus.UNAUTHORIZED, (
                "This bus wants a token from other machines. Send the header `Authorization: Bearer TOKEN`, "
                f"or connect to {PATH}?token=TOKEN."
            )
        if not _is_own(request.headers.get("Origin"), request.headers.get("Host", "")):
            return HTTPStatus.FORBIDDEN, (
                "A web page of another site asks for this bus. If that is you, bring a token: "
                f"connect to {PATH}?token=TOKEN. Where the bus has no tokens, call it by its address, not by a name."
            )
        return None

    async def _is_good(self, token: str, peer: str) -> bool | None:
        if hmac.compare_digest(token.encode(errors="replace"), self.token.encode()):
            return True
        return False if self._admits is None else await self._admits(token, peer)


class _Listener(ServerConnection):
    """One connection: what it says is relayed at once, and what it has not read yet waits here."""

    def __init__(self, relay: Relay, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._relay = relay
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._parts: list[bytes] = []
        self.let_in_by: str | None = None
        self.is_held = False
        self._is_sent_away = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Without it a small frame waits for the acknowledgement of the one before, some 40 ms.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        self._relay.arriving.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._relay.arriving.discard(self)
        super().connection_lost(exc)

    # --- what it says

    def process_event(self, event: Event) -> None:
        if not isinstance(event, Frame) or event.opcode not in DATA_OPCODES:
            super().process_event(event)
        elif self.response is None:
            # It speaks before it was let in, which no client does.
            self.transport.abort()
        elif self._is_sent_away:
            pass
        elif event.opcode is Opcode.TEXT and event.fin:
            self._said(bytes(event.data))
        elif event.opcode is Opcode.BINARY:
            self.send_away(NOT_TEXT, "a message is a text frame")
        else:
            self._parts.append(bytes(event.data))
            if event.fin:
                whole, self._parts = b"".join(self._parts), []
                self._said(whole)

    def _said(self, frame: bytes) -> None:
        if not frame.isascii():
            try:
                frame.decode()
            except UnicodeDecodeError:
                self.send_away(NOT_TEXT, "a text frame is UTF-8")
                return
        self._relay.hear(frame)
        if 2 * self._waiting_bytes > self._relay.queue_bytes or 2 * len(self._waiting) > self._relay.queue_frames:
            # It says more than it reads: it is heard again when it has caught up.
            self.is_held = True
            self.transport.pause_reading()

    # --- what it hears

    def tell(self, written: bytes) -> None:
        """Send it, or keep it until there is room. One who lets too much wait is sent away."""
        if self.protocol.state is not State.OPEN:
            return
        if not self.paused:
            self.transport.write(written)
            return
        self._waiting.append(written)
        self._waiting_bytes += len(written)
        if self._waiting_bytes > self._relay.queue_bytes or len(self._waiting) > self._relay.queue_frames:
            self._relay.counts.sent_away += 1
            log.warning("slow reader sent away", extra={"bytes": self._waiting_bytes, "frames": len(self._waiting)})
            self.send_away(TOO_SLOW, "too much waits to be read; connect again and read faster")

    def resume_writing(self) -> None:
        super().resume_writing()
        while self._waiting and not self.paused:
            written = self._waiting.popleft()
            self._waiting_bytes -= len(written)
            self.transport.write(written)
        if self.is_held and not self._waiting:
            self.is_held = False
            self.transport.resume_reading()

    def send_away(self, code: int, reason: str) -> None:
        """Close it without waiting for it."""
        self._is_sent_away = True
        self._relay.forget(self)
        self._waiting.clear()
        self._waiting_bytes = 0
        self._parts.clear()
        if self.protocol.state is State.OPEN:
            self.protocol.fail(code, reason)
            self.send_data()
        self.loop.call_later(self._relay.farewell_seconds, self.transport.abort)


def _tokens(request: Request, query: str) -> list[str]:
    """Those that a request brings; some clients can set nothing but the address."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    found = parse_qs(query).get("token", [])
    return [token.strip(), *found] if kind.lower() == "bearer" else found


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _is_own(origin: str | None, host: str) -> bool:
    """Whether what asks is no web page of another site.

    Programs send no origin, or the address that they call. A page sends where it comes from; that this equals the
    name in the address proves nothing, since its owner may let that name point to this machine. So the name must be
    one that no stranger can own: an address, a name without a dot, or one of the local network.
    """
    if origin is None:
        return True
    try:
        source = urlsplit(origin)
        name = source.hostname or ""
    except ValueError:
        return False
    if source.scheme not in ("http", "https"):
        return False
    if name == "localhost" or _is_loopback(name):
        return True
    return source.netloc.lower() == host.lower() and (_is_address(name) or "." not in name or name.endswith(".local"))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _quiet() -> logging.Logger:
    """Strangers who knock wrongly are nothing to wake anybody for."""
    logger = logging.getLogger(f"{__name__}.websockets")
    logger.setLevel(logging.CRITICAL)
    return logger
