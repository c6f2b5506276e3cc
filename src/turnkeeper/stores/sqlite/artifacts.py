"""Artifacts in a SQLite file."""

from turnkeeper.errors import ArtifactNotFound
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import ArtifactId, TenantId
from turnkeeper.stores import artifacts as rows
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteArtifacts:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def keep(self, artifact: Artifact, content: bytes, audit: AuditFacts) -> Artifact:
        return await self._database.write("keep_artifact", lambda tx: self._keep(tx, artifact, content, audit))

    def _keep(self, tx: Tx, artifact: Artifact, content: bytes, audit: AuditFacts) -> Artifact:
        params = rows.artifact_params(artifact)
        known = tx.execute(sql.get_artifact, params).fetchone()
        if known is None:
            tx.execute(sql.insert_blob, params)
            tx.execute(sql.insert_piece, params | {"data": content})
            tx.execute(sql.insert_artifact, params)
        self._audit.append(tx, audit)
        return artifact if known is None else rows.artifact_of(known)

    async def get(self, tenant: TenantId, artifact_id: ArtifactId) -> Artifact:
        found = self._database.read(sql.get_artifact, {"tenant": tenant, "id": artifact_id})
        if not found:
            raise ArtifactNotFound(artifact_id)
        return rows.artifact_of(found[0])

    async def content(self, artifact: Artifact) -> bytes:
        found = self._database.read(sql.get_blob, rows.artifact_params(artifact))
        if not found:
            raise ArtifactNotFound(artifact.id)
        return b"".join(row["data"] for row in found)
