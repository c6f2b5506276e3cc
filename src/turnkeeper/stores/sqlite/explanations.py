"""Explanations in a SQLite file."""

from collections.abc import Sequence

from turnkeeper.model.explanation import ExplainedRun, Explanation, Summary
from turnkeeper.model.ids import RunId, SessionId, TenantId
from turnkeeper.model.run import Run
from turnkeeper.stores import rows
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteExplanations:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def get(self, run: Run) -> Explanation | None:
        place = {"tenant": run.tenant, "session_id": run.session_id, "run_id": run.id}
        found = self._database.read(sql.get_explanation, place)
        return rows.explanation_of(found[0]["data"]) if found else None

    async def explained(self, run: Run) -> ExplainedRun[Explanation] | None:
        found = self._database.read(sql.explained_run, rows.explained_run_params(run))
        return rows.explained_run_of(found[0]) if found else None

    async def list(
        self, tenant: TenantId, session_id: SessionId, *, before: RunId | None, limit: int
    ) -> Sequence[ExplainedRun[Explanation]]:
        place = rows.explanations_params(tenant, session_id, before, limit)
        return [rows.explained_run_of(row) for row in self._database.read(sql.explanations_before, place)]

    async def summaries(
        self, tenant: TenantId, session_id: SessionId, *, before: RunId | None, limit: int
    ) -> Sequence[ExplainedRun[Summary]]:
        place = rows.explanations_params(tenant, session_id, before, limit)
        return [rows.summarized_run_of(row) for row in self._database.read(sql.explanations_before, place)]

    async def trim(self, tenant: TenantId, session_id: SessionId, *, keep: int) -> None:
        place = {"tenant": tenant, "session_id": session_id, "keep": keep}
        await self._database.write("trim_explanations", lambda tx: self._trim(tx, place))

    def _trim(self, tx: Tx, place: rows.Params) -> None:
        tx.execute(sql.open_door, {})
        tx.execute(sql.trim_explanations, place)
        tx.execute(sql.close_door, {})
