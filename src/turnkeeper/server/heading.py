"""Answering HEAD wherever GET is answered: with the same headers, and nothing behind them."""

import asyncio
import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

OWN = re.compile(r".*/artifacts/[^/]+/content")
"""Content has a route for it, which reads nothing."""


class HeadMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or OWN.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        told, is_read = asyncio.Event(), False

        async def until_told() -> Message:
            """A feed has no end; its reader has all that was asked for as soon as it begins."""
            nonlocal is_read
            if not is_read:
                is_read = True
                return await receive()
            await told.wait()
            return {"type": "http.disconnect"}

        async def send_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})
                told.set()

        await self._app({**scope, "method": "GET"}, until_told, send_headers)
