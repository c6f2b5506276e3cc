"""Renewing the leases of live runs from a thread that does not need the event loop."""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence

from turnkeeper.errors import StoreUnavailable
from turnkeeper.model.lease import Lease
from turnkeeper.ports.runs import RunStore

log = logging.getLogger(__name__)


class LeaseRenewer:
    """An agent that blocks the event loop keeps its lease; one whose process stands still loses it."""

    def __init__(
        self,
        runs: RunStore,
        live_leases: Callable[[], Sequence[Lease]],
        lost: Callable[[Lease], None],
        *,
        renew_seconds: float,
        lease_seconds: float,
    ) -> None:
        self._runs, self._live_leases, self._lost = runs, live_leases, lost
        self._renew_seconds, self._lease_seconds = renew_seconds, lease_seconds
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._renew, args=(loop,), name="turnkeeper-leases", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _renew(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._stop.wait(self._renew_seconds):
            leases = self._live_leases()
            if not leases:
                continue
            try:
                lost = self._runs.renew(leases, lease_seconds=self._lease_seconds)
            except StoreUnavailable:
                log.warning("leases not renewed", extra={"leases": len(leases)})
                continue
            for lease in lost:
                loop.call_soon_threadsafe(self._lost, lease)
