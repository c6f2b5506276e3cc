"""What travels over HTTP. Strangers are believed nothing: every type is strict, and unknown fields are refused."""

from collections.abc import Sequence
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from turnkeeper.errors import EnvelopeInvalid

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}$")]
PackRef = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}(@(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2})?$",
        description="The id of a pack, or `id@version`. A session keeps the one of its first turn.",
    ),
]
PlainText = Annotated[str, Field(pattern=r"^[^\x00]*$")]
Title = Annotated[PlainText, Field(min_length=1, max_length=200)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{64}$")]

Item = TypeVar("Item")


class Inbound(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def one_of(*choices: str | tuple[str, ...]) -> dict[str, Any]:
    """What the schema of a body says of which one field, or group of fields, is given and all others are not."""
    groups = [(choice,) if isinstance(choice, str) else choice for choice in choices]
    return {
        "oneOf": [
            {
                "required": list(group),
                "properties": {
                    name: {"not": {"type": "null"}} if name in group else {"type": "null"}
                    for each in groups
                    for name in each
                },
            }
            for group in groups
        ]
    }


class Choosing(Inbound):
    """What to use: a plugin id for each kind, a model, and how hard to think."""

    plugins: dict[Id, Id] | None = None
    model: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    level: Annotated[int, Field(ge=0, le=3)] | None = None


class Outbound(BaseModel):
    model_config = ConfigDict(frozen=True)


class Page(Outbound, Generic[Item]):
    """Ask for the rest with `?cursor=` and what `next` says; without `next` this is the last page."""

    items: list[Item]
    next: str | None = Field(default=None, exclude_if=lambda cursor: cursor is None)


class CountedPage(Page[Item], Generic[Item]):
    """`total` is how many there are on all pages."""

    total: int


class Health(Outbound):
    status: str
    version: str


class ProblemDetail(Outbound):
    """One fault: `pointer` into the body, the name of a query parameter or header, or a place in a text of units."""

    message: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None
    code: str | None = None
    kind: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    field: str | None = None


class Problem(Outbound):
    """A problem document of RFC 9457. `code` is stable; more members may say more about the one at hand."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    request_id: str
    trace_id: str
    stage: str | None = None
    retry_after_ms: int | None = None
    details: list[ProblemDetail] | None = None


def page_behind(found: Sequence[Item], limit: int, cursors: Sequence[str], cursor: str | None) -> Page[Item]:
    """The same of a list that is there as a whole. Raises EnvelopeInvalid for a cursor that none of them has."""
    if cursor is not None and cursor not in cursors:
        raise EnvelopeInvalid.at("cursor", "is not `next` of a page of this list; leave it out to begin with the first")
    begin = 0 if cursor is None else cursors.index(cursor) + 1
    return page_of(found[begin:], limit, cursors[begin:])


def page_of(found: Sequence[Item], limit: int, cursor: Sequence[str]) -> Page[Item]:
    """A page of at most `limit` of the found items, which are one more than that when there is a next page."""
    has_more = len(found) > limit
    return Page(items=list(found[:limit]), next=cursor[limit - 1] if has_more else None)
