"""What is asked about sessions, as parameters that are the same for every backend."""

import string

from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.model.mount import Mount
from turnkeeper.model.session import Session
from turnkeeper.ports.runs import RequestKey
from turnkeeper.ports.sessions import Sought
from turnkeeper.stores.rows import Params, micros

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
    }


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
