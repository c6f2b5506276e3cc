"""Manifests: making trees of artifacts, and telling one from another."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnkeeper.errors import ManifestNotFound, NotAllowed
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import UserId
from turnkeeper.model.manifest import Manifest, ManifestDiff, ManifestEntry, difference
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.substrate import ManifestStore
from turnkeeper.substrate.artifacts import plain_sha256
from turnkeeper.substrate.publishing import Files, entries_of, new_manifest

ENTRIES_AT_ONCE = 1_000


class Manifests:
    """The manifests of a tenant: everyone in it may read them, and whoever may write may make them."""

    def __init__(
        self, store: ManifestStore, clock: Clock, *, most_entries: int, audit: Callable[..., AuditFacts]
    ) -> None:
        self._store, self._clock, self._most_entries, self._audit = store, clock, most_entries, audit

    async def create(
        self,
        files: Files,
        *,
        metadata: Mapping[str, Any] | None = None,
        parent: str | None = None,
        message: str | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> tuple[Manifest, bool]:
        """A manifest of these, in this order; True when the same tree was there already.

        Raises ManifestInvalid, ArtifactsMissing with the paths, or ManifestNotFound for its parent.
        """
        if not principal.may_write:
            raise NotAllowed("A viewer makes no manifests. Ask the operator for another role.")
        new = new_manifest(
            principal.tenant,
            entries_of(files),
            metadata=metadata,
            parent=None if parent is None else checked_manifest(parent),
            message=message,
            created_by=principal.user,
            created_at=self._clock.now(),
            made_for=made_for(principal),
            most_entries=self._most_entries,
        )
        audit = self._audit(Command.CREATE_MANIFEST, principal, trace_id, manifest=new.sha256)
        return await self._store.create(new, audit)

    async def get(self, sha256: str, *, principal: Principal = LOCAL) -> Manifest:
        """Raises ManifestNotFound."""
        return await self._store.get(principal.tenant, checked_manifest(sha256))

    async def entries(
        self, sha256: str, *, principal: Principal = LOCAL, after: int = 0, limit: int = 100
    ) -> Sequence[ManifestEntry]:
        """In their order, from behind the first `after` of them."""
        manifest = await self.get(sha256, principal=principal)
        return await self._store.entries(principal.tenant, manifest.sha256, after=after, limit=limit)

    async def history(self, sha256: str, *, principal: Principal = LOCAL, limit: int = 100) -> Sequence[Manifest]:
        """Itself, then its parent, and so on."""
        return await self._store.history(principal.tenant, checked_manifest(sha256), limit=limit)

    async def diff(self, sha256: str, against: str, *, principal: Principal = LOCAL) -> ManifestDiff:
        """What changed from `against` to this one, by path."""
        after = await self._all_entries(sha256, principal)
        return difference(await self._all_entries(against, principal), after)

    async def _all_entries(self, sha256: str, principal: Principal) -> Sequence[ManifestEntry]:
        manifest = await self.get(sha256, principal=principal)
        found: list[ManifestEntry] = []
        while len(found) < manifest.entry_count:
            found += await self._store.entries(
                principal.tenant, manifest.sha256, after=len(found), limit=ENTRIES_AT_ONCE
            )
        return found


def checked_manifest(sha256: str) -> str:
    """In lower case. Raises ManifestNotFound for what is no hash: there is no manifest of such a name."""
    plain = plain_sha256(sha256)
    if plain is None:
        raise ManifestNotFound(sha256[:64])
    return plain


def made_for(principal: Principal) -> UserId | None:
    """Whose content a manifest of this principal may hold, beside what is in manifests already."""
    return None if principal.sees_whole_tenant else principal.user
