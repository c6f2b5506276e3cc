"""What a run says while it is still running: provisional, coalesced, and durable before anyone sees it."""

import asyncio
from dataclasses import dataclass

from turnkeeper.errors import AgentFailed
from turnkeeper.model.lease import Lease
from turnkeeper.ports.feed import FeedStore, Wakes


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRules:
    delta_seconds: float
    delta_bytes: int
    most_chars: int


class Output:
    """Pieces wait until there are enough of them or the oldest has waited long enough; then they go out as one delta.

    An answer that is complete before that is never written twice: it goes with the commit alone. `said` is what an
    earlier walk through the agent has said. While it is `held`, nothing goes out before the commit.
    """

    def __init__(
        self,
        feed: FeedStore,
        wakes: Wakes,
        lease: Lease,
        rules: OutputRules,
        *,
        said: str = "",
        held: bool = False,
    ) -> None:
        self._feed, self._wakes, self._lease, self._rules = feed, wakes, lease, rules
        self.is_held = held
        self._pieces: list[str] = [said] if said else []
        self._unsent: list[str] = []
        self._unsent_chars = 0
        self._chars = len(said)
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None

    async def add(self, piece: str) -> None:
        if not piece:
            return
        self._pieces.append(piece)
        self._chars += len(piece)
        if self._chars > self._rules.most_chars:
            raise AgentFailed(f"The agent said more than {self._rules.most_chars} characters in one turn.")
        if self.is_held:
            return
        self._unsent.append(piece)
        self._unsent_chars += len(piece)
        if self._unsent_chars >= self._rules.delta_bytes:
            await self._send_now()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._rules.delta_seconds, self._send_soon)

    @property
    def text(self) -> str:
        """What has been said by now, whether it has gone out or not."""
        return "".join(self._pieces)

    def restart(self) -> None:
        """What was said was not good enough, and nobody has seen it: forget it."""
        assert self.is_held, "what has gone out cannot be taken back"
        self._pieces.clear()
        self._chars = 0

    async def finished(self) -> str:
        """All of the text, once nothing of it is on its way any more."""
        self._stop_timer()
        if self._sending is not None:
            await asyncio.shield(self._sending)
        return self.text

    async def stop(self) -> None:
        """Send nothing more, and leave nothing on its way: a delta may not come after the end of its run."""
        self._stop_timer()
        if self._sending is not None:
            await asyncio.wait([self._sending])
            if not self._sending.cancelled():
                self._sending.exception()

    def _send_soon(self) -> None:
        self._timer = None
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())
        else:
            self._timer = asyncio.get_running_loop().call_later(self._rules.delta_seconds, self._send_soon)

    async def _send_now(self) -> None:
        self._stop_timer()
        # Shielded, so that a cancelled run can still wait for what is on its way.
        if self._sending is not None:
            await asyncio.shield(self._sending)
        self._sending = asyncio.get_running_loop().create_task(self._send())
        await asyncio.shield(self._sending)

    async def _send(self) -> None:
        text = "".join(self._unsent)
        self._unsent.clear()
        self._unsent_chars = 0
        if text:
            await self._feed.append_delta(self._lease, text)
            self._wakes.tell(self._lease.tenant, self._lease.subject)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
