"""What we ask of a database about the feed, and how other nodes hear of it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from turnkeeper.model.feed import FeedEntry, FeedType
from turnkeeper.model.ids import Subject, TenantId
from turnkeeper.model.lease import Lease

Woken = Callable[[TenantId | None, Subject | None], None]
"""Called with the subject in which something happened, or with None when it may be any of them."""


class FeedStore(Protocol):
    async def append_delta(self, lease: Lease, text: str) -> int:
        """Make a piece of output durable and return its number. Raises LeaseLost.

        The first one ends the time in which the run could still be merged with a later message.
        """

    async def append(self, lease: Lease, type: FeedType, data: Mapping[str, Any], *, at: datetime) -> int:
        """Tell of something in the middle of a run, and return its number. Raises LeaseLost."""

    async def read(self, tenant: TenantId, subject: Subject, *, after: int, limit: int) -> Sequence[FeedEntry]:
        """Entries and live deltas with a number above `after`, in order.

        Deltas of a run are gone once it ended. Where `after` lies inside them, one `output.snapshot` stands in
        for the rest; the end of a run names the numbers its deltas had (`deltas: [first, last]`).
        """

    async def last_no(self, tenant: TenantId, subject: Subject) -> int:
        """The newest number of this feed; 0 when nothing happened yet."""


class Wakes(Protocol):
    """How a node tells the others, and hears from them, that something happened. A hint, never the truth."""

    async def open(self) -> None:
        """Begin to hear."""

    async def close(self) -> None:
        """Stop hearing, after what was told has been passed on."""

    def listen(self, woken: Woken) -> None:
        """Call `woken` in the event loop for every hint."""

    def tell(self, tenant: TenantId, subject: Subject) -> None:
        """Hint to this node and the others, after the commit, coalesced; never waits."""
