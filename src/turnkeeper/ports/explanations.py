"""What we ask of a database about the Explanations that runs left behind."""

from collections.abc import Sequence
from typing import Protocol

from turnkeeper.model.explanation import ExplainedRun, Explanation, Summary
from turnkeeper.model.ids import RunId, SessionId, TenantId
from turnkeeper.model.run import Run


class ExplanationStore(Protocol):
    async def get(self, run: Run) -> Explanation | None:
        """None while the run is open, and when it is so old that its Explanation was dropped."""

    async def explained(self, run: Run) -> ExplainedRun[Explanation] | None:
        """The same beside what was said in the run; None where `get` gives none."""

    async def list(
        self, tenant: TenantId, session_id: SessionId, *, before: RunId | None, limit: int
    ) -> Sequence[ExplainedRun[Explanation]]:
        """Why the runs of a session came out as they did, newest first, from just before the given one."""

    async def summaries(
        self, tenant: TenantId, session_id: SessionId, *, before: RunId | None, limit: int
    ) -> Sequence[ExplainedRun[Summary]]:
        """The same in short: what happened inside the runs is stepped over."""

    async def trim(self, tenant: TenantId, session_id: SessionId, *, keep: int) -> None:
        """Drop all but the newest of a session."""
