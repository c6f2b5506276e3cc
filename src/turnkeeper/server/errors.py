"""The one place where an error becomes a response: a problem document of RFC 9457, for every error there is."""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from turnkeeper.errors import (
    EnvelopeInvalid,
    MalformedRequest,
    MethodNotAllowed,
    NotAuthenticated,
    RouteNotFound,
    RunEnded,
    TurnkeeperError,
)
from turnkeeper.keeper import Turnkeeper
from turnkeeper.server.carrying import sealed
from turnkeeper.server.exchange import Exchange, exchange_of

API = "/api/v1"
PROBLEM = "application/problem+json"
MOST_DETAILS = 50
MOST_NAME_CHARS = 100


def problem_of(error: TurnkeeperError, exchange: Exchange) -> dict[str, Any]:
    problem: dict[str, Any] = {
        "type": f"urn:turnkeeper:problem:{error.code}",
        "title": error.title,
        "status": error.http_status,
        "detail": error.detail,
        "code": error.code,
        "retryable": error.retryable,
        "request_id": exchange.request_id,
        "trace_id": exchange.trace_id,
    }
    if error.stage is not None:
        problem["stage"] = error.stage
    if error.retry_after_ms is not None:
        problem["retry_after_ms"] = error.retry_after_ms
    if error.details:
        problem["details"] = list(error.details)
    return {**problem, **{name: fact for name, fact in error.facts.items() if name not in problem}}


def problem_response(
    error: TurnkeeperError, exchange: Exchange, more_headers: Mapping[str, str] | None = None
) -> Response:
    headers = dict(more_headers or {})
    if error.retry_after_ms is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after_ms / 1000))
    if isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="turnkeeper"'
    # ASCII, so that half of a surrogate pair in a name can be told back too.
    body = json.dumps(problem_of(error, exchange), ensure_ascii=True).encode()
    return Response(body, status_code=error.http_status, headers=headers, media_type=PROBLEM)


def render_errors(app: FastAPI, keeper: Turnkeeper) -> None:
    """From here on every error of this app is told as a problem, and every refusal of the API is audited once."""

    async def tell(request: Request, error: TurnkeeperError, more_headers: Mapping[str, str] | None = None) -> Response:
        exchange = exchange_of(request)
        if request.url.path.startswith(API) and not isinstance(error, RunEnded):
            principal = getattr(request.state, "principal", None)
            about = {"body_sha256": body_hash} if (body_hash := _body_hash(request)) else {}
            verb = _verb_of(request)
            await keeper.refused(error, principal=principal, verb=verb, trace_id=exchange.trace_id, **about)
        if isinstance(error, RunEnded) and "carried" in error.facts:
            error.facts["carried"] = await sealed(keeper, error.run, error.facts["carried"])
        return problem_response(error, exchange, more_headers)

    async def tell_invalid(request: Request, error: RequestValidationError) -> Response:
        return await tell(request, invalid(error.errors(), error.body))

    async def tell_http(request: Request, error: HTTPException) -> Response:
        return await tell(request, _of_http(error, request), _with_methods(error, request))

    app.add_exception_handler(TurnkeeperError, tell)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, tell_invalid)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, tell_http)  # type: ignore[arg-type]


def invalid(faults: Sequence[Mapping[str, Any]], body: Any = None) -> EnvelopeInvalid:
    """Every fault that pydantic found, each with a pointer to its place; never with what stood there."""
    details = [_detail_of(fault, body) for fault in faults[:MOST_DETAILS]]
    error = EnvelopeInvalid(f"The request has {_counted(len(faults), 'fault')}. See details.", details=details)
    error.stage = "receive"
    return error


def invalid_header(name: str, message: str) -> EnvelopeInvalid:
    error = EnvelopeInvalid(f"The header {name} {message}.", details=[{"header": name, "message": message}])
    error.stage = "receive"
    return error


def _detail_of(fault: Mapping[str, Any], body: Any) -> dict[str, str]:
    source, *place = fault["loc"]
    message = str(fault["msg"])
    if source == "body":
        return {"pointer": "".join(f"/{_pointer_part(part)}" for part in _in_body(place, body)), "message": message}
    return {"header" if source == "header" else "parameter": ".".join(map(str, place)), "message": message}


def _in_body(place: Sequence[str | int], body: Any) -> Iterator[str | int]:
    """The place without the names of variants, which pydantic puts before what is inside of one."""
    for part in place:
        if isinstance(body, dict) and part not in body and part == body.get("kind"):
            continue
        yield part
        if isinstance(body, dict):
            body = body.get(part)
        elif isinstance(body, list) and isinstance(part, int) and part < len(body):
            body = body[part]


def _pointer_part(part: str | int) -> str:
    return str(part)[:MOST_NAME_CHARS].replace("~", "~0").replace("/", "~1")


def _counted(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"{count} {noun}s"


def _of_http(error: HTTPException, request: Request) -> TurnkeeperError:
    """What the framework itself refuses."""
    if error.status_code == HTTPStatus.NOT_FOUND:
        return RouteNotFound()
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return MethodNotAllowed(_methods_at(request))
    return MalformedRequest("The request cannot be read.")


def _with_methods(error: HTTPException, request: Request) -> Mapping[str, str] | None:
    if error.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        return error.headers
    return {**(error.headers or {}), "Allow": _methods_at(request)}


def _methods_at(request: Request) -> str:
    """What all routes of this address take together; the framework knows the first of them alone."""
    path, paths = request.url.path, request.app.openapi()["paths"]
    fitting = [known for known in paths if re.fullmatch(re.sub(r"{\w+}", "[^/]+", known), path)]
    # An address of its own, such as /sessions/current, is no session of this id.
    of_address = [path] if path in fitting else fitting
    methods = {method.upper() for known in of_address for method in paths[known]}
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))


def _body_hash(request: Request) -> str | None:
    """So that a body nobody could read can be recognized by who sent it."""
    body = getattr(request.state, "body", None)
    return hashlib.sha256(body).hexdigest() if body else None


def _verb_of(request: Request) -> str:
    """The name of the route, as the audit calls what was asked for."""
    return getattr(request.scope.get("route"), "name", None) or "unknown"
