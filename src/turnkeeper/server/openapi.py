"""An OpenAPI document that tells the truth about errors and streams, which the framework cannot know."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from turnkeeper import errors
from turnkeeper.server.errors import PROBLEM
from turnkeeper.server.example_problems import text_of
from turnkeeper.server.examples import put_examples
from turnkeeper.server.fields import describe_fields
from turnkeeper.server.tags import PARAMETERS, TAGS
from turnkeeper.server.wire import Problem
from turnkeeper.server.wire_frames import Frame

EVERYWHERE = (
    errors.MalformedRequest,
    errors.EnvelopeInvalid,
    errors.NotAuthenticated,
    errors.TokenExpired,
    errors.NotAllowed,
    errors.CsrfRefused,
    errors.TenantSuspended,
    errors.UserSuspended,
    errors.TooManyAttempts,
    errors.RateLimited,
    errors.IssuerUnavailable,
    errors.DatabaseMoving,
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

SCHEMAS = "#/components/schemas/"
EVENT = {
    "title": "ServerSentEvent",
    "description": "One event of a stream. A comment now and then keeps the connection alive.",
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "id": {
            "type": "string",
            "pattern": "^[0-9]+$",
            "description": "The number of the frame, to come back with as `Last-Event-ID`.",
        },
        "event": {"type": "string", "description": "The type of the frame."},
        "data": {
            "type": "string",
            "description": "The frame, as JSON in one line.",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": f"{SCHEMAS}Frame"},
        },
    },
}

Responses = dict[int | str, dict[str, Any]]
EXAMPLES: dict[str, dict[str, Any]] = {}
"""A problem for each code that any route may give."""


def problems(*kinds: type[errors.TurnkeeperError]) -> Responses:
    """The problem responses of a route: those named, and those that every route may give."""
    return _by_status(*EVERYWHERE, *kinds)


def problems_of_a_page(*kinds: type[errors.TurnkeeperError]) -> Responses:
    """Those of what is outside of the API and needs no token."""
    return _by_status(errors.MalformedRequest, errors.EnvelopeInvalid, *kinds)


def problems_of_readiness() -> Responses:
    return _by_status(errors.StoreUnavailable, errors.ShuttingDown)


def event_stream(beside: type[BaseModel] | None = None) -> Responses:
    """The 200 of a route that streams; `beside` is what the same route answers as JSON."""
    content = {"text/event-stream": {"schema": {"$ref": f"{SCHEMAS}ServerSentEvent"}}}
    return {200: {"description": "The answer" if beside else "Frames as they come", "content": content}}


def operation_id(route: APIRoute) -> str:
    """What client generators call the route: the name of its function, which says verb and noun."""
    return route.endpoint.__name__


def describe(app: FastAPI) -> None:
    """Make the app serve a document with the shapes that no route mentions by type."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes, tags=TAGS
            )
            parts = document.setdefault("components", {}).setdefault("schemas", {})
            _, shapes = models_json_schema(
                [(Problem, "serialization"), (Frame, "serialization")], ref_template=SCHEMAS + "{model}"
            )
            parts |= shapes["$defs"] | {"ServerSentEvent": EVENT}
            for operations in document["paths"].values():
                for id, operation in ((each["operationId"], each) for each in operations.values()):
                    operation["summary"] = id.replace("_", " ").capitalize()
                    _describe_parameters(operation.get("parameters", []))
                    _describe_keys(operation)
                    _describe_known(operation)
            document["components"]["examples"] = dict(sorted(EXAMPLES.items()))
            describe_fields(parts)
            for shape in parts.values():
                _close_maps(shape)
            put_examples(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _describe_parameters(parameters: list[dict[str, Any]]) -> None:
    for parameter in parameters:
        schema = parameter["schema"]
        # What is left out of an address or a header is not sent as null.
        choices = [choice for choice in schema.pop("anyOf", ()) if choice != {"type": "null"}]
        if len(choices) == 1:
            schema |= choices[0]
        elif choices:
            schema["anyOf"] = choices
        if "description" not in parameter:
            parameter["description"] = PARAMETERS[parameter["name"]]


def _describe_keys(operation: dict[str, Any]) -> None:
    """What comes back to a key that was used for something else, or is in use; messages say it themselves."""
    told = operation["responses"].get("409", {"description": "", "content": {PROBLEM: {"examples": {}}}})
    takes_one = any(parameter["name"].lower() == "idempotency-key" for parameter in operation.get("parameters", ()))
    if takes_one and errors.DuplicateRequest.code not in told["content"][PROBLEM]["examples"]:
        operation["responses"]["409"] = told
        said = _by_status(errors.DuplicateRequest, errors.RequestUnderWay)[409]
        told["description"] = "; ".join(filter(None, (told["description"], said["description"])))
        mine = said["content"][PROBLEM]
        told["content"][PROBLEM] = {**mine, "examples": mine["examples"] | told["content"][PROBLEM]["examples"]}


def _describe_known(operation: dict[str, Any]) -> None:
    """Where there may be nothing new to tell, the header that asks for it."""
    named = {parameter["name"].lower() for parameter in operation.get("parameters", ())}
    if "304" in operation["responses"] and "if-none-match" not in named:
        operation.setdefault("parameters", []).append(
            {
                "name": "If-None-Match",
                "in": "header",
                "required": False,
                "schema": {"type": "string"},
                "description": "ETags that one has already: nothing is sent again where it is still one of them.",
            }
        )


def _close_maps(shape: Any) -> None:
    """A map whose keys have a pattern takes no other keys; the framework leaves that unsaid."""
    if isinstance(shape, dict):
        if "patternProperties" in shape:
            shape["additionalProperties"] = False
        for part in shape.values():
            _close_maps(part)
    elif isinstance(shape, list):
        for part in shape:
            _close_maps(part)


def _by_status(*kinds: type[errors.TurnkeeperError]) -> Responses:
    codes: dict[int, dict[str, type[errors.TurnkeeperError]]] = {}
    for kind in kinds:
        for status, code, _ in told_by(kind):
            codes.setdefault(status, {})[code] = kind
    EXAMPLES.update(
        {code: _example(status, code, kind) for status, found in codes.items() for code, kind in found.items()}
    )
    return {
        status: {
            "description": "; ".join(f"`{code}`: {kind.title}" for code, kind in sorted(found.items())),
            "content": {
                PROBLEM: {
                    "schema": {"$ref": f"{SCHEMAS}Problem"},
                    "examples": {code: {"$ref": f"#/components/examples/{code}"} for code in sorted(found)},
                }
            },
        }
        for status, found in sorted(codes.items())
    }


def _example(status: int, code: str, kind: type[errors.TurnkeeperError]) -> dict[str, Any]:
    value = {
        "type": f"urn:turnkeeper:problem:{code}",
        "title": kind.title,
        "status": status,
        "detail": text_of(kind),
        "code": code,
        "retryable": kind.retryable,
        "request_id": "req_5f0c1e2d3a4b5c6d7e8f9a0b",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
    }
    return {"summary": kind.title, "value": value}


def told_by(kind: type[errors.TurnkeeperError]) -> list[tuple[int, str, str]]:
    """Status, code and title of an error; a run has several ways to end."""
    if kind is errors.RunEnded:
        return [(status, code, kind.title) for code, status, _, _ in errors.ENDS_OF_RUN.values()]
    return [(kind.http_status, kind.code, kind.title)]
