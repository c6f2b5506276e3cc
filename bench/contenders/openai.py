"""OpenAI Agents SDK sessions: messages only, no state. One `add_items` a turn, which is their best case."""

import uuid
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bench.contenders.contender import Contender, Said
from bench.work import WINDOW, Place, answer_to


class _OpenAi(Contender):
    _sessions: dict[str, Any]

    def _session(self, session: str) -> Any:
        raise NotImplementedError

    def _of(self, session: str) -> Any:
        if session not in self._sessions:
            self._sessions[session] = self._session(session)
        return self._sessions[session]

    async def create(self) -> str:
        """A session begins to exist with its first item."""
        session = uuid.uuid4().hex
        await self._of(session).add_items([{"role": "system", "content": "begin"}])
        return session

    async def turn(self, session: str, said: str) -> None:
        kept = self._of(session)
        await kept.get_items(limit=WINDOW)
        await kept.add_items([{"role": "user", "content": said}, {"role": "assistant", "content": answer_to(said)}])

    async def newest(self, session: str) -> Sequence[str]:
        return [item["content"] for item in await self._of(session).get_items(limit=WINDOW)]

    async def messages(self, session: str) -> Sequence[Said]:
        items = await self._of(session).get_items()
        return [(item["role"], item["content"]) for item in items if item["role"] != "system"]

    async def counter(self, session: str) -> int | None:
        return None


class OpenAiSqlite(_OpenAi):
    async def open(self, place: Place) -> None:
        self._sessions = {}
        self._file = place.file
        self._kind = import_module("agents").SQLiteSession

    async def close(self) -> None:
        for session in self._sessions.values():
            session.close()

    def _session(self, session: str) -> Any:
        return self._kind(session, self._file)


class OpenAiSqlAlchemy(_OpenAi):
    def load(self) -> None:
        import_module("sqlalchemy.ext.asyncio")
        import_module("agents.extensions.memory").SQLAlchemySession  # noqa: B018 - is imported when first looked at

    async def open(self, place: Place) -> None:
        self._sessions = {}
        sqlalchemy = import_module("sqlalchemy.ext.asyncio")
        url = place.server.replace("postgresql://", "postgresql+asyncpg://", 1)
        self._engine = sqlalchemy.create_async_engine(url, pool_size=16)
        self._kind = import_module("agents.extensions.memory").SQLAlchemySession
        await self._kind("first", engine=self._engine, create_tables=True).get_items(limit=1)

    async def close(self) -> None:
        await self._engine.dispose()

    def _session(self, session: str) -> Any:
        return self._kind(session, engine=self._engine)
