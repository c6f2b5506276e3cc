"""Manifests in a SQLite file."""

from collections.abc import Sequence

from turnkeeper.errors import ManifestNotFound
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import TenantId
from turnkeeper.model.manifest import Manifest, ManifestEntry, NewManifest
from turnkeeper.stores import substrate as rows
from turnkeeper.stores.rows import json_text
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteManifests:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, new: NewManifest, audit: AuditFacts) -> tuple[Manifest, bool]:
        return await self._database.write("create_manifest", lambda tx: self._create(tx, new, audit))

    def _create(self, tx: Tx, new: NewManifest, audit: AuditFacts) -> tuple[Manifest, bool]:
        made = keep_manifest(tx, new)
        self._audit.append(tx, audit)
        return made

    async def get(self, tenant: TenantId, sha256: str) -> Manifest:
        found = self._database.read(sql.get_manifest, {"tenant": tenant, "hash": sha256})
        if not found:
            raise ManifestNotFound(sha256)
        return rows.manifest_of(found[0])

    async def entries(self, tenant: TenantId, sha256: str, *, after: int, limit: int) -> Sequence[ManifestEntry]:
        place = {"tenant": tenant, "hash": sha256, "after": after, "limit": limit}
        return [rows.entry_of(row) for row in self._database.read(sql.manifest_entries, place)]

    async def entry(self, tenant: TenantId, sha256: str, path: str) -> ManifestEntry | None:
        found = self._database.read(sql.manifest_entry, {"tenant": tenant, "hash": sha256, "path": path})
        return rows.entry_of(found[0]) if found else None

    async def history(self, tenant: TenantId, sha256: str, *, limit: int) -> Sequence[Manifest]:
        found = self._database.read(sql.manifest_history, {"tenant": tenant, "hash": sha256, "limit": limit})
        if not found:
            raise ManifestNotFound(sha256)
        return [rows.manifest_of(row) for row in found]


def keep_manifest(tx: Tx, new: NewManifest) -> tuple[Manifest, bool]:
    """Keep it inside of a write; True when the same tree was there already."""
    sizes = sizes_of(tx, new.tenant, new.hashes)
    hashes = {"tenant": new.tenant, "hashes": json_text(new.hashes), "user_id": new.made_for}
    theirs = None if new.made_for is None else {row[0] for row in tx.execute(sql.contents_open_to, hashes)}
    rows.check_contents(new, sizes, theirs)
    if new.parent is not None:
        check_manifest(tx, new.tenant, new.parent)
    manifest = new.kept(sizes)
    if tx.execute(sql.insert_manifest, rows.manifest_params(manifest)).fetchall():
        tx.executemany(sql.insert_manifest_entry, rows.entry_params(manifest, new.entries))
        return manifest, False
    return rows.manifest_of(tx.execute(sql.get_manifest, rows.manifest_params(manifest)).fetchone()), True


def sizes_of(tx: Tx, tenant: TenantId, hashes: Sequence[str]) -> dict[str, int]:
    """How large each of these contents is that is there; it stays there until this write is durable."""
    found = tx.execute(sql.hold_contents, {"tenant": tenant, "hashes": json_text(list(hashes))})
    return {row["sha256"]: row["size"] for row in found}


def hold_mounted(tx: Tx, tenant: TenantId, hashes: Sequence[str]) -> None:
    """What is mounted now stays there until this write is durable. Raises MountNotFound."""
    if hashes:
        rows.check_mounted(hashes, sizes_of(tx, tenant, hashes))


def check_manifest(tx: Tx, tenant: TenantId, sha256: str) -> None:
    if tx.execute(sql.get_manifest, {"tenant": tenant, "hash": sha256}).fetchone() is None:
        raise ManifestNotFound(sha256)
