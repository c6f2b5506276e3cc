"""Moving everything from one database into another, with proof that it arrived.

First newcomers are refused and what is under way may finish; then nobody writes any more, and all tables are copied as
they were at that moment, read again, and compared. Only then is the target a database that a node opens. The source
stays closed for good: there must never be two that both go on. Until the target is declared usable, whatever goes
wrong opens the source again.
"""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec

from turnkeeper.errors import MoveRefused, StoreUnavailable
from turnkeeper.ports.tables import Door, Rows, Shape, Tables

LOOK_AGAIN_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """One table on both sides. Two digests are equal when the same rows stand in the same order of keys."""

    table: str
    rows: int
    digest: str
    rows_there: int = -1
    digest_there: str = ""

    @property
    def is_equal(self) -> bool:
        return (self.rows, self.digest) == (self.rows_there, self.digest_there)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    source: str
    target: str
    tables: Sequence[Copied]
    left_open: int
    in_files: int
    """How many contents lie in files, which stay where they are."""

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.tables)

    @property
    def digest(self) -> str:
        """One for all: over the tables by name, and how many rows each has."""
        told = sorted((each.table, each.rows, each.digest_there) for each in self.tables)
        return hashlib.sha256(msgspec.json.encode(told)).hexdigest()


class Watching(Protocol):
    """Hears how far a step is: `closing`, `waiting` for runs to finish, `copying`, `comparing`."""

    def __call__(self, step: str, done: int, total: int, /) -> None: ...


CopyBeside = Callable[[], Awaitable[Sequence[Copied]]]


async def move(
    source: Tables, target: Tables, *, grace_seconds: float, watching: Watching, beside: CopyBeside
) -> Moved:
    """`beside` copies what lies outside of the tables, and proves it alike. Raises MoveRefused."""
    await _refuse_unready(source)
    async with source.alone(), target.alone():
        await _refuse_unready(source)
        await target.prepare()
        try:
            left_open = await _close(source, grace_seconds, watching)
            in_files = await source.contents_in_files()
            tables = [*await _copied(source, target, watching), *await beside()]
            _refuse_unequal(tables)
            await source.set_door(Door.MOVED, to=target.place)
        except BaseException:
            await asyncio.shield(_open_again(source))
            raise
        # From here on the source stays closed, even when nobody can say whether this was heard.
        await _declare_usable(target, source.place)
    return Moved(source=source.place, target=target.place, tables=tables, left_open=left_open, in_files=in_files)


async def _declare_usable(target: Tables, source: str) -> None:
    try:
        await target.declare_usable()
    except Exception as error:
        # Whatever it was, both are closed now.
        why = error.detail if isinstance(error, StoreUnavailable) else f"{error}."
        raise MoveRefused(
            f"All of it was copied to {target.place}, which then could not be declared usable: {why} "
            "Nobody may write to either of the two. Once it can be reached, run `turnkeeper db reopen` for "
            f"{source}: it opens that again, unless the other one is usable after all."
        ) from error


async def is_usable(target: Tables) -> bool | None:
    """Whether what was moved there has arrived to its end; None when there is nothing to be seen."""
    survey = await target.survey()
    if not survey.is_made or survey.door is not Door.FILLING:
        return survey.is_made or None
    async with target.alone():  # No mover is about to declare it.
        return (await target.survey()).door is not Door.FILLING


async def reopen(source: Tables, *, although_moved: bool, has_arrived: Callable[[str], Awaitable[bool | None]]) -> None:
    """Let writes in again after a move that did not come to its end. Raises MoveRefused.

    `has_arrived` says whether the place it was moved to is usable, None when that cannot be looked at.
    """
    async with source.alone():
        survey = await source.survey()
        if survey.door is Door.FILLING:
            raise MoveRefused(
                f"{source.place} was never filled to its end. Reopen the database it was to be filled from."
            )
        if survey.door is Door.MOVED and not although_moved:
            _refuse_two(source.place, str(survey.moved_to), await has_arrived(str(survey.moved_to)))
        await source.set_door(Door.OPEN)


