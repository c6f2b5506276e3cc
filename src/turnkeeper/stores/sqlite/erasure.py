"""Erasing sessions and users from a SQLite file, with a receipt."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

from turnkeeper.errors import LastOwner, ReceiptNotFound, SessionNotFound
from turnkeeper.model.blob import Blob
from turnkeeper.model.ids import ReceiptId, TenantId, UserId
from turnkeeper.model.receipt import Erased, Receipt
from turnkeeper.ports.erasure import Doomed, Named, Place, Terms
from turnkeeper.stores import artifacts as blobs
from turnkeeper.stores import erasing as rows
from turnkeeper.stores import substrate
from turnkeeper.stores.rows import Params, micros
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteErasure:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def of_user(self, tenant: TenantId, user: UserId) -> tuple[Sequence[Place], Sequence[Place]]:
        whose = {"tenant": tenant, "user": user}
        kept = rows.places_of(self._database.read(sql.sessions_of_owner, whose))
        return kept, rows.places_of(self._database.read(sql.carried_by_user, whose))

    async def named_in(self, doomed: Doomed) -> AsyncIterator[str]:
        for place in (*doomed.places, *doomed.carried):
            params: Params = rows.place_params(doomed.tenant, place) | {"seq": 0, "after": "", "limit": rows.AT_ONCE}
            while page := self._database.read(sql.inputs_of_session, params):
                for text in substrate.texts_of(page, "input"):
                    yield text
                params |= {"after": page[-1]["id"]}
                await asyncio.sleep(0)
        for place in doomed.places:
            params = rows.place_params(doomed.tenant, place) | {"seq": 0, "limit": rows.AT_ONCE}
            while page := self._database.read(sql.events_of_session, params):
                for text in substrate.texts_of(page, "event"):
                    yield text
                params |= {"seq": page[-1]["seq"]}
                await asyncio.sleep(0)
            for row in self._database.read(sql.contents_of_session, params):
                yield row["sha256"]
                for artifact in self._database.read(sql.artifacts_of_content, params | {"hash": row["sha256"]}):
                    if artifact["created_by"] == doomed.owner:
                        yield artifact["id"]
        if doomed.user is not None:
            for row in self._database.read(sql.artifacts_of_user, {"tenant": doomed.tenant, "user": doomed.user}):
                yield row["id"]

    async def erase(self, doomed: Doomed, named: Named, terms: Terms) -> tuple[Receipt, Sequence[Blob]]:
        return await self._database.write("erase", lambda tx: self._erase(tx, doomed, named, terms))

    def _erase(self, tx: Tx, doomed: Doomed, named: Named, terms: Terms) -> tuple[Receipt, Sequence[Blob]]:
        erasing = _Erasing(tx, doomed, named)
        tx.execute(sql.open_erasure, {})
        for place in doomed.carried:
            erasing.erase_runs(place)
        for place in doomed.places:
            erasing.erase_session(place)
        gone = erasing.erase_content()
        if doomed.user is not None:
            erasing.erase_user(doomed.user)
        tx.execute(sql.close_erasure, {})
        receipt = rows.receipt_of_erasure(doomed, terms, erasing.erased(gone, terms))
        tx.execute(sql.insert_receipt, rows.receipt_params(receipt))
        self._audit.append(tx, terms.audit)
        return receipt, gone

    async def receipt(self, tenant: TenantId, receipt_id: ReceiptId) -> Receipt:
        found = self._database.read(sql.get_receipt, {"tenant": tenant, "id": receipt_id})
        if not found:
            raise ReceiptNotFound(receipt_id)
        return rows.receipt_of(found[0])

    async def receipts(self, tenant: TenantId, *, before: ReceiptId | None, limit: int) -> Sequence[Receipt]:
        place = {"tenant": tenant, "before": before or rows.LAST, "limit": limit}
        return [rows.receipt_of(row) for row in self._database.read(sql.list_receipts, place)]

    async def since(self, at: datetime) -> AsyncIterator[Receipt]:
        place: Params = {"since": micros(at), "tenant": "", "after": "", "limit": rows.AT_ONCE}
        while page := self._database.read(sql.receipts_since, place):
            for row in page:
                yield rows.receipt_of(row)
            place |= {"tenant": page[-1]["tenant"], "after": page[-1]["id"]}

    async def scrub(self) -> bool:
        return await self._database.scrub()


class _Erasing:
    """One erasure inside of its transaction, and what it comes to."""

    def __init__(self, tx: Tx, doomed: Doomed, named: Named) -> None:
        self._tx, self._doomed, self._named = tx, doomed, named
        self._gone: dict[str, int] = {}
        self._changed: dict[str, int] = {}
        self._stays: Mapping[str, int] = {}
        self._manifests: list[str] = []
        self._moves = self._kept_manifests = self._kept_blobs = self._continued = self._sources = 0

    def erase_runs(self, place: Place) -> None:
        """The lease first: whoever runs may write nothing from here on."""
        params = rows.place_params(self._doomed.tenant, place)
        self._tx.execute(sql.quiet_lease, params)
        for table in rows.OF_RUNS:
            self._delete(table, f"erase_{table}", params)

    def erase_session(self, place: Place) -> None:
        params = rows.place_params(self._doomed.tenant, place)
        self._manifests += [row["sha256"] for row in self._tx.execute(sql.manifests_of_session, params).fetchall()]
        self._continued += self._found(sql.sessions_after, params)
        self._sources += self._found(sql.sources_of_session, params | {"name": rows.JOURNAL.format(**params)})
        self.erase_runs(place)
        self._delete("unit_search", "erase_unit_search", params)
        for table in rows.OF_SESSION:
            self._delete(table, f"erase_{table}", params)
        self._redact_moves(params)
        self._change("contacts", "erase_contacts", params)
        self._change("sessions", "erase_forks", params)
        if not self._delete("sessions", "erase_sessions", params):
            raise SessionNotFound(place[0])

    def _redact_moves(self, params: Params) -> None:
        moves = self._tx.execute(sql.moves_of_session, params).fetchall()
        if moves:
            self._moves += self._count(sql.erase_pointer_moves, params)
            self._tx.executemany(sql.append_move, [rows.redacted(move) for move in moves])

    def erase_content(self) -> list[Blob]:
        """Manifests before what is in them, and of that only what nobody else has a name for."""
        tenant, named = self._doomed.tenant, self._named
        hashes = set(named.hashes)
        for manifest in self._manifests:
            place = {"tenant": tenant, "hash": manifest}
            if manifest in named.elsewhere or not self._delete("manifests", "erase_manifests", place):
                self._kept_manifests += 1
                continue
            self._delete("manifest_entries", "erase_manifest_entries", place)
        for id in sorted(named.ids):
            if found := self._tx.execute(sql.get_artifact, {"tenant": tenant, "id": id}).fetchone():
                hashes.add(found["sha256"])
        # Claimed first and looked at after: whoever referred to it meanwhile has committed by then.
        claimed = [blob for sha256 in sorted(hashes) if (blob := self._claim(sha256))]
        said = self._said_since() if claimed else []
        return [blob for blob in claimed if self._erase_blob(blob, said)]

    def _claim(self, sha256: str) -> Blob | None:
        found = self._tx.execute(sql.get_blob, {"tenant": self._doomed.tenant, "hash": sha256}).fetchone()
        if found is None or not self._tx.execute(sql.claim_blob, blobs.place_of(blobs.blob_of(found))).fetchone():
            return None
        return blobs.blob_of(found)

    def _said_since(self) -> Sequence[str]:
        """What may name content since it was looked for, and what is pinned or mounted right now."""
        tenant, since = self._doomed.tenant, self._named.since
        newest = {"tenant": tenant, "after": substrate.run_before(since), "since": substrate.contexts_from(since)}
        said = list(substrate.texts_of(self._tx.execute(sql.inputs_since, newest).fetchall(), "input"))
        said += substrate.texts_of(self._tx.execute(sql.content_pinned, newest).fetchall(), "mounts")
        said += substrate.texts_of(self._tx.execute(sql.layers_that_mention, newest).fetchall(), "data")
        said += substrate.texts_of(self._tx.execute(sql.contexts_since, newest).fetchall(), "data")
        return said

    def _erase_blob(self, blob: Blob, said: Sequence[str]) -> bool:
        place = blobs.place_of(blob) | {"before": rows.ANY_AGE}
        names = self._tx.execute(sql.artifacts_of_content, place).fetchall()
        used = self._is_used(blob.sha256, said) or not self._tx.execute(sql.is_loose, place).fetchone()
        doomed = [row for row in names if row["id"] in self._named.ids and not self._is_used(row["id"], said)]
        if not used:
            for row in doomed:
                self._delete("artifacts", "erase_artifacts", {"tenant": blob.tenant, "id": row["id"]})
        if used or len(doomed) < len(names):
            self._kept_blobs += 1
            return False
        self._tx.execute(sql.remove_blob, blobs.place_of(blob))
        self._tx.execute(sql.drop_pieces, blobs.place_of(blob))
        self._gone["blobs"] = self._gone.get("blobs", 0) + 1
        return True

    def _is_used(self, name: str, said: Sequence[str]) -> bool:
        return name in self._named.elsewhere or any(name in text for text in said)

    def erase_user(self, user: UserId) -> None:
        params = {"tenant": self._doomed.tenant, "user": user, "pseudonym": self._doomed.pseudonym}
        owners = {row["id"] for row in self._tx.execute(sql.acting_owners, params).fetchall()}
        if owners == {user}:
            raise LastOwner(user)
        self._delete("requests", "erase_requests_of_user", params)
        self._delete("contacts", "erase_contacts_of_user", params)
        self._delete("users", "erase_users", params)
        self._delete("carried_revisions", "erase_carried_revisions", params)
        self._delete("device_sessions", "erase_device_sessions", params)
        self._delete("api_keys", "erase_api_keys_of_user", params)
        for table in rows.RENAMED:
            self._change(table, f"rename_in_{table}", params)
        self._stays = {row["place"]: row["found"] for row in self._tx.execute(sql.stays_of_user, params).fetchall()}

    def erased(self, gone: Sequence[Blob], terms: Terms) -> Erased:
        kept = rows.kept_because(
            moves=self._moves,
            manifests=self._kept_manifests,
            blobs=self._kept_blobs,
            continued=self._continued,
            sources=self._sources,
            stays=self._stays,
        )
        return Erased(
            reason=terms.reason,
            sessions=self._doomed.sessions,
            rows=rows.counted(self._gone),
            changed=rows.counted(self._changed),
            files=sum(blob.lies_in_files for blob in gone),
            threads=terms.threads,
            kept=tuple(kept),
            pseudonym=self._doomed.pseudonym,
        )

    def _delete(self, table: str, statement: str, params: Params) -> int:
        count = self._count(getattr(sql, statement), params)
        self._gone[table] = self._gone.get(table, 0) + count
        return count

    def _change(self, table: str, statement: str, params: Params) -> None:
        self._changed[table] = self._changed.get(table, 0) + self._count(getattr(sql, statement), params)

    def _count(self, statement: str, params: Params) -> int:
        return self._tx.execute(statement, params).rowcount

    def _found(self, statement: str, params: Params) -> int:
        found: int = self._tx.execute(statement, params).fetchall()[0]["found"]
        return found
