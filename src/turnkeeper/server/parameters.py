"""Query parameters and headers that mean the same on every route."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Header, Query, Request, Response
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from turnkeeper.server.errors import invalid_header
from turnkeeper.server.wire import Id

LARGEST_NO = 2**53

Limit = Annotated[int, Query(ge=1, le=200, description="How many items at most.")]
IdCursor = Annotated[Id | None, Query(description="`next` of the page before.")]
NoCursor = Annotated[int | None, Query(ge=0, le=LARGEST_NO, description="`next` of the page before.")]

_ETag = Annotated[str, WithJsonSchema({"type": "string", "pattern": r'^(\*|(W/)?"[0-9]{1,15}"|[0-9]{1,15})$'})]
IfMatch = Annotated[_ETag | None, Header(description="Do it only while what is there has this ETag.")]

KEY = "^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}$"
_Key = Annotated[str, WithJsonSchema({"type": "string", "pattern": KEY})]
IdempotencyKey = Annotated[
    _Key | None,
    Header(
        description="The same request under the same key is done once and answered alike, however often it is sent; "
        "another one under it is refused with `duplicate_request`. Kept for seven days."
    ),
]


def _written(value: Any) -> Any:
    """A number would be taken for seconds since 1970; a moment is written out."""
    if isinstance(value, str) and "T" not in value.upper():
        raise ValueError("is a moment such as 2026-11-16T09:30:00Z")
    return value


def _aware(moment: datetime) -> datetime:
    """A moment without a zone is taken as UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, BeforeValidator(_written), AfterValidator(_aware)]


def version_of(if_match: str | None) -> int | None:
    """The version that an If-Match asks for; None for any."""
    if if_match is None or if_match.strip() == "*":
        return None
    digits = if_match.strip().removeprefix("W/").strip('"')
    if not digits.isascii() or not digits.isdigit() or len(digits) > 16:
        raise invalid_header("If-Match", "is an ETag of this resource, a number in quotes")
    return int(digits)


NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "If-None-Match names its ETag."}}
"""Beside a route whose ETag changes with everything that it tells."""


def unless_known(request: Request, answer: Response) -> Response:
    """This answer, or none of it where the caller says that it has it already."""
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    etag = answer.headers.get("etag")
    if answer.status_code != 200 or etag is None or not known & {"*", etag}:
        return answer
    return Response(status_code=304, headers={"ETag": etag})


def etag_of(version: int) -> str:
    return f'"{version}"'
