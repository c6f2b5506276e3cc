"""What an operator does to a whole database, from Python as from the terminal; no Turnkeeper has to be open."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from turnkeeper.errors import MoveRefused, TurnkeeperError
from turnkeeper.ports.tables import Survey, Tables
from turnkeeper.upkeep import moving
from turnkeeper.upkeep.moving import Copied, Moved, Watching
from turnkeeper.wiring import copy_graphs, open_tables

__all__ = ["Moved", "Survey", "Watching", "clock_difference", "move", "reopen", "survey", "upgrade", "vacuum"]

GRACE_SECONDS = 30.0


async def survey(database: str) -> Survey:
    """What can be said of it at a glance; changes nothing."""
    async with _opened(database) as tables:
        return await tables.survey()


async def clock_difference(database: str) -> float:
    """How many seconds the clock of the database is ahead of ours; half of the way there and back is allowed for."""
    async with _opened(database) as tables:
        asked = time.time_ns() // 1000
        told = await tables.clock()
        heard = time.time_ns() // 1000
    return (told - (asked + heard) / 2) / 1_000_000


async def upgrade(database: str) -> Sequence[str]:
    """Bring it up to date, and name the migrations that were applied. Safe to repeat."""
    async with _opened(database) as tables:
        return await tables.upgrade()


async def vacuum(database: str) -> tuple[int, int]:
    """Give back the room of what was deleted; the size before and after, in bytes."""
    async with _opened(database) as tables:
        return await tables.vacuum()


async def move(
    source: str, target: str, *, grace_seconds: float = GRACE_SECONDS, watching: Watching | None = None
) -> Moved:
    """Move everything from one database into an empty one, while nodes on the source go on reading.

    Raises MoveRefused; then the source is as it was, and the target is one that no node opens. Only what breaks while
    the target is declared usable leaves the source closed, for `reopen` to find out.
    """
    if _is_same(source, target):
        raise MoveRefused("The two are the same database.")
    watching = _nobody if watching is None else watching
    async with _opened(source) as here, _opened(target) as there:

        async def beside() -> Sequence[Copied]:
            if not await here.has_graphs():
                return ()
            return await copy_graphs(source, target, lambda done: watching("copying the memory of graphs", done, 0))

        return await moving.move(here, there, grace_seconds=grace_seconds, watching=watching, beside=beside)


async def reopen(database: str, *, although_moved: bool = False) -> None:
    """Let writes in again after a move that did not come to its end. Raises MoveRefused.

    One that was moved opens again when the target turns out not to be usable, or with `although_moved`.
    """
    async with _opened(database) as tables:
        await moving.reopen(tables, although_moved=although_moved, has_arrived=_has_arrived)


async def _has_arrived(place: str) -> bool | None:
    try:
        async with _opened(place) as target:
            return await moving.is_usable(target)
    except TurnkeeperError:
        return None


@asynccontextmanager
async def _opened(database: str) -> AsyncIterator[Tables]:
    tables = open_tables(database)
    await tables.open()
    try:
        yield tables
    finally:
        await tables.close()


def _is_same(source: str, target: str) -> bool:
    if "://" in source.removeprefix("sqlite:///") or "://" in target.removeprefix("sqlite:///"):
        return source == target
    return Path(source.removeprefix("sqlite:///")).resolve() == Path(target.removeprefix("sqlite:///")).resolve()


def _nobody(step: str, done: int, total: int) -> None: ...
