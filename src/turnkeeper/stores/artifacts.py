"""Artifacts to rows and back, the same for every backend."""

from turnkeeper.model.artifact import Artifact
from turnkeeper.model.ids import ArtifactId, TenantId, UserId
from turnkeeper.stores.rows import Params, Row, micros, moment


def artifact_params(artifact: Artifact) -> Params:
    return {
        "tenant": artifact.tenant,
        "id": artifact.id,
        "hash": artifact.sha256,
        "media_type": artifact.media_type,
        "name": artifact.name,
        "size": artifact.size,
        "created_by": artifact.created_by,
        "created_at": micros(artifact.created_at),
    }


def artifact_of(row: Row) -> Artifact:
    return Artifact(
        tenant=TenantId(row["tenant"]),
        id=ArtifactId(row["id"]),
        sha256=row["sha256"],
        media_type=row["media_type"],
        name=row["name"],
        size=row["size"],
        created_by=UserId(row["created_by"]),
        created_at=moment(row["created_at"]),
    )
