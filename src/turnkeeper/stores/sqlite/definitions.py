"""Agent definitions and model profiles in a SQLite file."""

from collections.abc import Sequence

from turnkeeper.errors import RevisionMoved
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.definition import AgentDefinition, ModelProfile
from turnkeeper.model.ids import AgentId, TenantId
from turnkeeper.stores import layers as rows
from turnkeeper.stores.rows import Params, Row
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteDefinitions:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def put_agent(
        self, definition: AgentDefinition, audit: AuditFacts, *, expected_version: int | None
    ) -> AgentDefinition:
        params = rows.definition_params(definition, expected_version)
        put, get = sql.put_agent_definition, sql.get_agent_definition
        return rows.agent_of(
            await self._database.write("put_definition", lambda tx: self._put(tx, put, get, params, audit))
        )

    async def agent(self, tenant: TenantId, id: AgentId) -> AgentDefinition | None:
        found = self._database.read(sql.get_agent_definition, {"tenant": tenant, "id": id})
        return rows.agent_of(found[0]) if found else None

    async def agents(self, tenant: TenantId, *, after: str, limit: int) -> Sequence[AgentDefinition]:
        place = {"tenant": tenant, "after": after, "limit": limit}
        return [rows.agent_of(row) for row in self._database.read(sql.list_agent_definitions, place)]

    async def remove_agent(self, tenant: TenantId, id: AgentId, audit: AuditFacts) -> bool:
        params, remove = {"tenant": tenant, "id": id}, sql.remove_agent_definition
        return await self._database.write("remove_definition", lambda tx: self._remove(tx, remove, params, audit))

    async def put_model(
        self, profile: ModelProfile, audit: AuditFacts, *, expected_version: int | None
    ) -> ModelProfile:
        params = rows.definition_params(profile, expected_version)
        put, get = sql.put_model_profile, sql.get_model_profile
        return rows.model_of(
            await self._database.write("put_definition", lambda tx: self._put(tx, put, get, params, audit))
        )

    async def model(self, tenant: TenantId, id: str) -> ModelProfile | None:
        found = self._database.read(sql.get_model_profile, {"tenant": tenant, "id": id})
        return rows.model_of(found[0]) if found else None

    async def models(self, tenant: TenantId, *, after: str, limit: int) -> Sequence[ModelProfile]:
        place = {"tenant": tenant, "after": after, "limit": limit}
        return [rows.model_of(row) for row in self._database.read(sql.list_model_profiles, place)]

    async def remove_model(self, tenant: TenantId, id: str, audit: AuditFacts) -> bool:
        params, remove = {"tenant": tenant, "id": id}, sql.remove_model_profile
        return await self._database.write("remove_definition", lambda tx: self._remove(tx, remove, params, audit))

    def _put(self, tx: Tx, put: str, get: str, params: Params, audit: AuditFacts) -> Row:
        kept = tx.execute(put, params).fetchall()
        if not kept:
            found = tx.execute(get, params).fetchone()
            raise RevisionMoved(params["id"], expected=params["version"], actual=found["version"])
        self._audit.append(tx, audit)
        row: Row = kept[0]
        return row

    def _remove(self, tx: Tx, remove: str, params: Params, audit: AuditFacts) -> bool:
        removed = tx.execute(remove, params).fetchall()
        self._audit.append(tx, audit)
        return bool(removed)
