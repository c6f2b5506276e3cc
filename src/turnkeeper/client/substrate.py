"""Manifests, pointers and what comes out of sessions, at a distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnkeeper.client.artifacts import Artifact
from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part, reading
from turnkeeper.client.shapes import read
from turnkeeper.model.ids import PointerId, UserId
from turnkeeper.model.manifest import ManifestDiff, ManifestEntry
from turnkeeper.model.output import Output, OutputKind, SessionCost, SessionStorage
from turnkeeper.model.pointer import DEFAULT_NAMESPACE, Expected, PointerKind, PointerMove

Files = Mapping[str, str | Artifact] | Sequence[tuple[str, str, Mapping[str, Any]]]
"""What stands at each path: a hash or an artifact; or paths, hashes and what else is known of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    sha256: str
    parent: str | None
    entry_count: int
    total_size: int
    metadata: Mapping[str, Any]
    message: str | None
    created_by: UserId
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    id: PointerId
    namespace: str
    name: str
    kind: PointerKind
    manifest: str | None
    description: str | None
    metadata: Mapping[str, Any]
    moves: int
    created_by: UserId
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What came out. `outputs` are those that are new to the session: nothing is told twice."""

    manifest: Manifest | None
    is_duplicate: bool
    pointer: Pointer | None
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassStorage:
    sessions: int
    message_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStorage:
    """`sessions` are the largest ones; `by_class` counts all of them."""

    blobs: int
    blob_bytes: int
    artifacts: int
    manifests: int
    sessions: tuple[SessionStorage, ...]
    by_class: Mapping[str, ClassStorage]


class Manifests(Part):
    async def create(
        self,
        files: Files,
        *,
        metadata: Mapping[str, Any] | None = None,
        parent: str | None = None,
        message: str | None = None,
    ) -> tuple[Manifest, bool]:
        """A manifest of these, in this order; True when the same tree was there already."""
        body = {"entries": _entries(files), "metadata": dict(metadata or {}), "parent": parent, "message": message}
        told = await self._ask("POST", "manifests", body=body)
        return read(told, Manifest), told["is_duplicate"]

    async def get(self, sha256: str) -> Manifest:
        """Raises ManifestNotFound."""
        return await self._get(Manifest, "manifests", sha256)

    async def entries(self, sha256: str, *, after: int = 0, limit: int = 100) -> Page[ManifestEntry]:
        """In their order, from behind the first `after` of them."""
        of = reading(ManifestEntry)
        return await self._page(of, "manifests", sha256, "entries", cursor=after or None, limit=limit)

    async def history(self, sha256: str, *, limit: int = 100) -> Page[Manifest]:
        """Itself, then its parent, and so on."""
        return await self._page(reading(Manifest), "manifests", sha256, "history", cursor=None, limit=limit)

    async def diff(self, sha256: str, against: str) -> ManifestDiff:
        """What changed from `against` to this one, by path."""
        told = await self._ask("GET", "manifests", sha256, "diff", query={"against": against})
        modified = [(each["path"], each["old"], each["new"]) for each in told["modified"]]
        return read({**told, "modified": modified}, ManifestDiff)


class Pointers(Part):
    async def create(
        self,
        name: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        kind: PointerKind | str = PointerKind.BUNDLE,
        manifest: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Pointer:
        """Raises PointerExists when there is one of this name in the namespace, or ManifestNotFound."""
        body = {
            "name": name,
            "namespace": namespace,
            "kind": kind,
            "manifest": manifest,
            "description": description,
            "metadata": dict(metadata or {}),
        }
        return read(await self._ask("POST", "pointers", body=body), Pointer)

    async def get(self, pointer: str) -> Pointer:
        """By its id, or as `namespace/name`. Raises PointerNotFound."""
        if "/" in pointer:
            return await self.named(*pointer.split("/", 1))
        return await self._get(Pointer, "pointers", pointer)

    async def named(self, namespace: str, name: str) -> Pointer:
        """Raises PointerNotFound."""
        return await self._get(Pointer, "pointers", "by-name", namespace, name)

    async def list(
        self,
        *,
        namespace: str | None = None,
        kind: PointerKind | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Page[Pointer]:
        """Newest first."""
        of = reading(Pointer)
        return await self._page(of, "pointers", cursor=before, limit=limit, namespace=namespace, kind=kind)

    async def resolve(self, pointer: str) -> str | None:
        """The manifest where it stands; None while it is empty."""
        told: str | None = (await self._ask("GET", "pointers", await self._id(pointer), "resolve"))["manifest"]
        return told

    async def advance(
        self, pointer: str, manifest: str, *, expected: Expected | None = None, reason: str | None = None
    ) -> Pointer:
        """Move it to a manifest, a newer or an older one. With `expected` only from there."""
        body = {"manifest": manifest, "reason": reason, **_expected(expected)}
        return read(await self._ask("POST", "pointers", await self._id(pointer), "advance", body=body), Pointer)

    async def reset(
        self,
        pointer: str,
        manifest: str | None = None,
        *,
        expected: Expected | None = None,
        reason: str | None = None,
    ) -> Pointer:
        """Put it back to a manifest, or empty it."""
        body = {"manifest": manifest, "reason": reason, **_expected(expected)}
        return read(await self._ask("POST", "pointers", await self._id(pointer), "reset", body=body), Pointer)

    async def delete(self, pointer: str) -> Pointer:
        """Its name is free again and every session loses it at once; its history stays."""
        id = await self._id(pointer)
        return read(await self._ask("DELETE", "pointers", id) or await self._ask("GET", "pointers", id), Pointer)

    async def history(self, pointer_id: str, *, before: int | None = None, limit: int = 50) -> Page[PointerMove]:
        """Newest first, also of a pointer that was deleted. Raises PointerNotFound."""

        def move_of(told: Mapping[str, Any]) -> PointerMove:
            return read({**told, "pointer_id": pointer_id, "kind": told["operation"]}, PointerMove)

        return await self._page(move_of, "pointers", pointer_id, "history", cursor=before, limit=limit)

    async def _id(self, pointer: str) -> str:
        return (await self.get(pointer)).id if "/" in pointer else pointer


class Substrate(Part):
    async def publish(
        self,
        session_id: str,
        files: Files,
        *,
        pointer: str | None = None,
        expected: Expected | None = None,
        message: str | None = None,
        reason: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Published:
        """Bring paths and content out of a session: artifacts, a manifest and the move of a pointer, or nothing."""
        body = {
            "entries": _entries(files),
            "pointer": pointer,
            "message": message,
            "reason": reason,
            "metadata": dict(metadata or {}),
            **_expected(expected),
        }
        return read(await self._ask("POST", "sessions", session_id, "publish", body=body), Published)

    async def outputs(
        self,
        session_id: str,
        *,
        run_id: str | None = None,
        kind: OutputKind | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> Page[Output]:
        """What came out of a session, in the order of its feed; of one run, or of one kind."""
        return await self._page(
            reading(Output),
            "sessions",
            session_id,
            "outputs",
            cursor=after or None,
            limit=limit,
            run_id=run_id,
            kind=kind,
        )

    async def counts(self, session_id: str, *, run_id: str | None = None) -> Mapping[OutputKind, int]:
        """How much came out of a session, or of one run in it, by kind."""
        told = await self._ask("GET", "sessions", session_id, "outputs", query={"run_id": run_id, "limit": 1})
        counts = told["counts"]
        return {
            OutputKind.ARTIFACT: counts["artifacts"],
            OutputKind.MANIFEST: counts["manifests"],
            OutputKind.POINTER: counts["pointer_moves"],
        }

    async def cost(self, session_id: str) -> SessionCost:
        """What the runs of a session spent, and what it takes to keep it."""
        return await self._get(SessionCost, "sessions", session_id, "cost")

    async def storage(self) -> TenantStorage:
        """What a tenant takes, and its largest sessions; for its owner and admins."""
        return await self._get(TenantStorage, "storage")


def _entries(files: Files) -> list[dict[str, Any]]:
    if isinstance(files, Mapping):
        named = ((path, what if isinstance(what, str) else what.sha256) for path, what in files.items())
        return [{"path": path, "sha256": sha256} for path, sha256 in named]
    return [{"path": path, "sha256": sha256, "metadata": dict(metadata)} for path, sha256, metadata in files]


def _expected(expected: Expected | None) -> dict[str, str | None]:
    """Left out it expects nothing, null expects it to be empty."""
    return {} if expected is None else {"expected": expected.manifest}
