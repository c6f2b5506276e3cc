"""Looking at a running house from a distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part, reading
from turnkeeper.client.shapes import Run, read
from turnkeeper.model.limit import LimitsLeft
from turnkeeper.model.node import NodeView
from turnkeeper.model.traffic import Traffic
from turnkeeper.model.usage import Span, Usage

if TYPE_CHECKING:
    from turnkeeper.ports.overview import SoughtRuns


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRuns:
    """One page; `next` is where the page behind it begins, None on the last one."""

    runs: Sequence[Run]
    next: str | None


class Overview(Part):
    async def runs(
        self, sought: "SoughtRuns | None" = None, *, before: str | None = None, limit: int = 50
    ) -> FoundRuns:
        """Runs of the whole tenant, newest first, for its owner and admins; for others their own."""
        page: Page[Run] = await self._page(reading(Run), "runs", cursor=before, limit=limit, **_asked(sought))
        return FoundRuns(runs=page, next=page.next)

    async def nodes(self) -> Sequence[NodeView]:
        """The nodes on the database of the server, each with the leases of this tenant that it holds."""
        return [_node_of(told) for told in (await self._ask("GET", "nodes"))["items"]]

    async def traffic(self) -> Traffic:
        """What the process that answers has counted for the tenant since it began."""
        return await self._get(Traffic, "traffic")

    async def usage(
        self, *, by: Span = Span.HOUR, since: datetime | None = None, until: datetime | None = None
    ) -> Usage:
        """What the runs of the tenant spent, by whole hours or days and by agent."""
        return read(await self._ask("GET", "usage", query={"by": by, "since": since, "until": until}), Usage)

    async def limits(self) -> LimitsLeft:
        """What holds for the caller now, and what is left of it."""
        return await self._get(LimitsLeft, "limits")


def _asked(sought: "SoughtRuns | None") -> dict[str, Any]:
    if sought is None:
        return {}
    return {
        "status": ",".join(sorted(sought.statuses)) or None,
        "agent": sought.agent,
        "session_id": sought.session_id,
        "since": sought.since,
        "until": sought.until,
    }


def _node_of(told: Mapping[str, Any]) -> NodeView:
    return read({**told, "leases": [{**lease, "node": told["id"]} for lease in told["leases"]]}, NodeView)
