"""Manifests in a PostgreSQL database."""

from collections.abc import Sequence

from turnkeeper.errors import ManifestNotFound
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import TenantId
from turnkeeper.model.manifest import Manifest, ManifestEntry, NewManifest
from turnkeeper.stores import substrate as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Tx, sql


class PostgresManifests:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, new: NewManifest, audit: AuditFacts) -> tuple[Manifest, bool]:
        made = await self._database.finish(self._audit.append(audit, lambda entry: self._create(new, entry)))
        assert made is not None
        return made

    async def _create(self, new: NewManifest, entry: AuditEntry) -> tuple[Manifest, bool]:
        async with self._database.transaction("create_manifest") as tx:
            made = await keep_manifest(tx, new)
            await tx.run(sql.append_audit, entry_params(entry))
            return made

    async def get(self, tenant: TenantId, sha256: str) -> Manifest:
        found = await self._database.read(sql.get_manifest, {"tenant": tenant, "hash": sha256})
        if not found:
            raise ManifestNotFound(sha256)
        return rows.manifest_of(found[0])

    async def entries(self, tenant: TenantId, sha256: str, *, after: int, limit: int) -> Sequence[ManifestEntry]:
        place = {"tenant": tenant, "hash": sha256, "after": after, "limit": limit}
        return [rows.entry_of(row) for row in await self._database.read(sql.manifest_entries, place)]

    async def entry(self, tenant: TenantId, sha256: str, path: str) -> ManifestEntry | None:
        found = await self._database.read(sql.manifest_entry, {"tenant": tenant, "hash": sha256, "path": path})
        return rows.entry_of(found[0]) if found else None

    async def history(self, tenant: TenantId, sha256: str, *, limit: int) -> Sequence[Manifest]:
        found = await self._database.read(sql.manifest_history, {"tenant": tenant, "hash": sha256, "limit": limit})
        if not found:
            raise ManifestNotFound(sha256)
        return [rows.manifest_of(row) for row in found]


async def keep_manifest(tx: Tx, new: NewManifest) -> tuple[Manifest, bool]:
    """Keep it inside of a write; True when the same tree was there already."""
    sizes = await sizes_of(tx, new.tenant, new.hashes)
    hashes = {"tenant": new.tenant, "hashes": list(new.hashes), "user_id": new.made_for}
    theirs = None if new.made_for is None else {row[0] for row in await tx.run(sql.contents_open_to, hashes)}
    rows.check_contents(new, sizes, theirs)
    if new.parent is not None:
        await check_manifest(tx, new.tenant, new.parent)
    manifest = new.kept(sizes)
    if await tx.run(sql.insert_manifest, rows.manifest_params(manifest)):
        for params in rows.entry_params(manifest, new.entries):
            await tx.run(sql.insert_manifest_entry, params)
        return manifest, False
    found = await tx.one(sql.get_manifest, rows.manifest_params(manifest))
    assert found is not None
    return rows.manifest_of(found), True


async def sizes_of(tx: Tx, tenant: TenantId, hashes: Sequence[str]) -> dict[str, int]:
    """How large each of these contents is that is there; it stays there until this write is durable."""
    found = await tx.run(sql.hold_contents, {"tenant": tenant, "hashes": list(hashes)})
    return {row["sha256"]: row["size"] for row in found}


async def hold_mounted(tx: Tx, tenant: TenantId, hashes: Sequence[str]) -> None:
    """What is mounted now stays there until this write is durable. Raises MountNotFound."""
    if hashes:
        rows.check_mounted(hashes, await sizes_of(tx, tenant, hashes))


async def check_manifest(tx: Tx, tenant: TenantId, sha256: str) -> None:
    if await tx.one(sql.get_manifest, {"tenant": tenant, "hash": sha256}) is None:
        raise ManifestNotFound(sha256)
