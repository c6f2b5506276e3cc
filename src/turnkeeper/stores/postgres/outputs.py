"""What comes out of sessions, in a PostgreSQL database: published in one transaction, told in the feed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from turnkeeper.errors import ArtifactsMissing, LeaseLost
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.ids import RunId, SessionId, Subject, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.model.manifest import Manifest
from turnkeeper.model.output import Output, OutputKind, Publication, Published, SessionCost, SessionStorage
from turnkeeper.model.pointer import Pointer
from turnkeeper.stores import substrate as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Tx, sql
from turnkeeper.stores.postgres.endings import append_feed
from turnkeeper.stores.postgres.held import locked_lease
from turnkeeper.stores.postgres.manifests import keep_manifest, sizes_of
from turnkeeper.stores.postgres.pointers import held_pointer, move_pointer
from turnkeeper.stores.rows import Params


class PostgresOutputs:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def publish(
        self, publication: Publication, *, lease: Lease | None = None, audit: AuditFacts | None = None
    ) -> Published:
        if audit is None:
            return await self._database.finish(self._publish(publication, lease, None))
        published = await self._database.finish(
            self._audit.append(audit, lambda entry: self._publish(publication, lease, entry))
        )
        assert published is not None
        return published

    async def _publish(self, publication: Publication, lease: Lease | None, entry: AuditEntry | None) -> Published:
        async with self._database.transaction("publish") as tx:
            published = await self._published(tx, publication, lease)
            if entry is not None:
                await tx.run(sql.append_audit, entry_params(entry))
            return published

    async def _published(self, tx: Tx, publication: Publication, lease: Lease | None) -> Published:
        held = await locked_lease(tx, publication.tenant, Subject(publication.session_id))
        if lease is not None and (held["fence"] != lease.fence or held["holder"] is None):
            raise LeaseLost(lease.run_id)
        place = {"tenant": publication.tenant, "session_id": publication.session_id}
        if lease is None:
            rows.refuse_if_over(publication, await tx.one(sql.get_session, place))
        telling = _Telling(tx, publication, lease.run_id if lease else None)
        pointer = manifest = None
        is_duplicate, before = False, frozenset[str]()
        if publication.pointer is not None:
            pointer = await held_pointer(tx, publication.tenant, publication.pointer.id)
        new = publication.manifest
        if new is not None:
            if new.parent is None and pointer is not None:
                new = replace(new, parent=pointer.manifest)
            before = await self._held_by(tx, publication.tenant, new.parent)
            manifest, is_duplicate = await keep_manifest(tx, new)
        await telling.tell_artifacts(before)
        if manifest is not None:
            await telling.tell_manifest(manifest, is_duplicate=is_duplicate)
        if publication.pointer is not None and pointer is not None:
            to = publication.pointer.to or (manifest.sha256 if manifest else None)
            pointer = await telling.move(pointer, to)
        return Published(manifest=manifest, is_duplicate=is_duplicate, pointer=pointer, outputs=tuple(telling.outputs))

    async def _held_by(self, tx: Tx, tenant: TenantId, manifest: str | None) -> frozenset[str]:
        if manifest is None:
            return frozenset()
        place = {"tenant": tenant, "hash": manifest, "after": 0, "limit": None}
        return frozenset(row["sha256"] for row in await tx.run(sql.manifest_entries, place))

    async def list(
        self,
        tenant: TenantId,
        session_id: SessionId,
        *,
        run_id: RunId | None,
        kind: OutputKind | None,
        after: int,
        limit: int,
    ) -> Sequence[Output]:
        place = {
            "tenant": tenant,
            "session_id": session_id,
            "run_id": run_id,
            "kind": None if kind is None else kind.value,
            "after": after,
            "limit": limit,
        }
        return [rows.output_of(row) for row in await self._database.read(sql.list_outputs, place)]

    async def newest(self, tenant: TenantId, session_id: SessionId, *, limit: int) -> Sequence[Output]:
        place = {"tenant": tenant, "session_id": session_id, "limit": limit}
        found = await self._database.read(sql.newest_outputs, place)
        return [rows.output_of(row) for row in reversed(found)]

    async def counts(
        self, tenant: TenantId, session_id: SessionId, *, run_id: RunId | None = None
    ) -> Mapping[OutputKind, int]:
        place = {"tenant": tenant, "session_id": session_id, "run_id": run_id}
        found = await self._database.read(sql.count_outputs, place)
        return {OutputKind(row["kind"]): row["count"] for row in found}

    async def cost(self, tenant: TenantId, session_id: SessionId) -> SessionCost:
        accounts: list[str | None] = []
        place: Params = {"tenant": tenant, "session_id": session_id, "after": "", "limit": rows.ACCOUNTS_AT_ONCE}
        while page := await self._database.read(sql.accounts_of_session, place):
            accounts += [row["account"] for row in page]
            place |= {"after": page[-1]["id"]}
        only = {"tenant": tenant, "first": session_id, "after": "", "limit": 1}
        found = await self._database.read(sql.storage_of_sessions, only)
        return rows.cost_of(session_id, accounts, rows.storage_of(found[0]) if found else None)

    async def storage(self, tenant: TenantId, *, after: SessionId | None, limit: int) -> Sequence[SessionStorage]:
        place = {"tenant": tenant, "first": "", "after": after or "", "limit": limit}
        return [rows.storage_of(row) for row in await self._database.read(sql.storage_of_sessions, place)]

    async def totals(self, tenant: TenantId) -> Mapping[str, int]:
        (found,) = await self._database.read(sql.storage_totals, {"tenant": tenant})
        return {name: int(found[name]) for name in ("blobs", "blob_bytes", "artifacts", "manifests")}


class _Telling:
    """Writes what is new to the session under the next numbers of its feed."""

    def __init__(self, tx: Tx, publication: Publication, run_id: RunId | None) -> None:
        self._tx, self._publication, self._run_id = tx, publication, run_id
        self.outputs: list[Output] = []

    async def tell_artifacts(self, before: frozenset[str]) -> None:
        """What the manifest before did not hold; every one of them must be there."""
        emitted = self._publication.emitted
        sizes = await sizes_of(self._tx, self._publication.tenant, list(emitted))
        if gone := [{"path": said.get("path"), "sha256": ref} for ref, said in emitted.items() if ref not in sizes]:
            raise ArtifactsMissing(gone)
        for sha256, about in emitted.items():
            if sha256 not in before and not await self._is_known(OutputKind.ARTIFACT, sha256):
                await self._tell(OutputKind.ARTIFACT, sha256, rows.artifact_said(sha256, about, sizes[sha256]))

    async def tell_manifest(self, manifest: Manifest, *, is_duplicate: bool) -> None:
        if not await self._is_known(OutputKind.MANIFEST, manifest.sha256):
            said = rows.manifest_said(manifest, is_duplicate=is_duplicate)
            await self._tell(OutputKind.MANIFEST, manifest.sha256, said)

    async def move(self, pointer: Pointer, to: str | None) -> Pointer:
        """Where it stands already it does not move; that is no mistake, unless it was expected elsewhere."""
        move = rows.move_of_publication(self._publication, to, self._run_id)
        if pointer.manifest == to and move.expected is None:
            return pointer
        pointer, told = await move_pointer(self._tx, pointer, move)
        await self._tell(OutputKind.POINTER, pointer.id, rows.move_said(pointer, told))
        return pointer

    async def _is_known(self, kind: OutputKind, ref: str) -> bool:
        place = {"tenant": self._publication.tenant, "session_id": self._publication.session_id}
        return await self._tx.one(sql.known_output, place | {"kind": kind.value, "ref": ref}) is not None

    async def _tell(self, kind: OutputKind, ref: str, data: dict[str, Any]) -> None:
        tenant, session_id, at = (
            self._publication.tenant,
            self._publication.session_id,
            self._publication.published_at,
        )
        no = await append_feed(self._tx, tenant, Subject(session_id), rows.TOLD_AS[kind], self._run_id, at, data)
        output = Output(no=no, kind=kind, ref=ref, run_id=self._run_id, at=at, data=data)
        await self._tx.run(sql.insert_output, rows.output_params(tenant, session_id, output))
        self.outputs.append(output)
