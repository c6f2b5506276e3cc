"""A tree of artifacts, known by the hash of its entries."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnkeeper.model.ids import TenantId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """Which content stands at a path."""

    path: str
    sha256: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not is_path(self.path):
            raise ValueError(f"a path is relative and stays inside of its tree, and {self.path!r} does not")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Parent, message and author are no part of the hash: the same tree is the same manifest, whoever made it."""

    tenant: TenantId
    sha256: str
    parent: str | None
    entry_count: int
    total_size: int
    metadata: Mapping[str, Any]
    message: str | None
    created_by: UserId
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewManifest:
    """A manifest that is to be kept. `made_for` is whose content it may hold beside what is in manifests already; None
    is everyone's.
    """

    tenant: TenantId
    entries: tuple[ManifestEntry, ...]
    metadata: Mapping[str, Any]
    parent: str | None
    message: str | None
    created_by: UserId
    created_at: datetime
    made_for: UserId | None = None

    @property
    def sha256(self) -> str:
        return manifest_sha256(self.entries, self.metadata)

    @property
    def hashes(self) -> tuple[str, ...]:
        """Each content once, in the order of the entries."""
        return tuple(dict.fromkeys(entry.sha256 for entry in self.entries))

    def kept(self, sizes: Mapping[str, int]) -> Manifest:
        return Manifest(
            tenant=self.tenant,
            sha256=self.sha256,
            parent=self.parent,
            entry_count=len(self.entries),
            total_size=sum(sizes[entry.sha256] for entry in self.entries),
            metadata=self.metadata,
            message=self.message,
            created_by=self.created_by,
            created_at=self.created_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestDiff:
    """What changed from one tree to another, by path; `modified` has the content before and after."""

    added: tuple[ManifestEntry, ...]
    removed: tuple[ManifestEntry, ...]
    modified: tuple[tuple[str, str, str], ...]


def manifest_sha256(entries: Iterable[ManifestEntry], metadata: Mapping[str, Any]) -> str:
    """The hash of the canonical form: sorted keys, no spaces, escaped to ASCII, entries in their own order."""
    listed = [{"path": each.path, "artifact_sha256": each.sha256, "metadata": each.metadata} for each in entries]
    return hashlib.sha256(canonical_json({"entries": listed, "metadata": metadata})).hexdigest()


def canonical_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def difference(before: Sequence[ManifestEntry], after: Sequence[ManifestEntry]) -> ManifestDiff:
    """By path; a change of metadata alone is none."""
    old, new = {each.path: each for each in before}, {each.path: each for each in after}
    return ManifestDiff(
        added=tuple(each for path, each in new.items() if path not in old),
        removed=tuple(each for path, each in old.items() if path not in new),
        modified=tuple(
            (path, old[path].sha256, each.sha256)
            for path, each in new.items()
            if path in old and old[path].sha256 != each.sha256
        ),
    )


def is_path(path: str) -> bool:
    """Whether this names a file inside of a tree, wherever the tree is laid out."""
    parts = path.split("/")
    return (
        0 < len(path) <= MOST_PATH_CHARS
        and path.isprintable()
        and "\\" not in path
        and all(part not in ("", ".", "..") for part in parts)
    )


MOST_PATH_CHARS = 1_024
