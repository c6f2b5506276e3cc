"""Explanations in a PostgreSQL database."""

from collections.abc import Sequence

from turnkeeper.model.explanation import ExplainedRun, Explanation, Summary
from turnkeeper.model.ids import RunId, SessionId, TenantId
from turnkeeper.model.run import Run
from turnkeeper.stores import rows
from turnkeeper.stores.postgres.database import PostgresDatabase, sql


class PostgresExplanations:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def get(self, run: Run) -> Explanation | None:
        place = {"tenant": run.tenant, "session_id": run.session_id, "run_id": run.id}
        found = await self._database.read(sql.get_explanation, place)
        return rows.explanation_of(found[0]["data"]) if found else None

    async def explained(self, run: Run) -> ExplainedRun[Explanation] | None:
        found = await self._database.read(sql.explained_run, rows.explained_run_params(run))
        return rows.explained_run_of(found[0]) if found else None

    async def list(
        self, tenant: TenantId, session_id: SessionId, *, before: RunId | None, limit: int
    ) -> Sequence[ExplainedRun[Explanation]]:
        place = rows.explanations_params(tenant, session_id, before, limit)
        return [rows.explained_run_of(row) for row in await self._database.read(sql.explanations_before, place)]

    async def summaries(
        self, tenant: TenantId, session_id: SessionId, *, before: RunId | None, limit: int
    ) -> Sequence[ExplainedRun[Summary]]:
        place = rows.explanations_params(tenant, session_id, before, limit)
        return [rows.summarized_run_of(row) for row in await self._database.read(sql.explanations_before, place)]

    async def trim(self, tenant: TenantId, session_id: SessionId, *, keep: int) -> None:
        await self._database.finish(self._trim({"tenant": tenant, "session_id": session_id, "keep": keep}))

    async def _trim(self, place: rows.Params) -> None:
        async with self._database.transaction("trim_explanations") as tx:
            await tx.run(sql.open_door, {})
            await tx.run(sql.trim_explanations, place)
