"""What every part of a keeper at a distance asks with."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, TypeVar

import httpx2

from turnkeeper.client.pages import Page
from turnkeeper.client.shapes import read
from turnkeeper.client.transport import Ask, Transport, at, new_key
from turnkeeper.errors import ServerUnreachable

T = TypeVar("T")

MOST = 200
"""How many items a server gives at once."""


class Part:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def _ask(self, method: str, *parts: object, **about: Any) -> Any:
        """A POST has a key, so that it is done once; with `key=None` it is one for which the server takes none."""
        if method == "POST":
            about.setdefault("key", new_key())
        return await self._transport.ask(method, at(*parts), **about)

    async def _get(self, kind: type[T], *parts: object, **query: Any) -> T:
        return read(await self._ask("GET", *parts, query=query), kind)

    async def _page(
        self, of: Callable[[Any], T], *parts: object, cursor: str | int | None, limit: int, **query: Any
    ) -> Page[T]:
        """So many items behind a cursor, in the order of the server, who gives `MOST` at a time."""

        async def turn(to: str) -> Page[T]:
            return await self._page(of, *parts, cursor=to, limit=limit, **query)

        items: list[T] = []
        while True:
            asked = {**query, "cursor": cursor, "limit": min(limit - len(items), MOST)}
            told: Mapping[str, Any] = await self._ask("GET", *parts, query=asked)
            items += [of(each) for each in told["items"]]
            cursor = told.get("next")
            if cursor is None or len(items) >= limit:
                return Page(items, told.get("next"), turn, total=told.get("total"))

    async def _all(self, of: Callable[[Any], T], *parts: object) -> list[T]:
        """All of a list that is short enough to be given whole."""
        page = await self._page(of, *parts, cursor=None, limit=MOST)
        return [item async for item in page.every()]

    async def _content(self, *parts: object, **headers: str) -> AsyncGenerator[bytes, None]:
        """Bytes as they come. What breaks in the middle is not taken up again."""
        ask = Ask(method="GET", path=at(*parts), headers=headers)
        async with self._transport.opened(ask) as response:
            try:
                async for piece in response.aiter_bytes():
                    yield piece
            except httpx2.TransportError:
                raise ServerUnreachable(self._transport.url, "the connection was lost") from None


def reading(kind: type[T]) -> Callable[[Any], T]:
    return lambda told: read(told, kind)
