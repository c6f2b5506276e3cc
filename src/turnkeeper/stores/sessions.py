"""What is asked about sessions, as parameters that are the same for every backend."""

import string
from collections.abc import Mapping, Sequence

from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.mount import Mount
from turnkeeper.model.session import Session
from turnkeeper.ports.runs import RequestKey
from turnkeeper.ports.sessions import SessionOrder, Sought
from turnkeeper.stores.rows import Params, Row, micros

TO_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
"""As both backends do it, whatever language they think in."""


def sought_params(tenant: TenantId, owner: UserId | None, sought: Sought) -> Params:
    return {
        "tenant": tenant,
        "owner": owner,
        "status": sought.status and sought.status.value,
        "module": sought.module and sought.module.value,
        "project_id": sought.project_id,
        "agent": sought.agent,
        "title": sought.title and sought.title.translate(TO_SMALL),
        "created_from": sought.created_from and micros(sought.created_from),
        "created_until": sought.created_until and micros(sought.created_until),
        "active_from": sought.active_from and micros(sought.active_from),
        "active_until": sought.active_until and micros(sought.active_until),
        "fork_of": sought.fork_of,
    }


class Seeking:
    """What a walk over sessions has found so far; `ids` are those behind a cursor, in order, `total` counts all."""

    def __init__(self, sought: Sought, order: SessionOrder, before: str | None) -> None:
        self._words = [word.casefold() for word in (sought.text or "").split()]
        self._order, self._before = order, None if before is None else order.place_of(before)
        self._found: list[tuple[int, str]] = []

    def take(self, page: Sequence[Row]) -> Sequence[Row]:
        """Gives those back of which only the opening can tell whether they fit."""
        unsure = [row for row in page if self._missing(row["title"])]
        unsure_ids = {row["id"] for row in unsure}
        self._found += [self._place(row) for row in page if row["id"] not in unsure_ids]
        return unsure

    def settle(self, unsure: Sequence[Row], openings: Mapping[SessionId, str]) -> None:
        self._found += [self._place(row) for row in unsure if not self._missing(row["title"], openings.get(row["id"]))]

    @property
    def ids(self) -> list[SessionId]:
        behind = [place for place in self._found if self._before is None or place < self._before]
        return [SessionId(id) for _, id in sorted(behind, reverse=True)]

    @property
    def total(self) -> int:
        return len(self._found)

    def _place(self, row: Row) -> tuple[int, str]:
        return (row["last_active_at"] if self._order is SessionOrder.ACTIVE else 0), row["id"]

    def _missing(self, *texts: str | None) -> bool:
        said = "\n".join(filter(None, texts)).casefold()
        return any(word not in said for word in self._words)


def created_request_params(request: RequestKey, session: Session) -> Params:
    """A request that made a session is kept like one that made a run, with the id of the session in its place."""
    return {
        "tenant": session.tenant,
        "user": request.user,
        "key": request.key,
        "body_hash": request.body_hash,
        "run_id": session.id,
        "now": micros(session.created_at),
    }


def current_params(session: Session) -> Params:
    module = session.purpose.module
    assert module is not None, "a current session is one of a module"
    return {
        "tenant": session.tenant,
        "owner": session.owner,
        "module": module.value,
        "project_id": session.purpose.project_id or "",
        "session_id": session.id,
        "now": micros(session.created_at),
    }


def pinned_anew(session: Session) -> tuple[Mount, ...]:
    """What a session begins with of its own, not what it took over from the one before."""
    return tuple(mount for mount in session.mounts if mount.mounted_at >= session.created_at)


def living_params(session: Session) -> Params:
    return {"tenant": session.tenant, "now": micros(session.created_at)}