def _refuse_two(source: str, target: str, has_arrived: bool | None) -> None:
    """There must never be two that both go on."""
    if has_arrived:
        raise MoveRefused(
            f"{source} was moved to {target}, and conversations go on there. "
            "Opened again, the two go separate ways; say so with --yes (`although_moved` in Python)."
        )
    if has_arrived is None:
        raise MoveRefused(
            f"{source} was moved to {target}, which cannot be looked at from here: nobody knows whether conversations "
            "go on there. If they do and this is opened again, the two go separate ways. See what `turnkeeper db "
            "status` says of it; if it was never filled to its end, say --yes (`although_moved` in Python)."
        )


async def _refuse_unready(source: Tables) -> None:
    survey = await source.survey()
    if not survey.is_made:
        raise MoveRefused(f"There is no database of a turnkeeper at {source.place}.")
    if survey.door in (Door.MOVED, Door.FILLING):
        went = f"was moved to {survey.moved_to}" if survey.door is Door.MOVED else "was never filled to its end"
        raise MoveRefused(f"{source.place} {went}.")
    if survey.pending:
        raise MoveRefused(f"{source.place} is not up to date. Run `turnkeeper db upgrade` first.")


async def _close(source: Tables, grace_seconds: float, watching: Watching) -> int:
    """Refuse newcomers, wait for what is under way, then refuse everybody; says how many runs were left open."""
    watching("closing", 0, 0)
    await source.set_door(Door.NO_INTAKE)
    at_first = left = await source.open_runs()
    until = time.monotonic() + grace_seconds
    while left and time.monotonic() < until:
        watching("waiting", at_first - left, at_first)
        await asyncio.sleep(LOOK_AGAIN_SECONDS)
        left = await source.open_runs()
    await source.set_door(Door.CLOSED)
    return await source.open_runs()


async def _copied(source: Tables, target: Tables, watching: Watching) -> list[Copied]:
    # By name, so that the digests of two moves can be compared.
    shapes = [replace(shape, columns=tuple(sorted(shape.columns))) for shape in await source.shapes()]
    _refuse_other_shapes(shapes, await target.shapes())
    async with source.snapshot():
        total = sum([await source.count(shape) for shape in shapes])
        sent = await _read(source, shapes, lambda done: watching("copying", done, total), into=target)
    async with target.snapshot():
        arrived = await _read(target, shapes, lambda done: watching("comparing", done, total))
    return [
        Copied(
            table=shape.table,
            rows=sent[shape].rows,
            digest=sent[shape].digest,
            rows_there=arrived[shape].rows,
            digest_there=arrived[shape].digest,
        )
        for shape in shapes
    ]


async def _read(
    tables: Tables, shapes: Sequence[Shape], told: Callable[[int], None], *, into: Tables | None = None
) -> dict[Shape, "_Proof"]:
    """What each table holds, put into another on the way if there is one."""
    found, done = {shape: _Proof() for shape in shapes}, 0
    for shape, proof in found.items():
        async with aclosing(tables.rows(shape)) as batches:
            async for rows in batches:
                if into is not None:
                    await into.put(shape, rows)
                proof.add(rows)
                done += len(rows)
                told(done)
    return found


class _Proof:
    """Counts rows and hashes them as they come by. Values are alike in every store: numbers, texts, bytes, nothing."""

    def __init__(self) -> None:
        self.rows = 0
        self._hash = hashlib.sha256()

    def add(self, rows: Rows) -> None:
        self.rows += len(rows)
        for row in rows:
            self._hash.update(msgspec.msgpack.encode(row))

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def _refuse_other_shapes(source: Sequence[Shape], target: Sequence[Shape]) -> None:
    here, there = ({each.table: frozenset(each.columns) for each in shapes} for shapes in (source, target))
    odd = sorted(table for table in here.keys() | there.keys() if here.get(table) != there.get(table))
    if odd:
        raise MoveRefused(f"The two databases do not have the same tables; they differ in {', '.join(odd)}.")


def _refuse_unequal(tables: Sequence[Copied]) -> None:
    if other := [each.table for each in tables if not each.is_equal]:
        raise MoveRefused(f"What arrived is not what was sent; it differs in {', '.join(other)}. Nothing was moved.")


async def _open_again(source: Tables) -> None:
    try:
        await source.set_door(Door.OPEN)
    except StoreUnavailable as error:
        raise MoveRefused(
            f"{source.place} is still closed and could not be opened again: {error.detail} "
            "Run `turnkeeper db reopen` once it can be reached."
        ) from error
