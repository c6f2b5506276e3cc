"""Bindings and contacts in a SQLite file."""

from collections.abc import Sequence

from turnkeeper.errors import BindingNotFound
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.binding import Binding, Contact
from turnkeeper.model.ids import HOUSE, BindingId, TenantId, UserId
from turnkeeper.stores import bindings as rows
from turnkeeper.stores.rows import Params
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql


class SqliteBindings:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def create(self, binding: Binding, audit: AuditFacts) -> None:
        params = rows.binding_params(binding)
        await self._database.write("create_binding", lambda tx: self._create(tx, params, audit))

    def _create(self, tx: Tx, params: Params, audit: AuditFacts) -> None:
        tx.execute(sql.insert_binding, params)
        tx.execute(sql.insert_binding_place, params)
        self._audit.append(tx, audit)

    async def find(self, binding_id: BindingId) -> Binding:
        found = self._database.read(sql.find_binding, {"house": HOUSE, "id": binding_id})
        if not found:
            raise BindingNotFound(binding_id)
        return rows.binding_of(found[0])

    async def get(self, tenant: TenantId, binding_id: BindingId) -> Binding:
        found = self._database.read(sql.get_binding, {"tenant": tenant, "id": binding_id})
        if not found:
            raise BindingNotFound(binding_id)
        return rows.binding_of(found[0])

    async def list(self, tenant: TenantId, *, before: BindingId | None, limit: int) -> Sequence[Binding]:
        place = {"tenant": tenant, "before": before or rows.LAST, "limit": limit}
        return [rows.binding_of(row) for row in self._database.read(sql.list_bindings, place)]

    async def change(self, binding: Binding, audit: AuditFacts) -> None:
        params = rows.binding_params(binding)
        await self._database.write("change_binding", lambda tx: self._change(tx, params, audit))

    def _change(self, tx: Tx, params: Params, audit: AuditFacts) -> None:
        if not tx.execute(sql.change_binding, params).fetchall():
            raise BindingNotFound(params["id"])
        self._audit.append(tx, audit)

    async def remove(self, tenant: TenantId, binding_id: BindingId, audit: AuditFacts) -> None:
        params = {"tenant": tenant, "id": binding_id, "house": HOUSE}
        await self._database.write("remove_binding", lambda tx: self._remove(tx, params, audit))

    def _remove(self, tx: Tx, params: Params, audit: AuditFacts) -> None:
        if not tx.execute(sql.remove_binding, params).fetchall():
            raise BindingNotFound(params["id"])
        tx.execute(sql.remove_binding_place, params)
        tx.execute(sql.remove_contacts, params)
        self._audit.append(tx, audit)

    async def put_contact(self, contact: Contact, audit: AuditFacts) -> None:
        params = rows.contact_params(contact)
        await self._database.write("put_contact", lambda tx: self._put_contact(tx, params, audit))

    def _put_contact(self, tx: Tx, params: Params, audit: AuditFacts) -> None:
        if not tx.execute(sql.put_contact, params).fetchall():
            raise BindingNotFound(params["binding"])
        self._audit.append(tx, audit)

    async def remember(self, contact: Contact) -> None:
        params = rows.contact_params(contact)
        await self._database.write("remember_contact", lambda tx: _remember(tx, params))

    async def contact(self, tenant: TenantId, binding_id: BindingId, address: str) -> Contact | None:
        place = {"tenant": tenant, "binding": binding_id, "address": address}
        found = self._database.read(sql.get_contact, place)
        return rows.contact_of(found[0]) if found else None

    async def contacts(
        self, tenant: TenantId, binding_id: BindingId, *, user: UserId | None, after: str, limit: int
    ) -> Sequence[Contact]:
        place = {"tenant": tenant, "binding": binding_id, "user": user, "after": after, "limit": limit}
        return [rows.contact_of(row) for row in self._database.read(sql.list_contacts, place)]

    async def remove_contact(self, tenant: TenantId, binding_id: BindingId, address: str, audit: AuditFacts) -> bool:
        place = {"tenant": tenant, "binding": binding_id, "address": address}
        return await self._database.write("remove_contact", lambda tx: self._remove_contact(tx, place, audit))

    def _remove_contact(self, tx: Tx, place: Params, audit: AuditFacts) -> bool:
        removed = tx.execute(sql.remove_contact, place).fetchall()
        self._audit.append(tx, audit)
        return bool(removed)


def _remember(tx: Tx, params: Params) -> None:
    tx.execute(sql.remember_contact, params).fetchall()
