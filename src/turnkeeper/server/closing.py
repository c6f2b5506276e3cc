"""Letting go of callers when this node goes away, so that none of them holds it up."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from typing import Annotated, TypeVar

from fastapi import Depends, Request

LAST_WORDS_SECONDS = 0.5

T = TypeVar("T")


class Closing:
    """Set once, when what runs here has ended or was given up."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def begin(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()

    async def over(self) -> None:
        """A moment later, so that an answer that is just there is still given."""
        await self._event.wait()
        await asyncio.sleep(LAST_WORDS_SECONDS)

    async def until(self, items: AsyncGenerator[T, None]) -> AsyncIterator[T]:
        """These items until this node goes away; what is there by then is still told."""
        async with contextlib.aclosing(items):
            closing = asyncio.ensure_future(self.wait())
            try:
                while True:
                    item = asyncio.ensure_future(anext(items, None))
                    try:
                        await asyncio.wait({item, closing}, return_when=asyncio.FIRST_COMPLETED)
                        if not item.done():
                            await asyncio.wait({item}, timeout=LAST_WORDS_SECONDS)
                    finally:
                        if not item.done():
                            await cancelled(item)
                    if item.cancelled() or (told := item.result()) is None:
                        return
                    yield told
            finally:
                closing.cancel()


async def first_of(wanted: Awaitable[T], *others: Awaitable[object]) -> T | None:
    """What is wanted, or None when one of the others happens before it."""
    task = asyncio.ensure_future(wanted)
    rivals = [asyncio.ensure_future(other) for other in others]
    try:
        await asyncio.wait({task, *rivals}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for pending in (task, *rivals):
            await cancelled(pending)


async def cancelled(task: "asyncio.Future[T]") -> None:
    """Cancel a task and see it end, so that nothing of it is left behind."""
    if not task.done():
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def gone(request: Request) -> None:
    """Returns when the caller of a request whose body was read hangs up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


# FastAPI runs a dependency that is no coroutine on a thread of its pool, once for each request.
async def closing_of(request: Request) -> Closing:
    closing: Closing = request.app.state.closing
    return closing


NodeClosing = Annotated[Closing, Depends(closing_of)]
