"""Google ADK session services: an event for what the user said, and one with the answer and the new state."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bench.contenders.contender import Contender, Said
from bench.work import WINDOW, Place, answer_to, state_after

APP = "bench"
USER = "local"


class _Adk(Contender):
    _service: Any

    def _make(self, place: Place) -> Any:
        raise NotImplementedError

    def load(self) -> None:
        for module in ("events", "sessions.sqlite_session_service", "sessions.base_session_service"):
            import_module(f"google.adk.{module}")
        import_module("google.adk.sessions").DatabaseSessionService  # noqa: B018 - is imported when first looked at

    async def open(self, place: Place) -> None:
        self._service = self._make(place)
        events = import_module("google.adk.events")
        types = import_module("google.genai.types")
        recent = import_module("google.adk.sessions.base_session_service").GetSessionConfig(num_recent_events=WINDOW)
        self._event, self._actions, self._types, self._recent = events.Event, events.EventActions, types, recent

    async def close(self) -> None:
        close = getattr(self._service, "close", None)
        if close is not None:
            await close()

    async def create(self) -> str:
        session = await self._service.create_session(app_name=APP, user_id=USER, state={"counter": 0})
        return str(session.id)

    async def turn(self, session: str, said: str) -> None:
        loaded = await self._get(session, self._recent)
        after = self._actions(state_delta=state_after(loaded.state.get("counter", 0)))
        asked = self._event(author="user", invocation_id="turn", content=self._content("user", said))
        answered = self._event(
            author="answerer", invocation_id="turn", content=self._content("model", answer_to(said)), actions=after
        )
        await self._service.append_event(loaded, asked)
        await self._service.append_event(loaded, answered)

    async def newest(self, session: str) -> Sequence[str]:
        return [text for _, text in self._said(await self._get(session, self._recent))]

    async def messages(self, session: str) -> Sequence[Said]:
        return self._said(await self._get(session, None))

    async def counter(self, session: str) -> int | None:
        return int((await self._get(session, self._recent)).state.get("counter", 0))

    async def _get(self, session: str, config: Any) -> Any:
        return await self._service.get_session(app_name=APP, user_id=USER, session_id=session, config=config)

    def _content(self, role: str, text: str) -> Any:
        return self._types.Content(role=role, parts=[self._types.Part(text=text)])

    def _said(self, session: Any) -> list[Said]:
        roles = {"user": "user", "answerer": "assistant"}
        return [(roles[event.author], event.content.parts[0].text) for event in session.events]


class AdkSqlite(_Adk):
    def _make(self, place: Place) -> Any:
        return import_module("google.adk.sessions.sqlite_session_service").SqliteSessionService(str(place.file))


class AdkDatabaseOnSqlite(_Adk):
    def _make(self, place: Place) -> Any:
        return import_module("google.adk.sessions").DatabaseSessionService(f"sqlite+aiosqlite:///{place.file}")


class AdkDatabaseOnPostgres(_Adk):
    def _make(self, place: Place) -> Any:
        url = place.server.replace("postgresql://", "postgresql+asyncpg://", 1)
        return import_module("google.adk.sessions").DatabaseSessionService(url)
