"""Manifests, pointers and outputs on the wire."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from turnkeeper.model.manifest import Manifest, ManifestDiff, ManifestEntry
from turnkeeper.model.output import Output, OutputKind, Published, SessionCost, SessionStorage, TenantStorage
from turnkeeper.model.pointer import Pointer, PointerMove
from turnkeeper.server.wire import Inbound, Outbound

Sha256 = Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$", description="SHA-256 in hexadecimal digits")]
Path = Annotated[str, Field(min_length=1, max_length=1024)]
Name = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_.@-]{0,254}$")]
Kind = Literal["bundle", "corpus", "snapshot"]


class EntryIn(Inbound):
    path: Path
    sha256: Sha256
    metadata: dict[str, Any] = Field(default_factory=dict)


class ManifestIn(Inbound):
    """The order of the entries is part of the hash. Parent and message are not."""

    entries: list[EntryIn]
    metadata: dict[str, Any] = Field(default_factory=dict)
    parent: Sha256 | None = None
    message: Annotated[str, Field(max_length=4000)] | None = None


class EntryOut(Outbound):
    path: str
    sha256: str
    metadata: Mapping[str, Any]

    @classmethod
    def of(cls, entry: ManifestEntry) -> "EntryOut":
        return cls(path=entry.path, sha256=entry.sha256, metadata=entry.metadata)


class ManifestOut(Outbound):
    sha256: str
    parent: str | None
    entry_count: int
    total_size: int
    metadata: Mapping[str, Any]
    message: str | None
    created_by: str
    created_at: datetime

    @classmethod
    def of(cls, manifest: Manifest) -> "ManifestOut":
        return cls(**_of(manifest, cls))


class NewManifestOut(ManifestOut):
    """`is_duplicate` says that the same tree was there already; then it is told as it was kept first."""

    is_duplicate: bool

    @classmethod
    def made(cls, manifest: Manifest, *, is_duplicate: bool) -> "NewManifestOut":
        return cls(**_of(manifest, ManifestOut), is_duplicate=is_duplicate)


class ModifiedOut(Outbound):
    path: str
    old: str
    new: str


class DiffOut(Outbound):
    """By path; a change of metadata alone is none."""

    added: list[EntryOut]
    removed: list[EntryOut]
    modified: list[ModifiedOut]

    @classmethod
    def of(cls, diff: ManifestDiff) -> "DiffOut":
        return cls(
            added=[EntryOut.of(each) for each in diff.added],
            removed=[EntryOut.of(each) for each in diff.removed],
            modified=[ModifiedOut(path=path, old=old, new=new) for path, old, new in diff.modified],
        )


class PointerIn(Inbound):
    name: Name
    namespace: Name = "default"
    kind: Kind = "bundle"
    manifest: Sha256 | None = None
    description: Annotated[str, Field(max_length=2000)] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class AdvanceIn(Inbound):
    """With `expected` it moves only from there; null expects it to be empty, and leaving it out expects nothing."""

    manifest: Sha256
    expected: Sha256 | None = None
    reason: Annotated[str, Field(max_length=2000)] | None = None


class ResetIn(Inbound):
    """Without a manifest the pointer is emptied. `expected` is as for an advance."""

    manifest: Sha256 | None = None
    expected: Sha256 | None = None
    reason: Annotated[str, Field(max_length=2000)] | None = None


class PointerOut(Outbound):
    id: str
    namespace: str
    name: str
    kind: Kind
    manifest: str | None
    description: str | None
    metadata: Mapping[str, Any]
    moves: int
    created_by: str
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None

    @classmethod
    def of(cls, pointer: Pointer) -> "PointerOut":
        return cls(**_of(pointer, cls))


class ResolvedOut(Outbound):
    pointer_id: str
    manifest: str | None


class MoveOut(Outbound):
    no: int
    operation: Literal["create", "advance", "reset", "delete"]
    old: str | None
    new: str | None
    reason: str | None
    session_id: str | None
    run_id: str | None
    moved_by: str
    moved_at: datetime

    @classmethod
    def of(cls, move: PointerMove) -> "MoveOut":
        return cls(
            no=move.no,
            operation=move.kind.value,
            old=move.old,
            new=move.new,
            reason=move.reason,
            session_id=move.session_id,
            run_id=move.run_id,
            moved_by=move.moved_by,
            moved_at=move.moved_at,
        )


class PublishIn(Inbound):
    """Paths and the hashes of artifacts that are kept already. `pointer` is an id or `namespace/name`."""

    entries: Annotated[list[EntryIn], Field(min_length=1)]
    pointer: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    expected: Sha256 | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    message: Annotated[str, Field(max_length=4000)] | None = None
    reason: Annotated[str, Field(max_length=2000)] | None = None


class OutputOut(Outbound):
    """`no` is its number in the feed of the session."""

    no: int
    kind: Literal["artifact", "manifest", "pointer"]
    ref: str
    run_id: str | None
    at: datetime
    data: Mapping[str, Any]

    @classmethod
    def of(cls, output: Output) -> "OutputOut":
        return cls(
            no=output.no, kind=output.kind.value, ref=output.ref, run_id=output.run_id, at=output.at, data=output.data
        )


class PublishedOut(Outbound):
    manifest: ManifestOut | None
    is_duplicate: bool
    pointer: PointerOut | None
    outputs: list[OutputOut]

    @classmethod
    def of(cls, published: Published) -> "PublishedOut":
        return cls(
            manifest=ManifestOut.of(published.manifest) if published.manifest else None,
            is_duplicate=published.is_duplicate,
            pointer=PointerOut.of(published.pointer) if published.pointer else None,
            outputs=[OutputOut.of(each) for each in published.outputs],
        )


class CountsOut(Outbound):
    artifacts: int
    manifests: int
    pointer_moves: int

    @classmethod
    def of(cls, counts: Mapping[OutputKind, int]) -> "CountsOut":
        return cls(
            artifacts=counts[OutputKind.ARTIFACT],
            manifests=counts[OutputKind.MANIFEST],
            pointer_moves=counts[OutputKind.POINTER],
        )


class OutputsOut(Outbound):
    """`counts` are those of the whole session, or of the run that was asked for; all kinds, and all pages."""

    items: list[OutputOut]
    counts: CountsOut
    next: str | None = None


class CostOut(Outbound):
    session_id: str
    runs: int
    tokens: float
    cost_cents: float
    model_calls: int
    tool_calls: int
    message_bytes: int
    output_bytes: int

    @classmethod
    def of(cls, cost: SessionCost) -> "CostOut":
        return cls(**_of(cost, cls))


class SessionStorageOut(Outbound):
    session_id: str
    classification: str | None
    message_bytes: int
    output_bytes: int

    @classmethod
    def of(cls, storage: SessionStorage) -> "SessionStorageOut":
        return cls(**_of(storage, cls))


class ClassStorageOut(Outbound):
    sessions: int
    message_bytes: int
    output_bytes: int


class StorageOut(Outbound):
    """Content is counted once, however often it is kept. `by_class` names sessions without a class `none`."""

    blobs: int
    blob_bytes: int
    artifacts: int
    manifests: int
    by_class: dict[str, ClassStorageOut]
    sessions: list[SessionStorageOut]

    @classmethod
    def of(cls, storage: TenantStorage, *, most_sessions: int) -> "StorageOut":
        classes: dict[str, list[SessionStorage]] = {}
        for each in storage.sessions:
            classes.setdefault(each.classification or "none", []).append(each)
        largest = sorted(storage.sessions, key=lambda each: -(each.message_bytes + each.output_bytes))
        return cls(
            blobs=storage.blobs,
            blob_bytes=storage.blob_bytes,
            artifacts=storage.artifacts,
            manifests=storage.manifests,
            by_class={
                name: ClassStorageOut(
                    sessions=len(found),
                    message_bytes=sum(each.message_bytes for each in found),
                    output_bytes=sum(each.output_bytes for each in found),
                )
                for name, found in sorted(classes.items())
            },
            sessions=[SessionStorageOut.of(each) for each in largest[:most_sessions]],
        )


def _of(source: object, shape: type[Outbound]) -> dict[str, Any]:
    """The fields of a shape that has the same names as what it shows."""
    return {name: getattr(source, name) for name in shape.model_fields}
