"""Manifests, pointers and outputs to rows and back, and the rules of a move, the same for every backend."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from turnkeeper.errors import (
    ArtifactsMissing,
    MountNotFound,
    PointerFrozen,
    PointerMoved,
    SessionClosed,
    SessionExpired,
    SessionNotFound,
)
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import PointerId, RunId, SessionId, TenantId, UserId, sortable_id
from turnkeeper.model.layer import DefaultMount
from turnkeeper.model.manifest import Manifest, ManifestEntry, NewManifest
from turnkeeper.model.mount import Mount, MountKind, MountMode
from turnkeeper.model.output import Output, OutputKind, Publication, SessionCost, SessionStorage
from turnkeeper.model.pointer import Move, MoveKind, Pointer, PointerKind, PointerMove
from turnkeeper.model.session import SessionStatus
from turnkeeper.stores.rows import Params, Row, from_json, json_text, micros, moment

LAST = "~"
MOST_MISSING = 100
TOLD_AS = {
    OutputKind.ARTIFACT: FeedType.ARTIFACT_EMITTED,
    OutputKind.MANIFEST: FeedType.MANIFEST_CREATED,
    OutputKind.POINTER: FeedType.POINTER_MOVED,
}

# --- manifests


def manifest_params(manifest: Manifest) -> Params:
    return {
        "tenant": manifest.tenant,
        "hash": manifest.sha256,
        "parent": manifest.parent,
        "entry_count": manifest.entry_count,
        "total_size": manifest.total_size,
        "metadata": json_text(manifest.metadata),
        "message": manifest.message,
        "created_by": manifest.created_by,
        "created_at": micros(manifest.created_at),
    }


def manifest_of(row: Row) -> Manifest:
    return Manifest(
        tenant=TenantId(row["tenant"]),
        sha256=row["sha256"],
        parent=row["parent_sha256"],
        entry_count=row["entry_count"],
        total_size=row["total_size"],
        metadata=from_json(row["metadata"]),
        message=row["message"],
        created_by=UserId(row["created_by"]),
        created_at=moment(row["created_at"]),
    )


def entry_params(manifest: Manifest, entries: Sequence[ManifestEntry]) -> list[Params]:
    return [
        {
            "tenant": manifest.tenant,
            "manifest": manifest.sha256,
            "no": no,
            "path": entry.path,
            "hash": entry.sha256,
            "metadata": json_text(entry.metadata),
        }
        for no, entry in enumerate(entries, start=1)
    ]


def entry_of(row: Row) -> ManifestEntry:
    return ManifestEntry(path=row["path"], sha256=row["sha256"], metadata=from_json(row["metadata"]))


def check_contents(new: NewManifest, sizes: Mapping[str, int], open_to_user: Collection[str] | None) -> None:
    """Raises ArtifactsMissing for what is not there, or not there for who makes the manifest."""
    missing = [
        {"pointer": f"/entries/{no}/sha256", "path": entry.path, "sha256": entry.sha256, "message": "no such content"}
        for no, entry in enumerate(new.entries)
        if entry.sha256 not in sizes or (open_to_user is not None and entry.sha256 not in open_to_user)
    ]
    if missing:
        raise ArtifactsMissing(missing[:MOST_MISSING])


# --- pointers


def pointer_params(pointer: Pointer) -> Params:
    return {
        "tenant": pointer.tenant,
        "id": pointer.id,
        "namespace": pointer.namespace,
        "name": pointer.name,
        "kind": pointer.kind.value,
        "manifest": pointer.manifest,
        "description": pointer.description,
        "metadata": json_text(pointer.metadata),
        "moves": pointer.moves,
        "created_by": pointer.created_by,
        "created_at": micros(pointer.created_at),
        "updated_at": micros(pointer.updated_at),
        "deleted_at": None if pointer.deleted_at is None else micros(pointer.deleted_at),
    }


def pointer_of(row: Row) -> Pointer:
    return Pointer(
        tenant=TenantId(row["tenant"]),
        id=PointerId(row["id"]),
        namespace=row["namespace"],
        name=row["name"],
        kind=PointerKind(row["kind"]),
        manifest=row["manifest"],
        description=row["description"],
        metadata=from_json(row["metadata"]),
        moves=row["moves"],
        created_by=UserId(row["created_by"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        deleted_at=None if row["deleted_at"] is None else moment(row["deleted_at"]),
    )


def first_move(pointer: Pointer) -> PointerMove:
    return PointerMove(
        pointer_id=pointer.id,
        no=1,
        kind=MoveKind.CREATE,
        old=None,
        new=pointer.manifest,
        reason=None,
        session_id=None,
        run_id=None,
        moved_by=pointer.created_by,
        moved_at=pointer.created_at,
    )


def moved(pointer: Pointer, move: Move) -> tuple[Pointer, PointerMove]:
    """The pointer after a move, and the move as its history tells it. Raises PointerMoved or PointerFrozen."""
    if move.expected is not None and move.expected.manifest != pointer.manifest:
        raise PointerMoved(pointer.id, pointer.manifest)
    is_deleted = move.kind is MoveKind.DELETE
    if pointer.is_frozen and not is_deleted:
        raise PointerFrozen(pointer.id)
    told = PointerMove(
        pointer_id=pointer.id,
        no=pointer.moves + 1,
        kind=move.kind,
        old=pointer.manifest,
        new=None if is_deleted else move.to,
        reason=move.reason,
        session_id=move.session_id,
        run_id=move.run_id,
        moved_by=move.moved_by,
        moved_at=move.moved_at,
    )
    after = replace(
        pointer,
        manifest=pointer.manifest if is_deleted else move.to,
        moves=told.no,
        updated_at=move.moved_at,
        deleted_at=move.moved_at if is_deleted else None,
    )
    return after, told


def move_params(tenant: TenantId, move: PointerMove) -> Params:
    return {
        "tenant": tenant,
        "pointer_id": move.pointer_id,
        "no": move.no,
        "operation": move.kind.value,
        "old": move.old,
        "new": move.new,
        "reason": move.reason,
        "session_id": move.session_id,
        "run_id": move.run_id,
        "moved_by": move.moved_by,
        "moved_at": micros(move.moved_at),
    }


def move_of(row: Row) -> PointerMove:
    return PointerMove(
        pointer_id=PointerId(row["pointer_id"]),
        no=row["no"],
        kind=MoveKind(row["operation"]),
        old=row["old"],
        new=row["new"],
        reason=row["reason"],
        session_id=row["session_id"],
        run_id=row["run_id"],
        moved_by=UserId(row["moved_by"]),
        moved_at=moment(row["moved_at"]),
    )


def move_of_publication(publication: Publication, to: str | None, run_id: RunId | None) -> Move:
    assert publication.pointer is not None
    return Move(
        kind=MoveKind.ADVANCE,
        to=to,
        expected=publication.pointer.expected,
        reason=publication.pointer.reason,
        moved_by=publication.published_by,
        moved_at=publication.published_at,
        session_id=publication.session_id,
        run_id=run_id,
    )


# --- outputs


def output_params(tenant: TenantId, session_id: SessionId, output: Output) -> Params:
    return {
        "tenant": tenant,
        "session_id": session_id,
        "no": output.no,
        "run_id": output.run_id,
        "kind": output.kind.value,
        "ref": output.ref,
        "data": json_text(output.data),
        "now": micros(output.at),
    }


def output_of(row: Row) -> Output:
    return Output(
        no=row["no"],
        kind=OutputKind(row["kind"]),
        ref=row["ref"],
        run_id=row["run_id"],
        at=moment(row["at"]),
        data=from_json(row["data"]),
    )


def artifact_said(sha256: str, about: Mapping[str, Any], size: int) -> dict[str, Any]:
    return {"sha256": sha256, "size": size, **about}


def manifest_said(manifest: Manifest, *, is_duplicate: bool) -> dict[str, Any]:
    return {
        "sha256": manifest.sha256,
        "parent": manifest.parent,
        "entries": manifest.entry_count,
        "size": manifest.total_size,
        "duplicate": is_duplicate,
    }


def move_said(pointer: Pointer, move: PointerMove) -> dict[str, Any]:
    return {
        "pointer_id": pointer.id,
        "namespace": pointer.namespace,
        "name": pointer.name,
        "old": move.old,
        "new": move.new,
        "move": move.no,
        "reason": move.reason,
    }


ACCOUNTS_AT_ONCE = 1_000


def cost_of(session_id: SessionId, accounts: Sequence[str | None], storage: SessionStorage | None) -> SessionCost:
    spent = [from_json(account) for account in accounts if account]

    def total(name: str) -> float:
        return sum(float(each.get(name, 0)) for each in spent)

    return SessionCost(
        session_id=session_id,
        runs=len(accounts),
        tokens=total("tokens"),
        cost_cents=total("cost_cents"),
        model_calls=int(total("model_calls")),
        tool_calls=int(total("tool_calls")),
        message_bytes=storage.message_bytes if storage else 0,
        output_bytes=storage.output_bytes if storage else 0,
    )


def storage_of(row: Row) -> SessionStorage:
    return SessionStorage(
        session_id=SessionId(row["id"]),
        classification=row["classification"],
        message_bytes=int(row["message_bytes"]),
        output_bytes=int(row["output_bytes"]),
    )


def refuse_if_over(publication: Publication, session: Row | None) -> None:
    """Raises SessionNotFound, SessionClosed or SessionExpired: into what is over nobody publishes."""
    if session is None:
        raise SessionNotFound(publication.session_id)
    if session["status"] == SessionStatus.CLOSED:
        raise SessionClosed(publication.session_id)
    if session["status"] == SessionStatus.EXPIRED:
        raise SessionExpired(publication.session_id)


# --- reach


def followed_and_fixed(mounts: Sequence[Mount]) -> tuple[list[str], list[str]]:
    """The pointers that are followed, and the manifests that the others are fixed to."""
    pointers = [mount for mount in mounts if mount.kind is MountKind.POINTER]
    followed = [mount.id for mount in pointers if mount.mode is MountMode.FOLLOW]
    return followed, [mount.manifest for mount in pointers if mount.mode is MountMode.FIXED and mount.manifest]


# --- collection


MENTIONS_AT_ONCE = 1_000


def texts_of(found: Sequence[Row], *columns: str) -> Iterator[str]:
    for row in found:
        for column in columns:
            if row[column]:
                yield row[column]


def of_others(found: Sequence[Row], column: str, without: Collection[str]) -> Sequence[Row]:
    return [row for row in found if row[column] not in without] if without else found


def upload_before(before: datetime) -> str:
    """The name that an upload begun at this moment would have at least."""
    return sortable_id("upl", micros(before) // 1000, 0)


def contents_mounted(after: Iterable[Mount | DefaultMount], before: Iterable[Mount | DefaultMount] = ()) -> list[str]:
    """The contents among these mounts that were not mounted before."""
    known = {mount.ref for mount in before}
    return [mount.id for mount in after if mount.kind is MountKind.ARTIFACT and mount.ref not in known]


def check_mounted(wanted: Sequence[str], there: Collection[str]) -> None:
    """Raises MountNotFound."""
    for sha256 in wanted:
        if sha256 not in there:
            raise MountNotFound(MountKind.ARTIFACT, sha256)


CLOCKS_APART = timedelta(minutes=10)


def run_before(since: datetime) -> str:
    """The id that a run accepted at this moment would have at least, on any node."""
    return sortable_id("run", micros(since - CLOCKS_APART) // 1000, 0)


def contexts_from(since: datetime) -> int:
    return micros(since - CLOCKS_APART)
