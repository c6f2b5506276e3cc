"""Runs at a distance: how they came out, and why."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part, reading
from turnkeeper.client.shapes import ExplainedRun, Explanation, Run, ToolSpec, explained_of, read, summarized_of
from turnkeeper.model.effect import Effect
from turnkeeper.model.explanation import Summary


class Runs(Part):
    async def runs(self, session_id: str, *, before: str | None = None, limit: int = 50) -> Page[Run]:
        return await self._page(reading(Run), "sessions", session_id, "runs", cursor=before, limit=limit)

    async def explanation(self, run_id: str) -> Explanation | None:
        """Why a run came out as it did; None while it is still open."""
        explanation = (await self.explained(run_id)).explanation
        return None if explanation.status.is_open else explanation

    async def explanations(
        self, session_id: str, *, before: str | None = None, limit: int = 50
    ) -> Page[ExplainedRun[Explanation]]:
        """Why the runs of a session came out as they did, newest first, failed ones too."""
        return await self._page(
            explained_of, "sessions", session_id, "explanations", cursor=before, limit=limit, level="full"
        )

    async def summaries(
        self, session_id: str, *, before: str | None = None, limit: int = 50
    ) -> Page[ExplainedRun[Summary]]:
        """How the runs of a session came out, newest first, without what happened in them."""
        return await self._page(
            summarized_of, "sessions", session_id, "explanations", cursor=before, limit=limit, level="summary"
        )

    async def explained(self, run_id: str) -> ExplainedRun[Explanation]:
        """A run and why it came out as it did. While it is open, or when that was dropped, as its feed tells it."""
        return explained_of(await self._ask("GET", "runs", run_id, "explanation"))

    async def checkpoints(self, run_id: str) -> list[dict[str, Any]]:
        """Where a long or waiting run stood, oldest first, as documents of `schemas/session-checkpoint.json`."""
        items: list[dict[str, Any]] = (await self._ask("GET", "runs", run_id, "checkpoints"))["items"]
        return items

    async def effects(self, run_id: str) -> Sequence[Effect]:
        """What a run, or the one that it tries again, did to the world by `turn.once`."""
        told: Mapping[str, Any] = await self._ask("GET", "runs", run_id, "effects")
        return read(told["items"], list[Effect])

    async def tools_of(self, session_id: str) -> tuple[ToolSpec, ...]:
        """The tools that the agent of a session is offered right now."""
        return tuple(read(await self._ask("GET", "sessions", session_id, "tools"), list[ToolSpec]))
