"""The connection of one participant to a bus, of ours or of a stock one.

It comes back by itself when it breaks. What is sent while there is none waits, within bounds, and goes out in order;
what was under way in the moment of a break may be lost, as on any bus. Frames that are no message are left out.
"""

import asyncio
import json
import logging
import random
import socket
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus
from websockets.protocol import State

from turnkeeper.bus.message import Malformed, Message, decoded
from turnkeeper.errors import BusBacklogged, BusFrameTooLarge, BusRefused, BusUnreachable

log = logging.getLogger(__name__)

MiB = 1_048_576
FIRST_SECONDS, MOST_SECONDS = 0.1, 15.0
"""How long to wait before connecting again; each time longer, and never for all at the same moment."""
CONNECT_SECONDS = 10.0
LAST_SECONDS = 2.0
"""How long what waits may take to go out when the link is closed."""


class Link:
    """`on_open` is called after each connect, also again after a break; what it sends goes ahead of what waits.

    `on_message` is called for each message in the order of the bus, one's own too, and `on_break` when the connection
    is lost. All are called from the event loop and must not block; what they raise is logged.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        on_message: Callable[[Message], None],
        on_open: Callable[[], None] | None = None,
        on_break: Callable[[], None] | None = None,
        frame_bytes: int = 10 * MiB,
        queue_bytes: int = 32 * MiB,
        queue_frames: int = 10_000,
    ) -> None:
        self.url, self.address = url, address_of(url)
        self._token = token
        self._on_message, self._on_open, self._on_break = on_message, on_open, on_break
        self._frame_bytes, self._queue_bytes, self._queue_frames = frame_bytes, queue_bytes, queue_frames
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._pause = FIRST_SECONDS
        self._connection: _Speaker | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._trouble: Exception | None = None
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        return self._connection is not None and self._connection.protocol.state is State.OPEN

    def send(self, message: Message) -> None:
        """Put it on its way, in order. Raises BusBacklogged or BusFrameTooLarge, and ValueError for what is no JSON or
        on a closed link."""
        if self._is_closed:
            raise ValueError("this link is closed")
        frame = message.encoded().encode()
        if len(frame) > self._frame_bytes:
            raise BusFrameTooLarge(len(frame), self._frame_bytes)
        connection = self._connection
        if connection is not None and self.is_open and not self._waiting and not connection.paused:
            connection.say(frame)
        else:
            self._wait(frame)

    async def opened(self, seconds: float | None = None) -> None:
        """Return once connected. Raises BusRefused when the bus says no, and BusUnreachable after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                while not self.is_open:
                    if isinstance(self._trouble, BusRefused):
                        raise self._trouble
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise BusUnreachable(_cause(self._trouble)) from None

    async def __aenter__(self) -> Self:
        self._keeping = asyncio.create_task(self._keep(), name="bus-link")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let what waits go out, if there is a connection, and end."""
        self._is_closed = True
        connection = self._connection
        if connection is not None:
            self._flush(all_of_it=True)
            try:
                async with asyncio.timeout(LAST_SECONDS):
                    await connection.close()
            except TimeoutError:
                connection.transport.abort()
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
            self._keeping = None

    # --- keeping it up

    async def _keep(self) -> None:
        while not self._is_closed:
            try:
                await self._connected()
            except InvalidStatus as refused:
                self._failed(_refusal(refused))
            except Exception as error:
                # Whatever it is, also what the library stumbles over: a link that gives up is of no use to anybody.
                self._failed(error)
            await asyncio.sleep(random.uniform(self._pause / 2, self._pause))
            self._pause = min(self._pause * 2, MOST_SECONDS)

    async def _connected(self) -> None:
        """From one connect to its end."""
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else None
        async with connect(
            self.url,
            create_connection=_Speaker,
            additional_headers=headers,
            compression=None,
            max_size=self._frame_bytes,
            open_timeout=CONNECT_SECONDS,
            close_timeout=LAST_SECONDS,
            proxy=None,
        ) as connection:
            assert isinstance(connection, _Speaker)
            connection.on_room = self._flush
            self._greet(connection)
            try:
                async for frame in connection:
                    self._heard(frame)
            finally:
                self._connection = None
                if not self._is_closed:
                    code = connection.protocol.close_code
                    log.warning("bus lost, trying again", extra={"bus": self.address, "code": code})
                    _told(self._on_break)

    def _greet(self, connection: "_Speaker") -> None:
        held, self._waiting = self._waiting, deque()
        self._connection, self._trouble, self._pause = connection, None, FIRST_SECONDS
        log.debug("bus reached", extra={"bus": self.address})
        _told(self._on_open)
        self._waiting.extend(held)
        self._flush()
        self._changed.set()

    def _heard(self, frame: str | bytes) -> None:
        if isinstance(frame, bytes):
            return
        try:
            message = decoded(frame)
        except Malformed as fault:
            log.warning("frame left out", extra={"fault": str(fault)})
            return
        try:
            self._on_message(message)
        except Exception:
            log.exception("what is done with a message failed", extra={"topic": message.type})

    def _wait(self, frame: bytes) -> None:
        if len(self._waiting) >= self._queue_frames or self._waiting_bytes + len(frame) > self._queue_bytes:
            raise BusBacklogged(len(self._waiting))
        self._waiting.append(frame)
        self._waiting_bytes += len(frame)

    def _flush(self, *, all_of_it: bool = False) -> None:
        connection = self._connection
        while self._waiting and connection is not None and self.is_open and (all_of_it or not connection.paused):
            frame = self._waiting.popleft()
            self._waiting_bytes -= len(frame)
            connection.say(frame)

    def _failed(self, error: Exception) -> None:
        # Once; the next attempts are no news.
        level = logging.WARNING if self._trouble is None else logging.DEBUG
        log.log(level, "bus not reached, trying again", extra={"bus": self.address, "why": _cause(error)})
        self._trouble = error
        self._changed.set()


class _Speaker(ClientConnection):
    """Writes at once, and says when there is room for more."""

    on_room: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)

    def say(self, frame: bytes) -> None:
        self.protocol.send_text(frame)
        self.send_data()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.on_room is not None:
            self.on_room()


def _told(listener: Callable[[], None] | None) -> None:
    if listener is not None:
        try:
            listener()
        except Exception:
            log.exception("what is done about a connection failed")


def _refusal(refused: InvalidStatus) -> Exception:
    """A bus that is only too busy may let us in later."""
    status = refused.response.status_code
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OSError(f"it answered {status}")
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return BusRefused(status, "That is no bus.")
    return BusRefused(status, _words(bytes(refused.response.body or b"").decode(errors="replace").strip()))


def _words(body: str) -> str:
    """What a refusal says; of a problem document its title and detail."""
    try:
        problem: Any = json.loads(body)
    except ValueError:
        return body[:300]
    if not isinstance(problem, dict):
        return body[:300]
    told = [str(problem[name]).rstrip(".") + "." for name in ("title", "detail") if problem.get(name)]
    return " ".join(told)[:300]


def address_of(url: str) -> str:
    """Where it is, without what may be a secret: a token in the query, or a name and password."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _cause(trouble: Exception | None) -> str:
    return str(trouble) or type(trouble).__name__ if trouble is not None else "it does not answer"
