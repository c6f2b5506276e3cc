"""Who is measured: ourselves, the bare databases, and the session stores people use instead."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from bench.contenders.contender import Contender


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A contender by name. What it `needs` beyond the standard library is looked for before it is started."""

    name: str
    title: str
    module: str
    kind: str
    needs: tuple[str, ...] = ()
    is_peer: bool = False
    keeps_state: bool = True
    most_turns: int = 1_000

    @property
    def database(self) -> str:
        return self.name.split(":")[0]

    @property
    def on_postgres(self) -> bool:
        return self.database == "postgres"

    def make(self) -> Contender:
        made: Contender = getattr(importlib.import_module(f"bench.contenders.{self.module}"), self.kind)()
        for module in self.needs:
            importlib.import_module(module)
        made.load()
        return made


_SQLALCHEMY_PG = ("sqlalchemy", "greenlet", "asyncpg")

_ENTRIES = (
    Entry(name="sqlite:raw", title="bare sqlite3", module="raw", kind="RawSqlite"),
    Entry(name="sqlite:raw-rows", title="bare sqlite3, our rows", module="raw_rows", kind="RawSqliteRows"),
    Entry(name="sqlite:raw-group", title="bare sqlite3, group commit", module="raw", kind="RawSqliteGroup"),
    Entry(
        name="sqlite:raw-group-rows",
        title="bare sqlite3, group commit, our rows",
        module="raw_rows",
        kind="RawSqliteGroupRows",
    ),
    Entry(name="sqlite:store", title="turnkeeper, store only", module="ours", kind="OurStore"),
    Entry(name="sqlite:turnkeeper", title="turnkeeper", module="ours", kind="OurKeeper"),
    Entry(
        name="sqlite:openai",
        title="OpenAI SQLiteSession (no state)",
        module="openai",
        kind="OpenAiSqlite",
        needs=("agents",),
        is_peer=True,
        keeps_state=False,
    ),
    Entry(
        name="sqlite:langgraph",
        title="LangGraph SqliteSaver",
        module="langgraph",
        kind="LangGraphSqlite",
        needs=("langgraph.graph", "langgraph.checkpoint.sqlite"),
        is_peer=True,
        most_turns=300,
    ),
    Entry(
        name="sqlite:langgraph-async",
        title="LangGraph AsyncSqliteSaver",
        module="langgraph",
        kind="LangGraphAsyncSqlite",
        needs=("langgraph.graph", "langgraph.checkpoint.sqlite", "aiosqlite"),
        is_peer=True,
        most_turns=300,
    ),
    Entry(
        name="sqlite:adk-sqlite",
        title="ADK SqliteSessionService",
        module="adk",
        kind="AdkSqlite",
        needs=("google.adk.sessions", "aiosqlite"),
        is_peer=True,
    ),
    Entry(
        name="sqlite:adk-database",
        title="ADK DatabaseSessionService",
        module="adk",
        kind="AdkDatabaseOnSqlite",
        needs=("google.adk.sessions", "sqlalchemy", "aiosqlite", "greenlet"),
        is_peer=True,
    ),
    Entry(name="postgres:raw", title="bare asyncpg", module="raw", kind="RawAsyncpg", needs=("asyncpg",)),
    Entry(
        name="postgres:raw-psycopg",
        title="bare psycopg, pipelined",
        module="raw",
        kind="RawPsycopg",
        needs=("psycopg", "psycopg_pool"),
    ),
    Entry(
        name="postgres:raw-rows",
        title="bare asyncpg, our rows",
        module="raw_rows",
        kind="RawAsyncpgRows",
        needs=("asyncpg",),
    ),
    Entry(
        name="postgres:store",
        title="turnkeeper, store only",
        module="ours",
        kind="OurStoreOnPostgres",
        needs=("asyncpg",),
    ),
    Entry(
        name="postgres:turnkeeper", title="turnkeeper", module="ours", kind="OurKeeperOnPostgres", needs=("asyncpg",)
    ),
    Entry(
        name="postgres:openai",
        title="OpenAI SQLAlchemySession (no state)",
        module="openai",
        kind="OpenAiSqlAlchemy",
        needs=("agents", *_SQLALCHEMY_PG),
        is_peer=True,
        keeps_state=False,
    ),
    Entry(
        name="postgres:langgraph",
        title="LangGraph PostgresSaver",
        module="langgraph",
        kind="LangGraphPostgres",
        needs=("langgraph.graph", "langgraph.checkpoint.postgres", "psycopg_pool"),
        is_peer=True,
        most_turns=300,
    ),
    Entry(
        name="postgres:adk-database",
        title="ADK DatabaseSessionService",
        module="adk",
        kind="AdkDatabaseOnPostgres",
        needs=("google.adk.sessions", *_SQLALCHEMY_PG),
        is_peer=True,
    ),
)

ENTRIES: Mapping[str, Entry] = {entry.name: entry for entry in _ENTRIES}
