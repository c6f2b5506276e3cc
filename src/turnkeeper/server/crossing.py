"""Pages of other origins: which are let in, what they may send and see, and how the others are refused."""

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from turnkeeper.errors import MalformedRequest
from turnkeeper.server.errors import problem_response

CROSSING: Mapping[str, Any] = {
    "allow_methods": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    "allow_headers": [
        "Authorization",
        "Content-Type",
        "Idempotency-Key",
        "If-Match",
        "If-None-Match",
        "Last-Event-ID",
        "X-Request-Id",
        "traceparent",
    ],
    "expose_headers": ["ETag", "Location", "Retry-After", "X-Request-Id", "X-Trace-Id"],
    "allow_credentials": False,  # A page elsewhere brings a token; a cookie of ours is not for it.
}
"""What pages of the origins in `cors_origins` may send and see."""


class CrossingMiddleware(CORSMiddleware):
    """What a browser asks beforehand is answered like everything else: a refusal is a problem."""

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        return answer if answer.status_code < 400 else _Refusal(answer)


class _Refusal(Response):
    def __init__(self, answer: Response) -> None:
        super().__init__()
        self._why = bytes(answer.body).decode().removeprefix("Disallowed CORS ")
        self._vary = answer.headers["vary"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = MalformedRequest(
            f"The setting cors_origins does not let a page elsewhere in like this: see its {self._why}."
        )
        told = problem_response(error, scope["state"]["exchange"], {"Vary": self._vary})
        await told(scope, receive, send)
