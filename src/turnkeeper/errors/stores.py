"""Databases that cannot be reached or read, and nodes that go away."""

from turnkeeper.errors.base import TurnkeeperError


class StoreUnavailable(TurnkeeperError):
    code = "store_unavailable"
    http_status = 503
    retryable = True
    title = "The database cannot be reached"

    def __init__(self, reason: str, *, advice: str = "Nothing was half done; send the same request again.") -> None:
        super().__init__(f"{reason} {advice}", retry_after_ms=1000)


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
