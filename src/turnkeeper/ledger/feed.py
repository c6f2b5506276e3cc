"""Following what happens in a session, from any point and on any node."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from turnkeeper.model.feed import FeedEntry, FeedType
from turnkeeper.model.ids import RunId, Subject, TenantId
from turnkeeper.ports.feed import FeedStore

PAGE = 64
LOOK_EVERY_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Pieces of output that are gone and were not on this stream."""

    count: int
    first_seq: int
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One entry on its way to a reader. `prev` is the number before it on this stream, so that a gap shows.

    `truncated` says that something was dropped just before it, or, of the end of a run, anywhere in it.
    """

    no: int
    prev: int
    type: FeedType
    run_id: RunId | None
    at: datetime
    truncated: bool = False
    dropped: Dropped | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


class Hint:
    """That something may have happened. Cleared before looking, so that nothing between two looks is missed."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        self._event.set()

    def clear(self) -> None:
        self._event.clear()

    async def wait(self, seconds: float) -> None:
        """Return when something may have happened, or after this time anyway."""
        # Not wait_for: it swallows a cancellation that comes together with what it waits for.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()


class Feed:
    """Wakes the readers of this node, and reads for them.

    A reader holds at most one page. One that is slow falls behind in the database, not in memory: when the deltas it
    has not read are gone it is given their snapshot, marked as truncated, and always the end of the run.
    """

    def __init__(self, store: FeedStore, *, page: int = PAGE) -> None:
        self._store, self._page = store, max(1, page)
        self._waiting: dict[tuple[TenantId, Subject], list[Hint]] = {}

    def woken(self, tenant: TenantId | None, subject: Subject | None) -> None:
        if tenant is None or subject is None:
            for hints in self._waiting.values():
                for hint in hints:
                    hint.set()
        else:
            for hint in self._waiting.get((tenant, subject), ()):
                hint.set()

    @contextlib.contextmanager
    def listening(self, tenant: TenantId, subject: Subject) -> Iterator[Hint]:
        """A hint that is set whenever something may have happened there; the listener clears it."""
        hint, key = Hint(), (tenant, subject)
        self._waiting.setdefault(key, []).append(hint)
        try:
            yield hint
        finally:
            self._waiting[key].remove(hint)
            if not self._waiting[key]:
                del self._waiting[key]

    async def follow(
        self, tenant: TenantId, subject: Subject, *, after: int, run_id: RunId | None = None, until: int | None = None
    ) -> AsyncGenerator[Frame, None]:
        """Everything with a higher number, as it comes; of one run until its end, or of all without an end.

        With `until` it ends there, also when the end of the run lies before `after`.
        """
        prev, torn = after, set[RunId | None]()
        with self.listening(tenant, subject) as happened:
            while until is None or after < until:
                happened.clear()
                entries = await self._store.read(tenant, subject, after=after, limit=self._page)
                for entry in entries:
                    after = entry.no
                    if run_id is not None and entry.run_id != run_id:
                        continue
                    frame = frame_of(entry, prev)
                    if frame.truncated:
                        torn.add(entry.run_id)
                    if entry.type.ends_a_run and entry.run_id in torn:
                        torn.discard(entry.run_id)
                        frame = replace(frame, truncated=True)
                    yield frame
                    prev = entry.no
                    if run_id is not None and entry.type.ends_a_run:
                        return
                if not entries:
                    await happened.wait(LOOK_EVERY_SECONDS)


def frame_of(entry: FeedEntry, prev: int) -> Frame:
    """What is left out is said: the numbers of deltas that are gone and were not on this stream."""
    if entry.type is FeedType.OUTPUT_SNAPSHOT:
        first, last = prev + 1, entry.no
    else:
        first, last = entry.data.get("deltas", (1, 0))
        first = max(prev + 1, first)
    count = last - first + 1
    plain = Frame(no=entry.no, prev=prev, type=entry.type, run_id=entry.run_id, at=entry.at, data=entry.data)
    if count <= 0:
        return plain
    dropped = Dropped(count=count, first_seq=first, last_seq=last)
    return replace(plain, truncated=True, dropped=dropped, data={**entry.data, "dropped": count})
