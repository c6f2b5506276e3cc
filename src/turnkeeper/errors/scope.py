"""What the layers above a session do not let it have, and what is not there for it to have."""

from turnkeeper.errors.base import TurnkeeperError


class LayerNotFound(TurnkeeperError):
    http_status = 404
    code = "layer_not_found"
    title = "No such tenant, project or objective"

    def __init__(self, level: str, id: str) -> None:
        super().__init__(f"There is no {level} {id!r} here. Look at the list, or make it first.", level=level)


class LayerExists(TurnkeeperError):
    http_status = 409
    code = "layer_exists"
    title = "There is one of this id already"

    def __init__(self, level: str, id: str) -> None:
        super().__init__(f"There is a {level} {id!r} already. Change it, or choose another id.", level=level)


class LayerNotActive(TurnkeeperError):
    http_status = 409
    code = "layer_not_active"
    title = "Nothing new begins there"

    def __init__(self, level: str, id: str, status: str) -> None:
        super().__init__(f"The {level} {id!r} is {status}. Make it active again, or choose another one.", level=level)


class UserNotFound(TurnkeeperError):
    http_status = 404
    code = "user_not_found"
    title = "No such user"

    def __init__(self, id: str) -> None:
        super().__init__(f"There is no user {id!r} here. Make it first.")


class UserExists(TurnkeeperError):
    http_status = 409
    code = "user_exists"
    title = "There is a user of this id already"

    def __init__(self, id: str) -> None:
        super().__init__(f"There is a user {id!r} already. Change it instead.")


class LastOwner(TurnkeeperError):
    http_status = 409
    code = "last_owner"
    title = "A tenant keeps one owner"

    def __init__(self, id: str) -> None:
        super().__init__(f"{id!r} is the last owner of this tenant. Make somebody else an owner first.")


class UserSuspended(TurnkeeperError):
    http_status = 403
    code = "user_suspended"
    title = "This user is suspended"

    def __init__(self) -> None:
        super().__init__("Your user is suspended. Ask an owner or admin of your tenant.")


class TenantSuspended(TurnkeeperError):
    http_status = 403
    code = "tenant_suspended"
    title = "This tenant is suspended"

    def __init__(self, status: str = "suspended") -> None:
        super().__init__(f"Your tenant is {status}. Ask the operator of this server.")


class LayerSuspended(TurnkeeperError):
    http_status = 403
    code = "layer_suspended"
    title = "The project or objective of the session is suspended"

    def __init__(self, level: str, id: str) -> None:
        super().__init__(
            f"The {level} {str(id)!r} is suspended, and nothing goes on in it. "
            "Ask an owner or admin of your tenant to make it active again.",
            level=str(level),
            layer=str(id),
        )


class DefinitionNotFound(TurnkeeperError):
    http_status = 404
    code = "definition_not_found"
    title = "No such definition"

    def __init__(self, kind: str, id: str) -> None:
        super().__init__(f"There is no {kind} {id!r} here. Put one there first.")


class MountNotFound(TurnkeeperError):
    http_status = 404
    code = "mount_not_found"
    title = "There is nothing of this kind and id"

    def __init__(self, kind: str, id: str) -> None:
        super().__init__(f"There is no {kind} {id!r} to mount or to do without. Check its id.")


class MountExcluded(TurnkeeperError):
    http_status = 403
    code = "mount_excluded"
    title = "A layer above excludes it"

    def __init__(self, kind: str, id: str) -> None:
        super().__init__(
            f"The {kind} {id!r} is excluded for this session by its tenant, project or objective. Ask their owner to "
            "allow it, or leave it out."
        )


class PolicyRelaxation(TurnkeeperError):
    http_status = 403
    code = "policy_relaxation"
    title = "A policy is never laxer than what is inherited"

    def __init__(self, asked: str, inherited: str) -> None:
        super().__init__(
            f"{str(asked)!r} is laxer than the inherited {str(inherited)!r}. Ask for that, or for a stricter one."
        )


class ModelNotAllowed(TurnkeeperError):
    http_status = 403
    code = "model_not_allowed"
    title = "The tenant does not allow this model"

    def __init__(self, model: str) -> None:
        super().__init__(f"The model {model!r} is not among those that this tenant allows. Choose another one.")


class SessionEnded(TurnkeeperError):
    http_status = 409
    code = "session_ended"
    title = "The session is over and stays as it is"

    def __init__(self, session_id: str, status: str) -> None:
        super().__init__(
            f"Session {session_id!r} is {status}: it can be read, and not changed. "
            "Go on in a new one with from_session_id.",
            session_id=session_id,
        )


class QuotaExceeded(TurnkeeperError):
    http_status = 429
    code = "quota_exceeded"
    title = "The quota of the tenant is used up"

    def __init__(self, quota: str, limit: int, *, with_this: int) -> None:
        super().__init__(
            f"This tenant may have {limit} {_IN_WORDS[quota]}, and would have {with_this} with this. Ask the operator.",
            quota=str(quota),
            limit=limit,
            with_this=with_this,
        )


_IN_WORDS = {
    "runs_monthly": "runs in a calendar month",
    "sessions": "sessions that live",
    "storage_bytes": "bytes of content",
}


class IsolationUnavailable(TurnkeeperError):
    http_status = 409
    code = "isolation_unavailable"
    title = "There is no sandbox here"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why} This server runs tools in its own process only, and does not do so in its place. Use one with a "
            "sandbox, or ask for less isolation where you may."
        )


class LayoutTooLarge(TurnkeeperError):
    http_status = 413
    code = "layout_too_large"
    title = "The layout is too large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"A layout has at most {limit} bytes as JSON. Save less of the screen.", limit_bytes=limit)


class LimitExceeded(TurnkeeperError):
    http_status = 422
    code = "limit_exceeded"
    title = "The run came to a limit of its context"

    def __init__(self, limit: str, most: float) -> None:
        super().__init__(
            f"The run came to its limit {limit} of {most:g} and was stopped. Nothing of this turn was kept.",
            limit=limit,
        )
