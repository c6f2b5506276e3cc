"""Sessions that cannot be used as was wished, and who may run in them now."""

from collections.abc import Sequence

from turnkeeper.errors.base import TurnkeeperError
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import AgentId, RunId, SessionId
from turnkeeper.model.session import SessionStatus


class SessionNotFound(TurnkeeperError):
    """Also raised for a session of another tenant or user: whether it exists is none of the caller's business."""

    code = "session_not_found"
    http_status = 404
    title = "No such session"

    def __init__(self, session_id: SessionId) -> None:
        super().__init__(f"There is no session {session_id!r}. Leave out session_id to start a new one.")


class SessionClosed(TurnkeeperError):
    code = "session_closed"
    http_status = 410
    title = "The session is closed"

    def __init__(self, session_id: SessionId) -> None:
        super().__init__(
            f"Session {session_id!r} is closed. It can be read, but takes no more messages; go on in a new one with "
            "`from_session_id`."
        )


class SessionExpired(TurnkeeperError):
    code = "session_expired"
    http_status = 410
    title = "The session has expired"

    def __init__(self, session_id: SessionId) -> None:
        super().__init__(f"Session {session_id!r} has expired. It can be read; start a new session to go on.")


class InvalidTransition(TurnkeeperError):
    code = "invalid_transition"
    http_status = 409
    title = "The session cannot change that way"

    def __init__(self, session_id: SessionId, status: SessionStatus, wanted: SessionStatus) -> None:
        super().__init__(
            f"Session {session_id!r} is {status} and cannot become {wanted}. Read it for its status; one that is over "
            "goes on in a new session with `from_session_id`."
        )


class VersionMoved(TurnkeeperError):
    code = "version_moved"
    http_status = 412
    retryable = True
    title = "The settings were changed meanwhile"

    def __init__(self, session_id: SessionId, *, expected: int, actual: int) -> None:
        super().__init__(
            f"The settings of session {session_id!r} are at version {actual}, not {expected}. Read them again first.",
            version=actual,
        )


class SessionMoved(TurnkeeperError):
    code = "session_moved"
    http_status = 409
    retryable = True
    title = "The session has moved on"

    def __init__(self, session_id: SessionId, *, expected_revision: int) -> None:
        super().__init__(
            f"Session {session_id!r} is no longer at revision {expected_revision}. "
            "Send the same envelope again; it will run on the newer revision."
        )


class SessionNotOver(TurnkeeperError):
    code = "session_not_over"
    http_status = 409
    title = "Only a finished session is continued in a new one"

    def __init__(self, session_id: SessionId) -> None:
        super().__init__(f"Session {session_id!r} is still open. Go on in it, or close it first.")


class TurnNotFound(TurnkeeperError):
    code = "turn_not_found"
    http_status = 404
    title = "No such turn"

    def __init__(self, session_id: SessionId, turn: int) -> None:
        super().__init__(f"Session {session_id!r} has no turn {turn}. Its `turns` says how many there are.")


class HistoryErased(TurnkeeperError):
    code = "history_erased"
    http_status = 410
    title = "What was shared is erased"

    def __init__(self, session_id: SessionId, first: int) -> None:
        super().__init__(
            f"Session {session_id!r} shared its turns before {first} with a session that was erased. "
            f"Read it from turn {first} on."
        )


class LeaseLost(TurnkeeperError):
    code = "lease_lost"
    http_status = 409
    retryable = True
    title = "Another run has taken over"

    def __init__(self, run_id: RunId) -> None:
        super().__init__(
            f"Run {run_id!r} no longer holds its session and may not write to it. Another run goes on; follow the feed "
            "of the session, or send the message again."
        )


class CheckpointConflict(LeaseLost):
    code = "checkpoint_conflict"
    title = "Another node went on with this run"


class SessionBusy(TurnkeeperError):
    code = "session_busy"
    http_status = 409
    retryable = True
    title = "The session is answering another message"

    def __init__(self, session_id: SessionId, *, holder: str | None, since: str | None, state: str) -> None:
        super().__init__(
            f"Session {session_id!r} is {state}. Wait for it, or send with double_text 'enqueue'.",
            holder=holder,
            since=since,
            state=state,
            retry_after_ms=1000,
        )


class QueueFull(TurnkeeperError):
    code = "queue_full"
    http_status = 429
    retryable = True
    title = "Too many messages are waiting"

    def __init__(self, session_id: SessionId, *, queued: int) -> None:
        super().__init__(
            f"{queued} messages already wait in session {session_id!r}. Send this one again later.",
            queued=queued,
            retry_after_ms=1000,
        )


class DoubleTextNotAllowed(TurnkeeperError):
    code = "double_text_not_allowed"
    http_status = 422
    title = "The agent does not take messages that way"

    def __init__(self, agent: AgentId, wanted: DoubleText, allowed: Sequence[DoubleText]) -> None:
        names = ", ".join(sorted(allowed))
        super().__init__(f"Agent {agent!r} does not allow double_text {wanted.value!r}. It allows: {names}.")


class AgentNotFound(TurnkeeperError):
    code = "agent_not_found"
    http_status = 422
    title = "No such agent"

    def __init__(self, agent: AgentId, known: Sequence[AgentId]) -> None:
        names = ", ".join(sorted(known)) or "none"
        super().__init__(f"No live node has an agent {agent!r}. Registered agents: {names}.")
