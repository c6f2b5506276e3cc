"""Making a publication out of paths and content."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from turnkeeper.errors import ManifestInvalid
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.manifest import ManifestEntry, NewManifest, canonical_json, is_path
from turnkeeper.model.output import PointerTarget, Publication
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.substrate.artifacts import plain_sha256

MOST_DETAILS = 50
MOST_METADATA_BYTES = 65_536
MOST_MESSAGE_CHARS = 4_000

Entries = Sequence[tuple[str, str, Mapping[str, Any]]]
Files = Mapping[str, str | Artifact] | Entries
"""Paths, each with an artifact or the hash of its content; or path, hash and metadata of each entry."""


def entries_of(files: Files) -> list[ManifestEntry]:
    """In the order that they are given in. Raises ManifestInvalid."""
    if not isinstance(files, Mapping):
        return checked_entries(files)
    return checked_entries(
        [(path, each.sha256 if isinstance(each, Artifact) else each, {}) for path, each in files.items()]
    )


def artifacts_in(files: Files) -> Iterable[object]:
    return files.values() if isinstance(files, Mapping) else ()


def checked_entries(given: Entries) -> list[ManifestEntry]:
    """Paths that stay inside of their tree, each once, with the hash of a content. Raises ManifestInvalid."""
    faults: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    for no, (path, sha256, metadata) in enumerate(given):
        if not is_path(path):
            faults.append(_fault(no, "path", "must be relative, and stay inside of its tree"))
        elif path in seen:
            faults.append(_fault(no, "path", "stands there twice"))
        if plain_sha256(sha256) is None:
            faults.append(_fault(no, "sha256", "must be the hash of a content, 64 hexadecimal digits"))
        if not _is_small_json(metadata):
            faults.append(_fault(no, "metadata", f"must be JSON of at most {MOST_METADATA_BYTES} bytes"))
        seen.add(path)
    if faults:
        raise ManifestInvalid("Some entries cannot stand in a manifest.", faults[:MOST_DETAILS])
    return [ManifestEntry(path=path, sha256=sha256.lower(), metadata=metadata) for path, sha256, metadata in given]


def new_manifest(
    tenant: TenantId,
    entries: Sequence[ManifestEntry],
    *,
    metadata: Mapping[str, Any] | None,
    parent: str | None,
    message: str | None,
    created_by: UserId,
    created_at: datetime,
    made_for: UserId | None,
    most_entries: int,
) -> NewManifest:
    """Raises ManifestInvalid."""
    if len(entries) > most_entries:
        raise ManifestInvalid(f"A manifest has at most {most_entries} entries, and this one has {len(entries)}.")
    if not _is_small_json(metadata or {}):
        raise ManifestInvalid(f"The metadata must be JSON of at most {MOST_METADATA_BYTES} bytes.")
    if message is not None and not (len(message) <= MOST_MESSAGE_CHARS and is_plain_text(message)):
        raise ManifestInvalid(f"The message is a text of at most {MOST_MESSAGE_CHARS} characters.")
    return NewManifest(
        tenant=tenant,
        entries=tuple(entries),
        metadata=metadata or {},
        parent=parent,
        message=message,
        created_by=created_by,
        created_at=created_at,
        made_for=made_for,
    )


def publication_of(
    manifest: NewManifest,
    session_id: SessionId,
    pointer: PointerTarget | None,
    artifacts: Iterable[object] = (),
) -> Publication:
    """Of `artifacts`, those that are known beside their hash are told with their id and type."""
    known = {each.sha256: each for each in artifacts if isinstance(each, Artifact)}
    emitted: dict[str, Mapping[str, Any]] = {}
    for entry in manifest.entries:
        artifact = known.get(entry.sha256)
        about = {"artifact_id": artifact.id, "media_type": artifact.media_type} if artifact else {}
        emitted.setdefault(entry.sha256, {"path": entry.path, **about})
    return Publication(
        tenant=manifest.tenant,
        session_id=session_id,
        emitted=emitted,
        manifest=manifest,
        pointer=pointer,
        published_by=manifest.created_by,
        published_at=manifest.created_at,
    )


def _fault(no: int, field: str, message: str) -> Mapping[str, Any]:
    return {"pointer": f"/entries/{no}/{field}", "message": message}


def _is_small_json(value: Mapping[str, Any]) -> bool:
    """Also that it can be written down at all: half of a surrogate pair cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
        return len(canonical_json(value)) <= MOST_METADATA_BYTES
    except (TypeError, ValueError, RecursionError):
        return False
