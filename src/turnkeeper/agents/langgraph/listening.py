"""What happens inside a graph while it runs: its words in order, and its tool calls each by its own id."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langgraph.errors import GraphBubbleUp

from turnkeeper.agents.langgraph.tools import IS_OURS

_END = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    call_id: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """`status` is ok, failed, or waits when the tool asked something."""

    call_id: str
    tool: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEnded:
    """A node of the graph has done its part."""

    node: str


Heard = str | ToolStarted | ToolFinished | NodeEnded


class ToolListener(BaseCallbackHandler):
    """Is told of every tool call, in whatever thread it happens. Calls of our own tools tell of themselves."""

    run_inline = True

    def __init__(self, heard: "asyncio.Queue[Any]") -> None:
        self._heard, self._loop = heard, asyncio.get_running_loop()
        self._calls: dict[UUID, tuple[str, str]] = {}

    def on_tool_start(
        self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, tags: list[str] | None = None, **more: Any
    ) -> None:
        if IS_OURS in (tags or ()):
            return
        name = str(more.get("name") or (serialized or {}).get("name") or "tool")
        self._calls[run_id] = (str(more.get("tool_call_id") or run_id), name)
        call_id, tool = self._calls[run_id]
        self._put(ToolStarted(call_id=call_id, tool=tool))

    def on_tool_end(self, output: Any, *, run_id: UUID, **more: Any) -> None:
        self._finish(run_id, "failed" if getattr(output, "status", None) == "error" else "ok")

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        self._finish(run_id, "waits" if isinstance(error, GraphBubbleUp) else "failed")

    def _finish(self, run_id: UUID, status: str) -> None:
        if (call := self._calls.pop(run_id, None)) is not None:
            self._put(ToolFinished(call_id=call[0], tool=call[1], status=status))

    def _put(self, heard: Heard) -> None:
        self._loop.call_soon_threadsafe(self._heard.put_nowait, heard)


@dataclass(slots=True)
class Voices:
    """Words of messages that are spoken at once are not mixed: one has the floor, the others wait for its end."""

    speaks: Collection[str] | None = None
    _floor: str | None = None
    _waiting: dict[str, list[str]] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)
    _has_spoken: bool = False
    _last: str | None = None

    def say(self, message: BaseMessage, about: Mapping[str, Any]) -> str:
        """What may be shown now that this piece has come."""
        if not isinstance(message, AIMessage):
            return ""
        if self.speaks is not None and about.get("langgraph_node") not in self.speaks:
            return ""
        name = message.id or ""
        self._waiting.setdefault(name, []).append(str(message.text))
        if not isinstance(message, AIMessageChunk) or message.chunk_position == "last":
            self._ended.add(name)
        if self._floor is None:
            self._floor = name
        return self._shown()

    def rest(self) -> str:
        """What is left when nothing more comes."""
        self._ended.update(self._waiting)
        return self._shown()

    def _shown(self) -> str:
        shown = ""
        while self._floor is not None:
            text = "".join(self._waiting.get(self._floor, ()))
            if text:
                between = "\n\n" if self._has_spoken and self._last != self._floor else ""
                shown += between + text
                self._has_spoken, self._last = True, self._floor
            if self._floor not in self._ended:
                self._waiting[self._floor] = []
                return shown
            self._waiting.pop(self._floor, None)
            self._floor = next(iter(self._waiting), None)
        return shown


async def listen(
    graph: Any, given: Any, config: Mapping[str, Any], *, speaks: Collection[str] | None, **how: Any
) -> AsyncGenerator[Heard, None]:
    """Run a graph and tell what is heard of it. What it raises is raised here; closing this stops it."""
    heard: asyncio.Queue[Any] = asyncio.Queue()
    callbacks = [*config.get("callbacks", ()), ToolListener(heard)]

    async def run() -> None:
        try:
            modes = ["messages", "updates"]
            async for _, mode, piece in graph.astream(
                given, {**config, "callbacks": callbacks}, stream_mode=modes, subgraphs=True, **how
            ):
                if mode == "messages":
                    heard.put_nowait(piece)
                    continue
                for node in piece:
                    heard.put_nowait(NodeEnded(node=node))
        finally:
            # Behind whatever a thread has still to say.
            asyncio.get_running_loop().call_soon(heard.put_nowait, _END)

    running, voices = asyncio.create_task(run(), name="turnkeeper-graph"), Voices(speaks)
    try:
        while (piece := await heard.get()) is not _END:
            if isinstance(piece, ToolStarted | ToolFinished | NodeEnded):
                yield piece
            elif text := voices.say(*piece):
                yield text
        await running
        if text := voices.rest():
            yield text
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await running
