"""Databases that cannot be reached or read, and nodes that go away."""

from turnkeeper.errors.base import TurnkeeperError


class StoreUnavailable(TurnkeeperError):
    code = "store_unavailable"
    http_status = 503
    retryable = True
    title = "The database cannot be reached"

    def __init__(self, reason: str, *, advice: str = "Nothing was half done; send the same request again.") -> None:
        super().__init__(f"{reason} {advice}", retry_after_ms=1000)


class DatabaseMoving(StoreUnavailable):
    """Whoever can do without a write can do without it now: that is why it is a StoreUnavailable, too."""

    code = "moving"
    title = "The database is being moved"

    def __init__(self, reason: str = "The database is being moved to another place, or was.") -> None:
        super().__init__(reason, advice="What is there can be read; send the same request again later.")
        self.retry_after_ms = 5000


class DatabaseHalfFilled(TurnkeeperError):
    code = "half_filled"
    http_status = 503
    title = "The database was not filled to its end"

    def __init__(self) -> None:
        super().__init__(
            "This database was being filled by `turnkeeper db move`, which did not come to its end. "
            "Use the database it came from, or move it here again."
        )


class MoveRefused(TurnkeeperError):
    code = "move_refused"
    http_status = 409
    title = "The database cannot be moved like this"


class SchemaTooNew(TurnkeeperError):
    code = "schema_too_new"
    http_status = 503
    title = "The database needs a newer turnkeeper"


class SchemaDamaged(TurnkeeperError):
    code = "schema_damaged"
    http_status = 503
    title = "The database was migrated by other files than these"


class ShuttingDown(TurnkeeperError):
    code = "shutting_down"
    http_status = 503
    retryable = True
    title = "The server is stopping"

    def __init__(self) -> None:
        super().__init__("This node is shutting down. Send the request again; another node will take it.")
