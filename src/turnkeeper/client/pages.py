"""One page of a list, which knows how to go on to its end."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

Item = TypeVar("Item")


class Page(Sequence[Item], Generic[Item]):
    """The items of one page, as a sequence. `next` is where the page behind it begins; None on the last one.

    `total` is how many there are on all pages, where the server counts them.
    """

    def __init__(
        self,
        items: Sequence[Item],
        next: str | None,
        turn: Callable[[str], Awaitable["Page[Item]"]],
        *,
        total: int | None = None,
    ) -> None:
        self._items, self._turn = tuple(items), turn
        self.next, self.total = next, total

    async def every(self) -> AsyncIterator[Item]:
        """Each item from here to the end of the list, in its order; a page is asked for when it is needed."""
        page = self
        while True:
            for item in page:
                yield item
            if page.next is None:
                return
            page = await page._turn(page.next)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        return self._items[place]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return f"Page({list(self._items)!r}, next={self.next!r})"
