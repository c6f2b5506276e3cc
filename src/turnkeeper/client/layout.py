"""Saving how a screen looks while its user drags things about: seldom enough, soon enough, and never in the way."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import httpx2

from turnkeeper.errors import SessionEnded

log = logging.getLogger(__name__)

QUIET_SECONDS = 0.8
LATEST_SECONDS = 5.0
TRIES = 2


class LayoutSaver:
    """Changes count here at once. They are saved when it has been quiet for a while, and in any case soon.

    One save is on its way at a time, and always the newest layout. One that fails is tried once more, then left to the
    next change; nobody waits for it. For a session that is over nothing is saved any more.
    """

    def __init__(
        self,
        save: Callable[[Mapping[str, Any]], Awaitable[None]],
        layout: Mapping[str, Any] | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        quiet_seconds: float = QUIET_SECONDS,
        latest_seconds: float = LATEST_SECONDS,
    ) -> None:
        self._save, self._now = save, now
        self._quiet, self._latest = quiet_seconds, latest_seconds
        self._first: float | None = None
        self._last = 0.0
        self._in_flight = asyncio.Lock()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.layout: dict[str, Any] = dict(layout or {})
        self.is_over = False
        self.failures = 0

    async def __aenter__(self) -> "LayoutSaver":
        self._task = asyncio.create_task(self._keep_saving())
        return self

    async def __aexit__(self, *error: object) -> None:
        """What is not saved yet is saved now."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.flush()

    def change(self, patch: Mapping[str, Any]) -> None:
        """These parts look different now. Returns at once."""
        self.layout |= patch
        self._last = self._now()
        if self._first is None:
            self._first = self._last
        self._changed.set()

    @property
    def due_at(self) -> float | None:
        """When the next save is due; None when everything is saved."""
        if self._first is None or self.is_over:
            return None
        return min(self._last + self._quiet, self._first + self._latest)

    async def save_if_due(self) -> None:
        due = self.due_at
        if due is not None and self._now() >= due:
            await self.flush()

    async def flush(self) -> None:
        """Save what is not saved yet, now. Never raises for a save that fails."""
        async with self._in_flight:
            if self._first is None or self.is_over:
                return
            self._first = None
            for attempt in range(TRIES):
                try:
                    await self._save(dict(self.layout))
                except SessionEnded:
                    self.is_over = True
                except Exception:
                    if attempt < TRIES - 1:
                        continue
                    self.failures += 1
                    log.warning("layout not saved")
                return

    async def _keep_saving(self) -> None:
        while not self.is_over:
            await self._changed.wait()
            self._changed.clear()
            while (due := self.due_at) is not None:
                await asyncio.sleep(max(0.0, due - self._now()))
                await self.save_if_due()


def over_http(client: httpx2.AsyncClient, session_id: str) -> Callable[[Mapping[str, Any]], Awaitable[None]]:
    """A way to save for `LayoutSaver`: with a client whose base URL is that of the API and who sends a token."""

    async def save(layout: Mapping[str, Any]) -> None:
        response = await client.put(f"/sessions/{session_id}/layout", json={"layout": layout})
        if response.status_code == HTTPStatus.CONFLICT:
            raise SessionEnded(session_id, "over")
        response.raise_for_status()

    return save
