"""State that a client carries and that cannot be taken back."""

from turnkeeper.errors.base import TurnkeeperError
from turnkeeper.model.ids import SessionId


class CarriedInvalid(TurnkeeperError):
    """`reason` says what is wrong with it, as far as that is the caller's business."""

    code = "carried_invalid"
    http_status = 422
    title = "The carried state cannot be opened"

    def __init__(self, reason: str, said: str) -> None:
        super().__init__(
            f"The carried state {said}. Send back `carried` exactly as the newest reply to this user in this session "
            "gave it, or leave it out to begin anew.",
            details=[{"pointer": "/carried", "message": said}],
            reason=reason,
        )


class CarriedStale(TurnkeeperError):
    code = "carried_stale"
    http_status = 409
    title = "The carried state is not the newest"

    def __init__(self, session_id: SessionId, *, sent: int, newest: int) -> None:
        super().__init__(
            f"Session {session_id!r} has gone on to revision {newest}, and this message carries revision {sent}. Send "
            "it with the newest state, or with freshness 'any' to go on from the older one. Name each message with a "
            "request_id: when an answer is lost, the same request is answered again, with the newest state.",
            details=[{"pointer": "/carried", "message": f"is at revision {sent}; the newest is {newest}"}],
            revision=newest,
        )


class SealKeyNotFound(TurnkeeperError):
    code = "seal_key_not_found"
    http_status = 404
    title = "No such key"

    def __init__(self, id: str) -> None:
        super().__init__(f"There is no key {id!r}. List the keys of the seals to see which there are.")
