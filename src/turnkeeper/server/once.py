"""Requests that are done once: `@once` beside a route lets it take an Idempotency-Key.

The first answer is kept with the key and given to whoever sends the same request again. What was refused is not kept.
"""

import json
import re
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from turnkeeper.errors import TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.model.principal import Principal
from turnkeeper.server.errors import invalid_header
from turnkeeper.server.parameters import KEY, IdempotencyKey

F = TypeVar("F", bound=Callable[..., Any])
NO_SESSION = "-"
KEPT_HEADERS = ("content-type", "etag", "location")


def once(endpoint: F) -> F:
    """Not for a route that answers with a secret: what it says is kept."""
    endpoint.is_done_once = True  # type: ignore[attr-defined]
    return endpoint


# FastAPI runs a dependency that is no coroutine on a thread of its pool, once for each request.
async def takes_a_key(idempotency_key: IdempotencyKey = None) -> None:
    """Shows the header in OpenAPI; it is looked at before the route is asked."""


class OnceRoute(APIRoute):
    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if getattr(endpoint, "is_done_once", False):
            known = list(options.get("dependencies") or ())
            if all(each.dependency is not takes_a_key for each in known):
                options["dependencies"] = [*known, Depends(takes_a_key)]
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if not getattr(self.endpoint, "is_done_once", False):
            return handle

        async def handled(request: Request) -> Response:
            key = request.headers.get("idempotency-key")
            return await handle(request) if key is None else await _done_once(request, key, handle)

        return handled


async def _done_once(
    request: Request, key: str, handle: Callable[[Request], Coroutine[Any, Any, Response]]
) -> Response:
    if not re.fullmatch(KEY, key):
        raise invalid_header(
            "Idempotency-Key", "is 1 to 128 letters, digits or any of _ . : @ -, a letter or digit first"
        )
    keeper: Turnkeeper = request.app.state.keeper
    principal: Principal = request.state.principal
    asked = "\n".join([request.method, request.url.path, request.url.query, request.headers.get("if-match", "")])
    body: bytes = getattr(request.state, "body", b"")
    about = request.path_params.get("session_id", NO_SESSION)
    claim = await keeper.answering.claim(key, asked.encode() + b"\n" + body, about=about, principal=principal)
    if claim.answer is not None:
        if about != NO_SESSION:
            await keeper.session(about, principal=principal)  # Who may not open it any more is told nothing of it.
        return _told_again(claim.answer)
    try:
        answer = await handle(request)
    except (TurnkeeperError, RequestValidationError):
        # Of whatever else may happen nobody knows what was done: the key stays taken for a while.
        await keeper.answering.refused(claim, principal=principal)
        raise
    await keeper.answering.answered(claim, _kept(answer), principal=principal)
    return answer


def _kept(answer: Response) -> str:
    headers = {name: answer.headers[name] for name in KEPT_HEADERS if name in answer.headers}
    body = bytes(answer.body).decode()
    return json.dumps({"status": answer.status_code, "headers": headers, "body": body}, ensure_ascii=False)


def _told_again(kept: str) -> Response:
    told = json.loads(kept)
    return Response(told["body"].encode(), status_code=told["status"], headers=told["headers"])
