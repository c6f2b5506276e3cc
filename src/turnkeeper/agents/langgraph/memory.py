"""What graphs remember between turns. A run works on a desk of its own; only what its end names is put away.

So a run that fails, is superseded or has lost its lease leaves nothing behind, and nothing of another run is ever on
its desk. What was put away becomes the session's when our commit names it; if that never comes, it is out of reach,
and pruned.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver

from turnkeeper.agents.langgraph.savers import PostgresGraphSaver, Saver, SqliteGraphSaver, reaching_it
from turnkeeper.errors import AgentMemoryLost
from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.model.thread import ThreadHead, ThreadName, threads_prefix
from turnkeeper.ports.threads import ThreadSummary

POOL_SIZE = 4
_DELTAS = "counters_since_delta_snapshot"
_UUID_EPOCH = datetime(1582, 10, 15, tzinfo=UTC)


class GraphMemory:
    """Opened when it is first needed."""

    def __init__(self, database: str, *, synchronous: str) -> None:
        self._database, self._synchronous = database, synchronous
        self._saver: Saver | None = None
        self._opening = asyncio.Lock()

    @property
    def is_used(self) -> bool:
        return self._saver is not None or self._is_postgres or self._path.exists()

    async def desk(self, head: ThreadHead | None, *, instead: Mapping[str, Any] | None = None) -> InMemorySaver:
        """Where a run works: what it begins from, and nothing else. Raises AgentMemoryLost.

        `instead` are values that take the place of those that were remembered, wherever there are some.
        """
        desk = InMemorySaver()
        if head is None:
            return desk
        async with reaching_it():
            kept = (await self._opened()).checkpoints
            for ns, checkpoint_id in head.places.items():
                if not await _carry(kept, desk, head.thread, head.thread, ns, checkpoint_id, instead=instead or {}):
                    raise AgentMemoryLost
        return desk

    async def put_away(
        self, desk: InMemorySaver, thread: str, start: ThreadHead | None, *, waits: bool
    ) -> dict[str, str]:
        """Make the end of a run durable, and say where it is: a checkpoint for each part of the graph.

        Of a run that waits every part is kept; of one that is over, only those that remember something.
        """
        places = dict(start.parts) if start and not waits else {}
        for ns, known in desk.storage[thread].items():
            if known and (waits or ":" not in ns):
                places[ns] = max(known)
        known_before = start.places if start else {}
        async with reaching_it():
            kept = (await self._opened()).checkpoints
            for ns, checkpoint_id in places.items():
                before = known_before.get(ns)
                if checkpoint_id != before or waits:
                    await _carry(desk, kept, thread, thread, ns, checkpoint_id, parent=before)
        return {ns: checkpoint_id for ns, checkpoint_id in places.items() if waits or ":" not in ns}

    async def threads_of(self, tenant: TenantId, session_id: SessionId) -> Sequence[str]:
        if not self.is_used:
            return []
        prefix = threads_prefix(tenant, session_id)
        found: list[str] = []
        # The character after a colon.
        until, after = f"{prefix[:-1]};", prefix
        async with reaching_it():
            saver = await self._opened()
            while page := await saver.next_threads(after, until, 100):
                found += page
                after = page[-1]
        return found

    async def after(self, thread: str, *, limit: int) -> Sequence[str]:
        if not self.is_used:
            return []
        async with reaching_it():
            return await (await self._opened()).next_threads(thread, None, limit)

    async def summary(self, head: ThreadHead) -> ThreadSummary:
        async with reaching_it():
            saver = await self._opened()
            places = await saver.places(head.thread)
            found = await saver.checkpoints.aget_tuple(_config(head.thread, "", head.checkpoint))
        messages = found.checkpoint["channel_values"].get("messages", []) if found else []
        return ThreadSummary(messages=len(messages) if isinstance(messages, list) else 0, checkpoints=len(places))

    async def forget_thread(self, thread: str) -> int:
        async with reaching_it():
            saver = await self._opened()
            places = await saver.places(thread)
            await saver.checkpoints.adelete_thread(thread)
        return len(places)

    async def told(self, thread: str) -> AsyncIterator[Mapping[str, Any]]:
        async with reaching_it():
            saver = await self._opened()
            for ns, checkpoint_id in sorted(await saver.places(thread)):
                found = await saver.checkpoints.aget_tuple(_config(thread, ns, checkpoint_id))
                if found is not None:
                    yield {
                        "thread": thread,
                        "part": ns,
                        "checkpoint": checkpoint_id,
                        "values": plainly(found.checkpoint["channel_values"]),
                        "metadata": plainly(found.metadata),
                        "pending": [[channel, plainly(value)] for _, channel, value in found.pending_writes or ()],
                    }

    async def scrub(self) -> bool:
        if not self.is_used:
            return True
        async with reaching_it():
            return await (await self._opened()).scrub()

    async def prune(self, thread: str, *, keep: Collection[Mapping[str, str]], before: datetime) -> int:
        kept = {place for places in keep for place in places.items()}
        async with reaching_it():
            saver = await self._opened()
            lost = [place for place in await saver.places(thread) if place not in kept and _made_at(place[1]) < before]
            if lost:
                needed = await _ancestors(saver.checkpoints, thread, kept)
                lost = [place for place in lost if place not in needed]
                await saver.drop(thread, lost)
        return len(lost)

    async def copy(self, head: ThreadHead, to: ThreadName) -> ThreadHead:
        async with reaching_it():
            kept = (await self._opened()).checkpoints
            for ns, checkpoint_id in head.places.items():
                if not await _carry(kept, kept, head.thread, str(to), ns, checkpoint_id):
                    raise AgentMemoryLost
        return ThreadHead(
            agent=head.agent,
            thread=str(to),
            checkpoint=head.checkpoint,
            turn=head.turn,
            heard=head.heard,
            parts=head.parts,
        )

    async def copy_thread(self, thread: str, to: "GraphMemory") -> int:
        """All of a thread as it is, into the memory of another database; says how many checkpoints that were."""
        async with reaching_it():
            saver, target = await self._opened(), (await to._opened()).checkpoints
            places = sorted(await saver.places(thread))
            for ns, checkpoint_id in places:
                found = await saver.checkpoints.aget_tuple(_config(thread, ns, checkpoint_id))
                if found is not None:
                    above = found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None
                    await _put(target, found, thread, ns, above, {})
        return len(places)

    async def close(self) -> None:
        async with self._opening:
            if self._saver is not None:
                await self._saver.close()
                self._saver = None

    @property
    def _is_postgres(self) -> bool:
        return self._database.startswith(("postgresql://", "postgres://"))

    @property
    def _path(self) -> Path:
        path = Path(self._database.removeprefix("sqlite:///"))
        return path.with_name(f"{path.name}.graphs")

    async def _opened(self) -> Saver:
        async with self._opening:
            if self._saver is None:
                self._saver = await self._open()
            return self._saver

    async def _open(self) -> Saver:
        if self._is_postgres:
            return await PostgresGraphSaver.open(self._database, pool_size=POOL_SIZE)
        return await SqliteGraphSaver.open(self._path, synchronous=self._synchronous)


def plainly(value: Any) -> Any:
    """As JSON can hold it: objects by their own dump where they have one, else as they call themselves."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): plainly(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plainly(each) for each in value]
    dump = getattr(value, "model_dump", None)
    return plainly(dump(mode="json")) if callable(dump) else str(value)


