"""A whole database as its operator sees it: tables that are counted, brought up to date, closed, and copied.

Nobody needs a Turnkeeper for that, and nothing here speaks of sessions.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

Rows = Sequence[tuple[Any, ...]]


class Door(StrEnum):
    """Who may write. What is there can always be read, but from a database that is still being filled."""

    OPEN = "open"
    NO_INTAKE = "no_intake"
    CLOSED = "closed"
    MOVED = "moved"
    FILLING = "filling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A table as every store has it. Rows have an order by its key, which is the same in every store."""

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What can be said of a database at a glance. Tables are counted up to `COUNTED` rows."""

    COUNTED = 100_000

    kind: str
    place: str
    size_bytes: int
    is_made: bool
    level: int = 0
    min_code: int = 0
    pending: tuple[str, ...] = ()
    door: Door = Door.OPEN
    moved_to: str | None = None
    tables: Mapping[str, int]
    living_nodes: int = 0
    open_runs: int = 0


class Tables(Protocol):
    """Raises StoreUnavailable when the database cannot be reached."""

    @property
    def place(self) -> str:
        """Where it is, as it may be shown: without a password."""

    async def open(self) -> None:
        """Connect. Makes and changes nothing."""

    async def close(self) -> None: ...

    async def survey(self) -> Survey: ...

    async def upgrade(self) -> Sequence[str]:
        """Bring the schema up to date under its lock, and name what was applied; a new database is made."""

    async def clock(self) -> int:
        """The clock by which leases go, in microseconds since 1970."""

    async def vacuum(self) -> tuple[int, int]:
        """Give back the room of what was deleted: the size before and after, in bytes."""

    # --- what moving asks for

    def alone(self) -> AbstractAsyncContextManager[None]:
        """As the only mover of this database. Raises MoveRefused."""

    async def set_door(self, door: Door, *, to: str | None = None) -> None:
        """From the end of this on nobody writes who may not; who wrote before is in what can be read."""

    async def open_runs(self) -> int:
        """How many runs wait in line or run."""

    async def has_graphs(self) -> bool:
        """Whether graphs remember anything beside it."""

    async def contents_in_files(self) -> int:
        """How many contents it knows whose bytes lie in files."""

    async def shapes(self) -> Sequence[Shape]:
        """Every table that is copied. What a store has for itself, such as its search, is made anew instead."""

    def snapshot(self) -> AbstractAsyncContextManager[None]:
        """What is read inside is of one moment."""

    async def count(self, shape: Shape) -> int: ...

    def rows(self, shape: Shape) -> AsyncGenerator[Rows, None]:
        """All rows by key, in batches of bounded size. Close it when you leave it in the middle."""

    async def prepare(self) -> None:
        """Make the tables of an empty database, which no node opens until `declare_usable`.

        What a move left half filled counts as empty. Raises MoveRefused when there is anything else.
        """

    async def put(self, shape: Shape, rows: Rows) -> None:
        """Raises MoveRefused when this store cannot keep one of them."""

    async def declare_usable(self) -> None:
        """All is there, and was compared."""
