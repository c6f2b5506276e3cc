"""Bindings and contacts in a PostgreSQL database."""

from collections.abc import Sequence

from turnkeeper.errors import BindingNotFound
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.binding import Binding, Contact
from turnkeeper.model.ids import HOUSE, BindingId, TenantId, UserId
from turnkeeper.stores import bindings as rows
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, sql
from turnkeeper.stores.rows import Params


class PostgresBindings:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, binding: Binding, audit: AuditFacts) -> None:
        params = rows.binding_params(binding)
        await self._database.finish(self._audit.append(audit, lambda entry: self._create(params, entry)))

    async def _create(self, params: Params, entry: AuditEntry) -> bool:
        async with self._database.transaction("create_binding") as tx:
            await tx.run(sql.insert_binding, params)
            await tx.run(sql.insert_binding_place, params)
            await tx.run(sql.append_audit, entry_params(entry))
            return True

    async def find(self, binding_id: BindingId) -> Binding:
        found = await self._database.read(sql.find_binding, {"house": HOUSE, "id": binding_id})
        if not found:
            raise BindingNotFound(binding_id)
        return rows.binding_of(found[0])

    async def get(self, tenant: TenantId, binding_id: BindingId) -> Binding:
        found = await self._database.read(sql.get_binding, {"tenant": tenant, "id": binding_id})
        if not found:
            raise BindingNotFound(binding_id)
        return rows.binding_of(found[0])

    async def list(self, tenant: TenantId, *, before: BindingId | None, limit: int) -> Sequence[Binding]:
        place = {"tenant": tenant, "before": before or rows.LAST, "limit": limit}
        return [rows.binding_of(row) for row in await self._database.read(sql.list_bindings, place)]

    async def change(self, binding: Binding, audit: AuditFacts) -> None:
        params = rows.binding_params(binding)
        await self._database.finish(self._audit.append(audit, lambda entry: self._change(params, entry)))

    async def _change(self, params: Params, entry: AuditEntry) -> bool:
        async with self._database.transaction("change_binding") as tx:
            if not await tx.run(sql.change_binding, params):
                raise BindingNotFound(params["id"])
            await tx.run(sql.append_audit, entry_params(entry))
            return True

    async def remove(self, tenant: TenantId, binding_id: BindingId, audit: AuditFacts) -> None:
        params = {"tenant": tenant, "id": binding_id, "house": HOUSE}
        await self._database.finish(self._audit.append(audit, lambda entry: self._remove(params, entry)))

    async def _remove(self, params: Params, entry: AuditEntry) -> bool:
        async with self._database.transaction("remove_binding") as tx:
            if not await tx.run(sql.remove_binding, params):
                raise BindingNotFound(params["id"])
            await tx.run(sql.remove_binding_place, params)
            await tx.run(sql.remove_contacts, params)
            await tx.run(sql.append_audit, entry_params(entry))
            return True

    async def put_contact(self, contact: Contact, audit: AuditFacts) -> None:
        params = rows.contact_params(contact)
        await self._database.finish(self._audit.append(audit, lambda entry: self._put_contact(params, entry)))

    async def _put_contact(self, params: Params, entry: AuditEntry) -> bool:
        async with self._database.transaction("put_contact") as tx:
            if not await tx.run(sql.put_contact, params):
                raise BindingNotFound(params["binding"])
            await tx.run(sql.append_audit, entry_params(entry))
            return True

    async def remember(self, contact: Contact) -> None:
        params = rows.contact_params(contact)
        await self._database.finish(self._database.write("remember_contact", sql.remember_contact, params))

    async def contact(self, tenant: TenantId, binding_id: BindingId, address: str) -> Contact | None:
        place = {"tenant": tenant, "binding": binding_id, "address": address}
        found = await self._database.read(sql.get_contact, place)
        return rows.contact_of(found[0]) if found else None

    async def contacts(
        self, tenant: TenantId, binding_id: BindingId, *, user: UserId | None, after: str, limit: int
    ) -> Sequence[Contact]:
        place = {"tenant": tenant, "binding": binding_id, "user": user, "after": after, "limit": limit}
        return [rows.contact_of(row) for row in await self._database.read(sql.list_contacts, place)]

    async def remove_contact(self, tenant: TenantId, binding_id: BindingId, address: str, audit: AuditFacts) -> bool:
        place = {"tenant": tenant, "binding": binding_id, "address": address}
        removed = self._audit.append(audit, lambda entry: self._remove_contact(place, entry))
        return bool(await self._database.finish(removed))

    async def _remove_contact(self, place: Params, entry: AuditEntry) -> bool:
        async with self._database.transaction("remove_contact") as tx:
            removed = await tx.run(sql.remove_contact, place)
            await tx.run(sql.append_audit, entry_params(entry))
            return bool(removed)
