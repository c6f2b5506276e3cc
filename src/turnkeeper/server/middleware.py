"""What surrounds every request: its ids, the headers that all responses carry, and the net under everything."""

import logging
import traceback

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnkeeper.errors import TurnkeeperError
from turnkeeper.server.errors import problem_response
from turnkeeper.server.exchange import Exchange

log = logging.getLogger(__name__)


HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""What every response says unless it says otherwise: keep it nowhere, and take it for nothing but what it is."""


class ExchangeMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = Exchange.of(Headers(scope=scope))
        scope.setdefault("state", {})["exchange"] = exchange
        has_started = False

        async def send_with_ids(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = exchange.request_id
                headers["X-Trace-Id"] = exchange.trace_id
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_with_ids)
        except ClientDisconnect:
            return
        except Exception as error:
            _log_crash(exchange, error)
            if not has_started:
                unexpected = TurnkeeperError("Something went wrong here. The operator finds it by the request id.")
                await problem_response(unexpected, exchange)(scope, receive, send_with_ids)


def _log_crash(exchange: Exchange, error: Exception) -> None:
    """Kind and place, not the words of the exception: they may be a user's."""
    places = traceback.extract_tb(error.__traceback__)
    log.error(
        "request broke",
        extra={
            "request_id": exchange.request_id,
            "trace_id": exchange.trace_id,
            "kind": type(error).__name__,
            "place": f"{places[-1].filename}:{places[-1].lineno}" if places else "nowhere",
        },
    )
