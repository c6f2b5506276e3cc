"""How much of a body is taken in before it is refused."""

from fastapi import Request

from turnkeeper.errors import BodyTooLarge, MediaTypeNotSupported


async def read_body(request: Request, *, most_bytes: int) -> bytes:
    """The whole body. Raises BodyTooLarge as soon as its announced or its real size is too much."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > most_bytes:
        raise BodyTooLarge(most_bytes)
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most_bytes:
            raise BodyTooLarge(most_bytes)
        chunks.append(chunk)
    return b"".join(chunks)


def require_json(request: Request) -> None:
    """Raises MediaTypeNotSupported unless the body says that it is plain JSON."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = media_type == "application/json" or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )
    if not is_json or request.headers.get("content-encoding", "identity").lower() != "identity":
        raise MediaTypeNotSupported
