"""What is asked about a tenant as a whole, as parameters that are the same for every backend."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from turnkeeper.model.ids import AgentId, Fence, NodeId, RunId, SessionId, TenantId, UserId, id_made_at
from turnkeeper.model.node import HeldLease
from turnkeeper.model.usage import Span, Spent, SpentBy
from turnkeeper.ports.overview import RUNS_WALKED, SoughtRuns
from turnkeeper.stores.rows import Params, Row, micros, moment

SLACK_SECONDS = 60
"""A run has its id a little before or after the moment at which it is accepted."""

FIRST, LAST = "", "~"


def ids_between(since: datetime | None, until: datetime | None) -> tuple[str, str]:
    """Between which ids the runs of a span lie, and few others."""
    return (
        FIRST if since is None else id_made_at("run", since, later_seconds=-SLACK_SECONDS),
        LAST if until is None else id_made_at("run", until, later_seconds=SLACK_SECONDS),
    )


def runs_params(tenant: TenantId, user: UserId | None, sought: SoughtRuns, before: RunId | None, limit: int) -> Params:
    """One more than the limit is asked for, to know whether there are any behind it."""
    first, last = ids_between(sought.since, sought.until)
    return {
        "tenant": tenant,
        "user": user,
        "agent": sought.agent,
        "session_id": sought.session_id,
        "since": sought.since and micros(sought.since),
        "until": sought.until and micros(sought.until),
        "first": first,
        "before": min(before or LAST, last),
        # Where everything fits, nothing is looked at in vain.
        "walked": limit + 1 if user is None and sought == SoughtRuns() else RUNS_WALKED,
        "limit": limit + 1,
    }


def held_lease_of(row: Row) -> HeldLease:
    return HeldLease(
        node=NodeId(row["holder"]),
        session_id=SessionId(row["session_id"]),
        run_id=RunId(row["run_id"]),
        agent=AgentId(row["agent"]),
        fence=Fence(row["fence"]),
        taken_at=moment(row["taken_at"]),
        expires_at=moment(row["expires_at"]),
        queued=row["queued"],
    )


class Adding:
    """Adds up what the pages of a walk spent, by span and agent."""

    def __init__(self, by: Span, since: datetime, until: datetime) -> None:
        self._by, self._since, self._until = by, since, until
        self._spent: dict[tuple[datetime, AgentId], Spent] = {}

    @property
    def params(self) -> Params:
        first, last = ids_between(self._since, self._until)
        return {"after": first, "last": last, "width": self._by.length // timedelta(microseconds=1)}

    def add(self, page: Sequence[Row]) -> Mapping[str, str]:
        """Gives the place back from which the walk goes on."""
        for row in page:
            at = moment(row["span"] * (self._by.length // timedelta(microseconds=1)))
            if self._since <= at < self._until:
                place = at, AgentId(row["agent"])
                self._spent[place] = self._spent.get(place, Spent()).plus(_spent_of(row))
        return {"after": max(row["last"] for row in page)}

    @property
    def told(self) -> list[SpentBy]:
        return [SpentBy(at=at, agent=agent, spent=spent) for (at, agent), spent in sorted(self._spent.items())]


def _spent_of(row: Row) -> Spent:
    return Spent(
        runs=row["runs"],
        completed=row["completed"],
        failed=row["failed"],
        tokens=float(row["tokens"]),
        cost_cents=float(row["cost_cents"]),
        model_calls=int(row["model_calls"]),
        tool_calls=int(row["tool_calls"]),
    )
