"""What a run may do with artifacts, manifests and pointers: nothing that its session does not reach.

Before everything that it reads or moves it asks the check that it was given. What it brings out is written under its
lease: a run that has lost it brings out nothing.
"""

import asyncio
from collections.abc import AsyncIterable, Coroutine, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnkeeper.errors import ManifestInvalid, PointerNotFound, ScopeDenied
from turnkeeper.model.artifact import Artifact
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import PointerId
from turnkeeper.model.lease import Lease
from turnkeeper.model.manifest import ManifestEntry
from turnkeeper.model.mount import MountKind, MountMode, MountRef
from turnkeeper.model.output import PointerTarget, Publication, Published
from turnkeeper.model.pointer import Expected, Pointer
from turnkeeper.model.principal import Principal
from turnkeeper.model.run import Run
from turnkeeper.model.tool import Denial, Resource, ResourceKind
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.effects import Effects
from turnkeeper.ports.feed import FeedStore, Wakes
from turnkeeper.ports.notes import Notes
from turnkeeper.ports.substrate import Check, ManifestStore, Mounted, OutputStore, PointerStore
from turnkeeper.substrate.artifacts import ANY_CONTENT, ArtifactShelf, plain_sha256
from turnkeeper.substrate.publishing import Files, artifacts_in, entries_of, new_manifest, publication_of

READ_POINTER = "substrate.pointer.read"
ADVANCE_POINTER = "substrate.pointer.advance"
PROMOTE_POINTER = "substrate.pointer.promote"
READ_MANIFEST = "substrate.manifest.read"
READ_ARTIFACT = "substrate.artifact.read"
EMIT_ARTIFACT = "substrate.artifact.emit"
ENTRIES_AT_ONCE = 1_000
PATHS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SubstrateDesk:
    """What every run needs of the world to use the substrate."""

    shelf: ArtifactShelf
    manifests: ManifestStore
    pointers: PointerStore
    outputs: OutputStore
    feed: FeedStore
    wakes: Wakes
    clock: Clock
    most_entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOfSubstrate:
    """The run that asks. `used` notes which manifest it saw of each pointer; it sees the same one until its end.

    What agents in threads ask for is done in the `loop` of the run.
    """

    run: Run
    lease: Lease
    check: Check
    mounted: Mounted
    notes: Notes
    used: MutableMapping[str, str]
    effects: Effects
    loop: asyncio.AbstractEventLoop


