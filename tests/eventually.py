"""Waiting for something that another task, thread or process will make true."""

import asyncio
import time
from collections.abc import Awaitable, Callable


async def eventually(happened: Callable[[], Awaitable[bool]], *, within: float = 30.0) -> None:
    """Return as soon as it has happened. Not a fixed sleep: how long it takes does not matter, unless it never does."""
    until = time.monotonic() + within
    while not await happened():
        if time.monotonic() > until:
            raise AssertionError(f"did not happen within {within} seconds")
        await asyncio.sleep(0.005)
