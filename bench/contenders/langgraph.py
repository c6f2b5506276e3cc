"""LangGraph with its checkpoint savers: a graph of one node that answers and counts."""

import contextlib
import sqlite3
import uuid
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, TypedDict

from bench.contenders.contender import BlockingContender, Contender, Said
from bench.work import WINDOW, Place, answer_to, state_after

_ROLES = {"human": "user", "ai": "assistant"}


def _graph(saver: Any) -> Any:
    """Compiled with the saver. Imported here: the library takes seconds and is not always installed."""
    graph = import_module("langgraph.graph")
    messages = import_module("langchain_core.messages")

    class Conversation(TypedDict):
        messages: Annotated[list[Any], graph.message.add_messages]
        counter: int
        notes: str

    def answer(state: dict[str, Any]) -> dict[str, Any]:
        said = messages.AIMessage(answer_to(state["messages"][-1].content))
        return {"messages": [said], **state_after(state.get("counter", 0))}

    builder = graph.StateGraph(Conversation)
    builder.add_node("answer", answer)
    builder.add_edge(graph.START, "answer")
    builder.add_edge("answer", graph.END)
    return builder.compile(checkpointer=saver)


def _thread(session: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": session}}


def _asked(said: str) -> dict[str, Any]:
    return {"messages": [import_module("langchain_core.messages").HumanMessage(said)]}


def _said(values: dict[str, Any]) -> list[Said]:
    return [(_ROLES[message.type], message.content) for message in values.get("messages", [])]


def _load() -> None:
    for module in ("langgraph.graph", "langchain_core.messages", "sqlite.aio", "postgres.aio", "psycopg.rows"):
        with contextlib.suppress(ModuleNotFoundError):
            import_module(f"langgraph.checkpoint.{module}" if module.endswith(".aio") else module)


class _LangGraph(BlockingContender):
    _compiled: Any

    def load(self) -> None:
        _load()

    async def create(self) -> str:
        """A session begins to exist with a first state."""
        session = uuid.uuid4().hex
        self._compiled.update_state(_thread(session), {"counter": 0})
        return session

    def turn_now(self, session: str, said: str) -> None:
        self._compiled.invoke(_asked(said), _thread(session))

    async def newest(self, session: str) -> Sequence[str]:
        return [text for _, text in _said(self._compiled.get_state(_thread(session)).values)[-WINDOW:]]

    async def messages(self, session: str) -> Sequence[Said]:
        return _said(self._compiled.get_state(_thread(session)).values)

    async def counter(self, session: str) -> int | None:
        return int(self._compiled.get_state(_thread(session)).values.get("counter", 0))


class _LangGraphAsync(Contender):
    _compiled: Any

    def load(self) -> None:
        _load()

    async def create(self) -> str:
        session = uuid.uuid4().hex
        await self._compiled.aupdate_state(_thread(session), {"counter": 0})
        return session

    async def turn(self, session: str, said: str) -> None:
        await self._compiled.ainvoke(_asked(said), _thread(session))

    async def newest(self, session: str) -> Sequence[str]:
        return [text for _, text in (await self.messages(session))[-WINDOW:]]

    async def messages(self, session: str) -> Sequence[Said]:
        return _said((await self._compiled.aget_state(_thread(session))).values)

    async def counter(self, session: str) -> int | None:
        return int((await self._compiled.aget_state(_thread(session))).values.get("counter", 0))


class LangGraphSqlite(_LangGraph):
    async def open(self, place: Place) -> None:
        self._connection = sqlite3.connect(place.file, check_same_thread=False)
        self._compiled = _graph(import_module("langgraph.checkpoint.sqlite").SqliteSaver(self._connection))

    async def close(self) -> None:
        self._connection.close()


class LangGraphAsyncSqlite(_LangGraphAsync):
    async def open(self, place: Place) -> None:
        self._connection = await import_module("aiosqlite").connect(place.file)
        saver = import_module("langgraph.checkpoint.sqlite.aio").AsyncSqliteSaver(self._connection)
        self._compiled = _graph(saver)

    async def close(self) -> None:
        await self._connection.close()


_AS_THE_SAVER_WANTS = {"autocommit": True, "prepare_threshold": 0}


def _pool_options() -> dict[str, Any]:
    rows = import_module("psycopg.rows")
    return {"max_size": 16, "open": False, "kwargs": {**_AS_THE_SAVER_WANTS, "row_factory": rows.dict_row}}


class LangGraphPostgres(_LangGraph):
    async def open(self, place: Place) -> None:
        self._pool = import_module("psycopg_pool").ConnectionPool(place.server, **_pool_options())
        self._pool.open()
        saver = import_module("langgraph.checkpoint.postgres").PostgresSaver(self._pool)
        saver.setup()
        self._compiled = _graph(saver)

    async def close(self) -> None:
        self._pool.close()