class RunSubstrate:
    """Async agents await what these give; those in threads are handed the result."""

    def __init__(self, desk: SubstrateDesk, of: RunOfSubstrate) -> None:
        self._desk, self._of = desk, of

    def emit(
        self,
        content: bytes | AsyncIterable[bytes],
        *,
        path: str | None = None,
        media_type: str = ANY_CONTENT,
    ) -> Any:
        """Keep content as an output of the session, and give its Artifact."""
        return self._wherever(self._emit(content, path, media_type))

    def read(self, pointer: str, path: str) -> Any:
        """The bytes of a file behind a mounted pointer, named by its id or as `namespace/name`."""
        return self._wherever(self._read(pointer, path))

    def entries(self, pointer: str) -> Any:
        """What stands behind a mounted pointer."""
        return self._wherever(self._entries(pointer))

    def artifact(self, sha256: str) -> Any:
        """The bytes of content in reach, by its hash."""
        return self._wherever(self._artifact(sha256))

    def manifest(self, sha256: str) -> Any:
        """The entries of a manifest in reach, by its hash."""
        return self._wherever(self._manifest(sha256))

    def publish(
        self,
        files: Files,
        *,
        pointer: str | None = None,
        expected: Expected | None = None,
        message: str | None = None,
        reason: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """Paths and content become a manifest, and the pointer moves there, in one transaction. Gives a Published."""
        return self._wherever(self._publish(files, pointer, expected, message, reason, metadata))

    def advance(
        self, pointer: str, manifest: str, *, expected: Expected | None = None, reason: str | None = None
    ) -> Any:
        """Move a mounted pointer to a manifest in reach, also to an older one. Gives the Pointer."""
        return self._wherever(self._advance(pointer, manifest, expected, reason))

    def _wherever(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(work, self._of.loop).result()
        return work

    async def _emit(self, content: bytes | AsyncIterable[bytes], path: str | None, media_type: str) -> Artifact:
        await self._check_custody(EMIT_ARTIFACT)
        await self._check(EMIT_ARTIFACT)
        run, now = self._of.run, self._desk.clock.now()
        facts = {"user": run.user, "session_id": run.session_id, "run_id": run.id}
        audit = AuditFacts(tenant=run.tenant, at=now, verb="keep_artifact", outcome="accepted", facts=facts)
        artifact = await self._desk.shelf.keep(
            content,
            media_type=media_type,
            name=path,
            principal=Principal(tenant=run.tenant, user=run.user),
            audit=audit,
        )
        about = {"artifact_id": artifact.id, "media_type": artifact.media_type, **({"path": path} if path else {})}
        await self._bring_out(
            Publication(
                tenant=run.tenant,
                session_id=run.session_id,
                emitted={artifact.sha256: about},
                published_by=run.user,
                published_at=now,
            )
        )
        return artifact

    async def _read(self, pointer: str, path: str) -> bytes:
        found = await self._pointer(pointer, READ_POINTER)
        manifest = await self._seen(found)
        entry = None if manifest is None else await self._desk.manifests.entry(found.tenant, manifest, path)
        if entry is None:
            await self._deny(READ_POINTER, Resource(kind=ResourceKind.POINTER, id=found.id))
        assert entry is not None
        return await self._desk.shelf.content(found.tenant, entry.sha256)

    async def _entries(self, pointer: str) -> Sequence[ManifestEntry]:
        found = await self._pointer(pointer, READ_POINTER)
        manifest = await self._seen(found)
        return () if manifest is None else await self._all_entries(manifest)

    async def _artifact(self, sha256: str) -> bytes:
        wanted = _artifact(plain_sha256(sha256) or sha256)
        await self._check(READ_ARTIFACT, wanted)
        return await self._desk.shelf.content(self._of.run.tenant, wanted.id)

    async def _manifest(self, sha256: str) -> Sequence[ManifestEntry]:
        wanted = _manifest(plain_sha256(sha256) or sha256)
        await self._check(READ_MANIFEST, wanted)
        return await self._all_entries(wanted.id)

    async def _publish(
        self,
        files: Files,
        pointer: str | None,
        expected: Expected | None,
        message: str | None,
        reason: str | None,
        metadata: Mapping[str, Any] | None,
    ) -> Published:
        run, entries = self._of.run, entries_of(files)
        if not entries:
            raise ManifestInvalid("There is nothing to publish.")
        await self._check_custody(EMIT_ARTIFACT)
        await self._check(EMIT_ARTIFACT)
        # Nothing is carried out of a scope by publishing it.
        await self._check(READ_ARTIFACT, *(_artifact(sha256) for sha256 in {each.sha256 for each in entries}))
        manifest = new_manifest(
            run.tenant,
            entries,
            metadata=metadata,
            parent=None,
            message=message,
            created_by=run.user,
            created_at=self._desk.clock.now(),
            # What the session reaches was checked already, and may be kept by somebody else.
            made_for=None,
            most_entries=self._desk.most_entries,
        )
        if pointer is None:
            return await self._bring_out(publication_of(manifest, run.session_id, None, artifacts_in(files)))
        paths = [entry.path for entry in entries[:PATHS_SHOWN]]
        about = _about(manifest.sha256, expected, reason) | {"paths": paths, "files": len(entries)}
        found, key = await self._pointer_to_move(pointer, about)
        target = PointerTarget(id=found.id, expected=expected, reason=reason)
        return await self._moved(key, publication_of(manifest, run.session_id, target, artifacts_in(files)))

    async def _advance(self, pointer: str, manifest: str, expected: Expected | None, reason: str | None) -> Pointer:
        wanted = _manifest(plain_sha256(manifest) or manifest)
        await self._check_custody(ADVANCE_POINTER)
        await self._check(READ_MANIFEST, wanted)
        found, key = await self._pointer_to_move(pointer, _about(wanted.id, expected, reason))
        run = self._of.run
        target = PointerTarget(id=found.id, to=wanted.id, expected=expected, reason=reason)
        published = await self._moved(
            key,
            Publication(
                tenant=run.tenant,
                session_id=run.session_id,
                emitted={},
                pointer=target,
                published_by=run.user,
                published_at=self._desk.clock.now(),
            ),
        )
        assert published.pointer is not None
        return published.pointer

    async def _moved(self, key: str, publication: Publication) -> Published:
        """A move is an effect of the run: one that was made in an earlier walk is not made again."""
        made: list[Published] = []

        async def move() -> dict[str, Any]:
            made.append(await self._bring_out(publication))
            pointer = made[0].pointer
            assert pointer is not None, "what moves a pointer gives it"
            return {"pointer": pointer.id, "to": pointer.manifest, "published": made[0].manifest is not None}

        kept = await self._of.effects.once(key, move, repeatable=True, about={"action": key.partition("#")[0]})
        if kept["to"] is not None:
            self._of.used[kept["pointer"]] = kept["to"]
        return made[0] if made else await self._as_it_was(kept)

    async def _as_it_was(self, kept: Mapping[str, Any]) -> Published:
        tenant = self._of.run.tenant
        pointer = await self._desk.pointers.get(tenant, PointerId(kept["pointer"]))
        manifest = await self._desk.manifests.get(tenant, kept["to"]) if kept["published"] else None
        return Published(
            manifest=manifest, is_duplicate=True, pointer=replace(pointer, manifest=kept["to"]), outputs=()
        )

    async def _bring_out(self, publication: Publication) -> Published:
        published = await self._desk.outputs.publish(publication, lease=self._of.lease)
        if published.outputs:
            self._tell()
        return published

    async def _pointer(self, named: str, action: str) -> Pointer:
        """A mounted pointer that this may be done to."""
        found = await self._found(named, action)
        await self._check(action, Resource(kind=ResourceKind.POINTER, id=found.id))
        return found

    async def _pointer_to_move(self, named: str, about: Mapping[str, Any]) -> tuple[Pointer, str]:
        """A mounted pointer that may be moved like this, and the key of this move. What is no bundle is promoted."""
        found = await self._found(named, ADVANCE_POINTER)
        action = PROMOTE_POINTER if found.needs_promotion else ADVANCE_POINTER
        return found, await self._check(action, Resource(kind=ResourceKind.POINTER, id=found.id), about=about)

    async def _found(self, named: str, action: str) -> Pointer:
        tenant = self._of.run.tenant
        try:
            namespace, slash, name = named.partition("/")
            if slash:
                return await self._desk.pointers.named(tenant, namespace, name)
            return await self._desk.pointers.get(tenant, PointerId(named))
        except PointerNotFound:
            await self._deny(action, Resource(kind=ResourceKind.POINTER, id=named))
            raise

    async def _seen(self, pointer: Pointer) -> str | None:
        """The manifest that this run sees of a pointer: the one that it is fixed to, else where it first stood."""
        if pointer.id in self._of.used:
            return self._of.used[pointer.id]
        mount = await self._of.mounted(MountRef(kind=MountKind.POINTER, id=pointer.id))
        manifest = mount.manifest if mount and mount.mode is MountMode.FIXED else pointer.manifest
        if manifest is not None:
            self._of.used[pointer.id] = manifest
        return manifest

    async def _all_entries(self, manifest: str) -> Sequence[ManifestEntry]:
        found: list[ManifestEntry] = []
        tenant = self._of.run.tenant
        while page := await self._desk.manifests.entries(tenant, manifest, after=len(found), limit=ENTRIES_AT_ONCE):
            found += page
        return found

    async def _check(self, action: str, *resources: Resource, about: Mapping[str, Any] | None = None) -> str:
        try:
            return await self._of.check(action, *resources, about=about)
        except ScopeDenied as denied:
            await self._record(action, denied.denial, resources)
            raise

    async def _check_custody(self, action: str) -> None:
        """A session that somebody else keeps has no feed of ours in which an output could be told."""
        if not self._of.run.custody.is_ours:
            await self._record(action, Denial.POLICY_DENIED, ())
            raise ScopeDenied(Denial.POLICY_DENIED)

    async def _deny(self, action: str, resource: Resource) -> None:
        """What does not exist is told like what is not mounted."""
        await self._record(action, Denial.OUT_OF_SCOPE, (resource,))
        raise ScopeDenied(Denial.OUT_OF_SCOPE)

    async def _record(self, action: str, denial: Denial, resources: Sequence[Resource]) -> None:
        said = {"code": denial.value, "action": action}
        if resources:
            said["resource"] = resources[0].kind.value
        self._of.notes.warn(f"denied.{denial.value}", said)
        await self._desk.feed.append(self._of.lease, FeedType.SCOPE_DENIED, said, at=self._desk.clock.now())
        self._tell()

    def _tell(self) -> None:
        self._desk.wakes.tell(self._of.lease.tenant, self._of.lease.subject)


def _about(manifest: str, expected: Expected | None, reason: str | None) -> dict[str, Any]:
    """What a person who is asked about a move must know of it."""
    said: dict[str, Any] = {"manifest": manifest}
    if expected is not None:
        said["expected"] = expected.manifest
    return said | ({"reason": reason} if reason else {})


def _artifact(sha256: str) -> Resource:
    return Resource(kind=ResourceKind.ARTIFACT, id=sha256)


def _manifest(sha256: str) -> Resource:
    return Resource(kind=ResourceKind.MANIFEST, id=sha256)
