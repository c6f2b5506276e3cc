"""Agent definitions and model profiles in a PostgreSQL database."""

from collections.abc import Sequence

from turnkeeper.errors import RevisionMoved
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.definition import AgentDefinition, ModelProfile
from turnkeeper.model.ids import AgentId, TenantId
from turnkeeper.stores import layers as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, sql
from turnkeeper.stores.rows import Params, Row


class PostgresDefinitions:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def put_agent(
        self, definition: AgentDefinition, audit: AuditFacts, *, expected_version: int | None
    ) -> AgentDefinition:
        params = rows.definition_params(definition, expected_version)
        return rows.agent_of(await self._put(sql.put_agent_definition, sql.get_agent_definition, params, audit))

    async def agent(self, tenant: TenantId, id: AgentId) -> AgentDefinition | None:
        found = await self._database.read(sql.get_agent_definition, {"tenant": tenant, "id": id})
        return rows.agent_of(found[0]) if found else None

    async def agents(self, tenant: TenantId, *, after: str, limit: int) -> Sequence[AgentDefinition]:
        place = {"tenant": tenant, "after": after, "limit": limit}
        return [rows.agent_of(row) for row in await self._database.read(sql.list_agent_definitions, place)]

    async def remove_agent(self, tenant: TenantId, id: AgentId, audit: AuditFacts) -> bool:
        return await self._remove(sql.remove_agent_definition, {"tenant": tenant, "id": id}, audit)

    async def put_model(
        self, profile: ModelProfile, audit: AuditFacts, *, expected_version: int | None
    ) -> ModelProfile:
        params = rows.definition_params(profile, expected_version)
        return rows.model_of(await self._put(sql.put_model_profile, sql.get_model_profile, params, audit))

    async def model(self, tenant: TenantId, id: str) -> ModelProfile | None:
        found = await self._database.read(sql.get_model_profile, {"tenant": tenant, "id": id})
        return rows.model_of(found[0]) if found else None

    async def models(self, tenant: TenantId, *, after: str, limit: int) -> Sequence[ModelProfile]:
        place = {"tenant": tenant, "after": after, "limit": limit}
        return [rows.model_of(row) for row in await self._database.read(sql.list_model_profiles, place)]

    async def remove_model(self, tenant: TenantId, id: str, audit: AuditFacts) -> bool:
        return await self._remove(sql.remove_model_profile, {"tenant": tenant, "id": id}, audit)

    async def _put(self, put: str, get: str, params: Params, audit: AuditFacts) -> Row:
        write = self._audit.append(audit, lambda entry: self._put_in(put, get, params, entry))
        kept = await self._database.finish(write)
        assert kept is not None
        return kept

    async def _put_in(self, put: str, get: str, params: Params, entry: AuditEntry) -> Row:
        async with self._database.transaction("put_definition") as tx:
            kept = await tx.run(put, params)
            if not kept:
                found = await tx.one(get, params)
                assert found is not None, "it was there a moment ago"
                raise RevisionMoved(params["id"], expected=params["version"], actual=found["version"])
            await tx.run(sql.append_audit, entry_params(entry))
            return kept[0]

    async def _remove(self, remove: str, params: Params, audit: AuditFacts) -> bool:
        # A row or none, so that a removal of nothing is audited too.
        removed = self._audit.append(audit, lambda entry: self._remove_in(remove, params, entry))
        return bool(await self._database.finish(removed))

    async def _remove_in(self, remove: str, params: Params, entry: AuditEntry) -> bool:
        async with self._database.transaction("remove_definition") as tx:
            removed = await tx.run(remove, params)
            await tx.run(sql.append_audit, entry_params(entry))
            return bool(removed)