async def _carry(
    source: BaseCheckpointSaver[Any],
    target: BaseCheckpointSaver[Any],
    thread: str,
    to: str,
    ns: str,
    checkpoint_id: str,
    *,
    parent: str | None = None,
    instead: Mapping[str, Any] = MappingProxyType({}),
) -> bool:
    """Copy a checkpoint with what is pending on it, right behind its `parent`. Says whether it was there.

    One that holds only what is new since its ancestors needs them as well.
    """
    found = await source.aget_tuple(_config(thread, ns, checkpoint_id))
    if found is None:
        return False
    walk, needs_ancestors = [found], _DELTAS in found.metadata
    while needs_ancestors and (before := walk[-1].parent_config) and before["configurable"]["checkpoint_id"] != parent:
        older = await source.aget_tuple(before)
        if older is None:
            break
        walk.append(older)
    for each in reversed(walk):
        own = each.parent_config["configurable"]["checkpoint_id"] if each.parent_config else None
        above = own if needs_ancestors else parent
        await _put(target, each, to, ns, above, instead)
    return True


async def _ancestors(
    source: BaseCheckpointSaver[Any], thread: str, places: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """What these checkpoints cannot be read without: all before one that holds only what is new since them."""
    needed: set[tuple[str, str]] = set()
    for ns, checkpoint_id in places:
        found = await source.aget_tuple(_config(thread, ns, checkpoint_id))
        if found is None or _DELTAS not in found.metadata:
            continue
        while found is not None and (before := found.parent_config) is not None:
            place = (ns, before["configurable"]["checkpoint_id"])
            if place in needed:
                break
            needed.add(place)
            found = await source.aget_tuple(before)
    return needed


async def _put(
    target: BaseCheckpointSaver[Any],
    found: CheckpointTuple,
    thread: str,
    ns: str,
    parent: str | None,
    instead: Mapping[str, Any],
) -> None:
    checkpoint = found.checkpoint
    values = checkpoint["channel_values"]
    checkpoint["channel_values"] = values | {name: value for name, value in instead.items() if name in values}
    put = await target.aput(
        _config(thread, ns, parent), checkpoint, found.metadata, dict(checkpoint["channel_versions"])
    )
    pending: dict[str, list[tuple[str, Any]]] = {}
    for task_id, channel, value in found.pending_writes or ():
        pending.setdefault(task_id, []).append((channel, value))
    for task_id, writes in pending.items():
        await target.aput_writes(put, writes, task_id)


def _config(thread: str, ns: str, checkpoint_id: str | None) -> RunnableConfig:
    place = {"thread_id": thread, "checkpoint_ns": ns}
    return {"configurable": place if checkpoint_id is None else place | {"checkpoint_id": checkpoint_id}}


def _made_at(checkpoint_id: str) -> datetime:
    """When a checkpoint was made: its id is a UUID (version 6) that begins with the time."""
    number = UUID(checkpoint_id).int
    ticks = (number >> 80) << 12 | (number >> 64) & 0xFFF
    return _UUID_EPOCH + timedelta(microseconds=ticks // 10)
