"""Sending JSON and text in less bytes to those who take it so; never event streams, nor content that was kept."""

import zlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALLEST = 1_024
LEVEL = 5
GZIP = 31
"""How zlib is told to write gzip."""
BODILESS = (204, 304)
KINDS = (
    "application/json",
    "application/problem+json",
    "application/schema+json",
    "application/x-ndjson",
    "text/css",
    "text/html",
    "text/javascript",
    "text/plain",
)


class CompressingMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        writer = None
        takes_gzip = takes("gzip", Headers(scope=scope).get("accept-encoding", ""))

        async def send_in_less(message: Message) -> None:
            nonlocal writer
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if message["status"] not in BODILESS and _is_worth_it(headers):
                    headers.add_vary_header("Accept-Encoding")
                    if takes_gzip and scope["method"] != "HEAD":
                        del headers["Content-Length"]
                        headers["Content-Encoding"] = "gzip"
                        writer = zlib.compressobj(LEVEL, wbits=GZIP)
            elif message["type"] == "http.response.body" and writer is not None:
                less = writer.compress(message.get("body", b""))
                is_last = not message.get("more_body", False)
                message = {**message, "body": less + writer.flush() if is_last else less}
            await send(message)

        await self._app(scope, receive, send_in_less)


def takes(coding: str, accepted: str) -> bool:
    """Whether an Accept-Encoding names a coding, and does not refuse it with a weight of nothing."""
    for choice in accepted.lower().split(","):
        name, _, weight = choice.partition(";")
        if name.strip() == coding:
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _is_worth_it(headers: MutableHeaders) -> bool:
    """Content that was kept is sent as it is: its length, its hash and its parts are those of the bytes."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in KINDS or "content-encoding" in headers or "accept-ranges" in headers or "content-range" in headers:
        return False
    # A length that is not known beforehand is that of something long.
    return int(headers.get("content-length", SMALLEST)) >= SMALLEST
