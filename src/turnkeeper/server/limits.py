"""How much of a body is taken in before it is refused."""

from collections.abc import AsyncIterator

from fastapi import Request
from starlette.requests import ClientDisconnect

from turnkeeper.errors import BodyTooLarge, MalformedRequest, MediaTypeNotSupported


async def read_body(request: Request, *, most_bytes: int) -> bytes:
    """The whole body. Raises BodyTooLarge as soon as its announced or its real size is too much."""
    return b"".join([chunk async for chunk in stream_body(request, most_bytes=most_bytes)])


async def stream_body(request: Request, *, most_bytes: int) -> AsyncIterator[bytes]:
    """The body as it comes in. Raises BodyTooLarge as soon as its announced or its real size is too much."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > most_bytes:
        raise BodyTooLarge(most_bytes)
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most_bytes:
                raise BodyTooLarge(most_bytes)
            yield chunk
    except ClientDisconnect:
        raise MalformedRequest("The request broke off.") from None


def require_json(request: Request) -> None:
    """Raises MediaTypeNotSupported unless the body says that it is plain JSON."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = media_type == "application/json" or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )
    if not is_json or request.headers.get("content-encoding", "identity").lower() != "identity":
        raise MediaTypeNotSupported
