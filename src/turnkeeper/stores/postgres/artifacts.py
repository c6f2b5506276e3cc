"""Artifacts in a PostgreSQL database."""

from turnkeeper.errors import ArtifactNotFound
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import ArtifactId, TenantId
from turnkeeper.stores import artifacts as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, sql


class PostgresArtifacts:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def keep(self, artifact: Artifact, content: bytes, audit: AuditFacts) -> Artifact:
        kept = await self._database.finish(
            self._audit.append(audit, lambda entry: self._keep(artifact, content, entry))
        )
        assert kept is not None
        return kept

    async def _keep(self, artifact: Artifact, content: bytes, entry: AuditEntry) -> Artifact:
        async with self._database.transaction("keep_artifact") as tx:
            params = rows.artifact_params(artifact)
            known = await tx.one(sql.get_artifact, params)
            if known is None:
                await tx.run(sql.insert_blob, params)
                await tx.run(sql.insert_piece, params | {"data": content})
                await tx.run(sql.insert_artifact, params)
                known = await tx.one(sql.get_artifact, params)
            await tx.run(sql.append_audit, entry_params(entry))
            assert known is not None
            return rows.artifact_of(known)

    async def get(self, tenant: TenantId, artifact_id: ArtifactId) -> Artifact:
        found = await self._database.read(sql.get_artifact, {"tenant": tenant, "id": artifact_id})
        if not found:
            raise ArtifactNotFound(artifact_id)
        return rows.artifact_of(found[0])

    async def content(self, artifact: Artifact) -> bytes:
        found = await self._database.read(sql.get_blob, rows.artifact_params(artifact))
        if not found:
            raise ArtifactNotFound(artifact.id)
        return b"".join(row["data"] for row in found)
