"""Artifacts to rows and back, the same for every backend."""

from collections.abc import Iterator, Sequence

from turnkeeper.errors import QuotaExceeded
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.blob import PIECE_BYTES, Blob, ByteRange, NewBlob, Piece
from turnkeeper.model.ids import ArtifactId, TenantId, UserId
from turnkeeper.model.layer import Quota
from turnkeeper.stores.rows import Params, Row, micros, moment

LAST = "~"
"""Behind every id."""


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


def blob_params(new: NewBlob) -> Params:
    blob = new.blob
    return {"tenant": blob.tenant, "hash": blob.sha256, "size": blob.size, "content": blob.content}


def blob_of(row: Row) -> Blob:
    return Blob(
        tenant=TenantId(row["tenant"]), sha256=row["sha256"], size=row["size"], content=row["content"] or row["sha256"]
    )


def place_of(blob: Blob) -> Params:
    return {"tenant": blob.tenant, "hash": blob.sha256, "content": blob.content}


def piece_params(blob: Blob, piece: Piece) -> Params:
    return {
        "tenant": blob.tenant,
        "content": blob.content,
        "no": piece.no,
        "hash": piece.sha256,
        "data": piece.data,
    }


def overlapping(pieces: Sequence[Row], blob: Blob, part: ByteRange) -> Iterator[tuple[int, str, int, ByteRange]]:
    """Number, hash and size of the pieces in which a part of the content lies, each with the part of the piece."""
    begin = 0
    for row in pieces:
        size = row["size"] or min(PIECE_BYTES, blob.size - begin)
        if begin <= part.last and begin + size > part.first and size:
            inner = ByteRange(first=max(part.first - begin, 0), last=min(part.last - begin, size - 1))
            yield row["no"], row["sha256"], size, inner
        begin += size


def check_room(stored: Row | None, most: int) -> None:
    """Raises QuotaExceeded when the tenant keeps more than it may, with what it is about to keep."""
    if stored is not None and stored["found"] > most:
        raise QuotaExceeded(Quota.STORAGE_BYTES, most, with_this=stored["found"])
