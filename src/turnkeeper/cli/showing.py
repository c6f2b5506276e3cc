"""The one way to show what a server tells: lines for people, and JSON for programs."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import put_out
from turnkeeper.cli.tables import facts, table, terminal_columns
from turnkeeper.cli.talk import HttpTalk, Told

PAGE = 100
NOTHING_FITS = "Nothing fits. Leave out a flag to see more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list of a server: where it is, what a line has of an item, and what to say when there is none."""

    path: str
    row: Callable[[Told], Sequence[str]]
    none: str
    query: Mapping[str, Any] | None = None
    limit: int | None = None
    nothing_fits: str = NOTHING_FITS

    def items(self, talk: HttpTalk) -> Iterator[Told]:
        """From as many pages as it takes."""
        left, cursor = self.limit, None
        while left is None or left > 0:
            page: Any = talk.asked("GET", self._page(cursor, left))
            # The channels are the one list that is no page.
            items = page["items"] if isinstance(page, Mapping) else page
            yield from items
            cursor = page.get("next") if isinstance(page, Mapping) else None
            if cursor is None:
                return
            left = None if left is None else left - len(items)

    @property
    def said_when_empty(self) -> str:
        return self.nothing_fits if any(value is not None for value in (self.query or {}).values()) else self.none

    def _page(self, cursor: str | None, left: int | None) -> str:
        size = PAGE if left is None else min(PAGE, left)
        asked = {**(self.query or {}), "limit": size, "cursor": cursor}
        return f"{self.path}?{urlencode({name: value for name, value in asked.items() if value is not None})}"


def show_list(listing: Listing, *, as_json: bool, url: str | None, token: str | None) -> int:
    def show(talk: HttpTalk) -> int:
        found = list(listing.items(talk))
        if as_json:
            put_json(found)
        else:
            put_rows([listing.row(each) for each in found], none=listing.said_when_empty)
        return 0

    return with_server(url, token, show)


def show_one(
    read: Callable[[HttpTalk], Told],
    lines: Callable[[Told], str],
    *,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> int:
    def show(talk: HttpTalk) -> int:
        told = read(talk)
        put_json(told) if as_json else put_out(lines(told))
        return 0

    return with_server(url, token, show)


def put_json(value: Any) -> None:
    put_out(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def put_rows(rows: Sequence[Sequence[str]], *, none: str) -> None:
    put_out(table(rows or [[none]], terminal_columns()))


def shown_rows(rows: Sequence[Sequence[str]]) -> str:
    return table(rows, terminal_columns())


def shown_facts(named: Mapping[str, object] | Sequence[tuple[str, object]]) -> str:
    return facts(named, terminal_columns())


def named(*parts: str) -> str:
    """The path of something, by its kinds and ids."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)
