"""An OpenAPI document that tells the truth about errors and streams, which the framework cannot know."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from turnkeeper import errors
from turnkeeper.server.errors import PROBLEM
from turnkeeper.server.wire import FrameOut, Problem

EVERYWHERE = (
    errors.MalformedRequest,
    errors.EnvelopeInvalid,
    errors.NotAuthenticated,
    errors.TokenExpired,
    errors.TenantSuspended,
    errors.UserSuspended,
    errors.TurnkeeperError,
    errors.StoreUnavailable,
)
WITH_BODY = (errors.MalformedJson, errors.BodyTooLarge, errors.MediaTypeNotSupported)
TALKING = (
    errors.NotAllowed,
    errors.SessionNotFound,
    errors.SessionClosed,
    errors.SessionExpired,
    errors.SessionBusy,
    errors.QueueFull,
    errors.RateLimited,
    errors.TooManyStreams,
    errors.DuplicateRequest,
    errors.DoubleTextNotAllowed,
    errors.AgentNotFound,
    errors.PackNotFound,
    errors.PackVersionMismatch,
    errors.GrantMissing,
    errors.QuotaExceeded,
    errors.LayerNotActive,
    errors.ModelNotAllowed,
    errors.IsolationUnavailable,
    errors.RunNotFound,
    errors.RunNotWaiting,
    errors.AnswerNotAccepted,
    errors.ShuttingDown,
    errors.AgentFailed,
    errors.RunEnded,
)
"""What may come back when a message is sent and its answer waited for."""

Responses = dict[int | str, dict[str, Any]]


def problems(*kinds: type[errors.TurnkeeperError]) -> Responses:
    """The problem responses of a route: those named, and those that every route may give."""
    return _by_status(*EVERYWHERE, *kinds)


def problems_of_readiness() -> Responses:
    return _by_status(errors.StoreUnavailable, errors.ShuttingDown)


def event_stream(beside: type[BaseModel] | None = None) -> Responses:
    """The 200 of a route that streams; `beside` is what the same route answers as JSON."""
    content: dict[str, Any] = {
        "text/event-stream": {
            "schema": {
                "type": "string",
                "description": "Events whose `data` is a FrameOut, `event` its type and `id` its number; "
                "a comment now and then keeps the connection alive.",
            }
        }
    }
    return {200: {"description": "The answer" if beside else "Frames as they come", "content": content}}


def describe(app: FastAPI) -> None:
    """Make the app serve a document with the shapes that no route mentions by type."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            for kind in (Problem, FrameOut):
                shape = kind.model_json_schema(ref_template="#/components/schemas/{model}")
                schemas |= shape.pop("$defs", {}) | {kind.__name__: shape}
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _by_status(*kinds: type[errors.TurnkeeperError]) -> Responses:
    codes: dict[int, dict[str, str]] = {}
    for kind in kinds:
        for status, code, title in told_by(kind):
            codes.setdefault(status, {})[code] = title
    return {
        status: {
            "description": "; ".join(f"`{code}`: {title}" for code, title in sorted(found.items())),
            "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, found in sorted(codes.items())
    }


def told_by(kind: type[errors.TurnkeeperError]) -> list[tuple[int, str, str]]:
    """Status, code and title of an error; a run has several ways to end."""
    if kind is errors.RunEnded:
        return [(status, code, kind.title) for code, status, _, _ in errors.ENDS_OF_RUN.values()]
    return [(kind.http_status, kind.code, kind.title)]
