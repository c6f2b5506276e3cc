"""What every error carries for a program, and what it tells a person."""

from collections.abc import Mapping, Sequence
from typing import Any


class TurnkeeperError(Exception):
    """`request_id` and `trace_id` are those of the request that a server has refused."""

    code = "internal_error"
    http_status = 500
    retryable = False
    title = "Something went wrong"

    def __init__(
        self, detail: str, *, details: Sequence[Mapping[str, Any]] = (), retry_after_ms: int | None = None, **facts: Any
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.details = tuple(details)
        self.retry_after_ms = retry_after_ms
        self.facts = facts
        self.stage: str | None = None
        self.audited = False
        self.request_id: str | None = None
        self.trace_id: str | None = None
