"""Listening on a socket, and going away in order: no new callers, then the runs, then everyone is let go."""

import asyncio
import contextlib
import gc
import json
import math
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext

import uvicorn
from sse_starlette.sse import AppStatus
from starlette.datastructures import Headers
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from turnkeeper.errors import MalformedRequest
from turnkeeper.keeper import Turnkeeper
from turnkeeper.ports.identities import Identities
from turnkeeper.server.app import create_app
from turnkeeper.server.closing import Closing
from turnkeeper.server.errors import PROBLEM, problem_of
from turnkeeper.server.exchange import Exchange
from turnkeeper.server.tokens import Tokens

STUCK_READERS_SECONDS = 2.0
ADDRESS_BACKLOG = 2048


def bind(host: str, port: int) -> socket.socket:
    """A socket that holds the address but does not listen yet. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def url_of(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def listen(
    keeper: Turnkeeper,
    identities: Identities | Tokens,
    bound: socket.socket,
    *,
    when_ready: Callable[[], None],
    prepare: Callable[[], Awaitable[None]] | None = None,
    beside: AbstractAsyncContextManager[Callable[[], None] | None] = nullcontext(),  # noqa: B008  # it holds nothing
) -> None:
    """Serve until SIGTERM or SIGINT, then let runs end or hand them over. A second signal shortens the wait.

    `prepare` is done with the open keeper, before anyone is let in. `beside` is open for as long as anyone is, and
    gives what it wants to be called as soon as it is time to leave.
    """
    async with keeper, AsyncExitStack() as stack:
        if prepare is not None:
            await prepare()
        when_leaving = await stack.enter_async_context(beside)
        app = create_app(keeper, identities)
        grace = keeper.settings.grace_seconds
        config = uvicorn.Config(
            app,
            http=ProblemProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            # Who says that they come from elsewhere is believed only where an operator has named them.
            proxy_headers=keeper.settings.trusted_proxies is not None,
            forwarded_allow_ips=keeper.settings.trusted_proxies,
            timeout_graceful_shutdown=math.ceil(grace + 2 * STUCK_READERS_SECONDS),
        )
        server = _Server(config, keeper, app.state.closing, when_ready, when_leaving)
        # Streams end by our own rule, not as soon as uvicorn is told to stop.
        AppStatus.enable_automatic_graceful_drain = False
        await server.serve(sockets=[bound])
        await server.let_go()
        await stack.aclose()
        await keeper.close(grace_seconds=0)


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        keeper: Turnkeeper,
        closing: Closing,
        when_ready: Callable[[], None],
        when_leaving: Callable[[], None] | None,
    ) -> None:
        super().__init__(config)
        self._keeper, self._closing = keeper, closing
        self._when_ready, self._when_leaving = when_ready, when_leaving
        self._leaving: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What is there by now stays: the collector need not walk over it again and again.
        gc.collect()
        gc.freeze()
        self._when_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Unlike the original this does not raise the signal again: going away when asked to is no failure."""
        loop = asyncio.get_running_loop()
        wanted = (signal.SIGINT, signal.SIGTERM)
        for number in wanted:
            loop.add_signal_handler(number, self._asked_to_stop)
        try:
            yield
        finally:
            for number in wanted:
                loop.remove_signal_handler(number)

    def _asked_to_stop(self) -> None:
        if self.should_exit:
            self.force_exit = True
            self._closing.begin()
        self.should_exit = True
        if self._leaving is None:
            if self._when_leaving is not None:
                self._when_leaving()
            self._leaving = asyncio.get_running_loop().create_task(self._leave())

    async def _leave(self) -> None:
        await self._keeper.drain(grace_seconds=self._keeper.settings.grace_seconds)
        self._closing.begin()
        await asyncio.sleep(STUCK_READERS_SECONDS)
        AppStatus.should_exit = True

    async def let_go(self) -> None:
        """Once nobody is connected any more, nothing is left to wait for but the runs."""
        if self._leaving is not None and not self.force_exit:
            await self._closing.wait()
        if self._leaving is not None:
            self._leaving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._leaving


class ProblemProtocol(HttpToolsProtocol):
    """Tells also those who do not speak HTTP what is wrong in a problem document."""

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing to warn of: a websocket is for the bus, and whoever asks for one here is answered like anybody."""

    def send_400_response(self, msg: str) -> None:
        error = MalformedRequest("This is not an HTTP request.")
        body = json.dumps(problem_of(error, Exchange.of(Headers()))).encode()
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: {PROBLEM}\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(f"{head}connection: close\r\n\r\n".encode() + body)
        self.transport.close()
