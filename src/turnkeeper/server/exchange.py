"""The ids of one HTTP exchange, so that a caller, a log and an audit speak of the same one."""

import os
import re
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.datastructures import Headers

from turnkeeper.model.trace_context import TraceContext

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}")


@dataclass(slots=True)
class Exchange:
    """`request_id` is the caller's own if it gave one; `trace_id` continues the caller's trace if it has one.

    `caller` is the span of the caller, under which ours stand.
    """

    request_id: str
    trace_id: str
    caller: TraceContext | None = None

    @classmethod
    def of(cls, headers: Headers) -> "Exchange":
        trace = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
        given = headers.get("idempotency-key") or headers.get("x-request-id") or ""
        return cls(
            request_id=given if _REQUEST_ID.fullmatch(given) else f"req_{os.urandom(12).hex()}",
            trace_id=trace[1] if trace else os.urandom(16).hex(),
            caller=TraceContext(span_id=trace[2], flags=trace[3]) if trace else None,
        )

    def take_up(self, document: Any) -> None:
        """Speak of this exchange as a full envelope does, as far as that can be read."""
        if not isinstance(document, dict):
            return
        request_id, trace = document.get("request_id"), document.get("trace")
        if isinstance(request_id, str) and _REQUEST_ID.fullmatch(request_id):
            self.request_id = request_id
        trace_id = trace.get("trace_id") if isinstance(trace, dict) else None
        if isinstance(trace_id, str) and _TRACE_ID.fullmatch(trace_id):
            self.trace_id = trace_id


def exchange_of(request: Request) -> Exchange:
    exchange: Exchange = request.scope["state"]["exchange"]
    return exchange
