"""The same verbs without `await`, for programs that have no event loop of their own.

There is one implementation: it runs in the loop of one thread, and what is called here waits for it.
"""

import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from types import TracebackType
from typing import Any, TypeVar

from turnkeeper.client.carried_session import CarriedSession
from turnkeeper.client.keeper import Turnkeeper
from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part
from turnkeeper.client.talking import Sent
from turnkeeper.ledger.saying import Saying

T = TypeVar("T")


class Loop:
    """A loop in a thread of its own, from its first call until it is stopped."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="turnkeeper-client", daemon=True)
        self._thread.start()

    def wait_for(self, doing: Coroutine[Any, Any, T]) -> T:
        """What comes of it. Whoever is interrupted while waiting calls it off, and goes on when it is through."""
        if self.is_stopped:
            doing.close()
            raise RuntimeError("open it first: with SyncTurnkeeper.open(...) as keeper")
        ended: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            tasks.append(self._loop.create_task(doing))
            tasks[0].add_done_callback(lambda task: _settle(ended, task))

        def call_off() -> None:
            if tasks:
                tasks[0].cancel()
            else:  # The interrupt came first.
                doing.close()
                ended.set_exception(asyncio.CancelledError())

        try:
            self._loop.call_soon_threadsafe(begin)
            return ended.result()
        except BaseException:
            if not ended.done():
                self._loop.call_soon_threadsafe(call_off)
                wait([ended])
            raise

    @property
    def is_stopped(self) -> bool:
        return self._loop.is_closed()

    def stop(self) -> None:
        if self.is_stopped:
            return
        self.wait_for(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _settle(ended: "Future[T]", task: "asyncio.Task[T]") -> None:
    """What came of a task, for whoever waits in another thread."""
    if task.cancelled():
        ended.set_exception(asyncio.CancelledError())
    elif (error := task.exception()) is not None:
        ended.set_exception(error)
    else:
        ended.set_result(task.result())


class Synced:
    """Something whose verbs are waited for. Every attribute is that of the thing itself."""

    def __init__(self, thing: Any, loop: Loop) -> None:
        self._thing, self._loop = thing, loop

    def __getattr__(self, name: str) -> Any:
        return synced(getattr(self._thing, name), self._loop)

    def __dir__(self) -> list[str]:
        return dir(self._thing)


class SyncSaying(Synced):
    """Iterate over it once for the pieces of the answer."""

    def __iter__(self) -> Iterator[str]:
        return _each(self._thing.__aiter__(), self._loop)


class SyncPage(Page[T]):
    """A page whose `every` is iterated over without `async`."""

    def __init__(self, page: Page[T], loop: Loop) -> None:
        super().__init__(page, page.next, page._turn, total=page.total)
        self._page, self._waits = page, loop

    def every(self) -> Iterator[T]:  # type: ignore[override]
        return _each(self._page.every(), self._waits)


def synced(value: Any, loop: Loop) -> Any:
    """The same for who does not await: a verb that waits, an iterator, a part; everything else as it is."""
    if isinstance(value, Saying):
        return SyncSaying(value, loop)
    if isinstance(value, Page):
        return SyncPage(value, loop)
    if isinstance(value, Part | CarriedSession | Sent):
        return Synced(value, loop)
    if inspect.isasyncgen(value):
        return _each(value, loop)
    if inspect.iscoroutine(value):
        return synced(loop.wait_for(value), loop)
    if inspect.ismethod(value):
        return _waiting(value, loop)
    return value


def _waiting(verb: Callable[..., Any], loop: Loop) -> Callable[..., Any]:
    @functools.wraps(verb)
    def wait(*given: Any, **named: Any) -> Any:
        return synced(verb(*given, **named), loop)

    return wait


def _each(items: Any, loop: Loop) -> Iterator[Any]:
    """One after the other. Who stops early lets go of what they come from."""
    source: AsyncGenerator[Any, None] = items
    try:
        while True:
            try:
                item = loop.wait_for(_next(source))
            except StopAsyncIteration:
                return
            yield item
    finally:
        if not loop.is_stopped:  # It has let go of everything when it was.
            loop.wait_for(_closed(source))


async def _next(items: AsyncGenerator[T, None]) -> T:
    return await anext(items)


async def _closed(items: AsyncGenerator[Any, None]) -> None:
    await items.aclose()


class SyncTurnkeeper(Synced):
    """`turnkeeper.client.Turnkeeper` without `await`: `with SyncTurnkeeper.open("http://...") as keeper:`."""

    def __init__(self, keeper: Turnkeeper) -> None:
        super().__init__(keeper, Loop())

    @classmethod
    def open(cls, url: str | None = None, **given: Any) -> "SyncTurnkeeper":
        """Takes what `Turnkeeper.open` takes."""
        return cls(Turnkeeper.open(url, **given))

    def __enter__(self) -> "SyncTurnkeeper":
        self._loop.wait_for(self._thing.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the server and end the thread. Closing twice does no harm."""
        try:
            self._loop.wait_for(self._thing.close())
        except RuntimeError:
            return
        self._loop.stop()
