"""What we ask of a database about bindings and the addresses behind them."""

from collections.abc import Sequence
from typing import Protocol

from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.binding import Binding, Contact
from turnkeeper.model.ids import BindingId, TenantId, UserId


class BindingStore(Protocol):
    async def create(self, binding: Binding, audit: AuditFacts) -> None:
        """From now on it is found by its id alone too."""

    async def find(self, binding_id: BindingId) -> Binding:
        """By someone from outside, who knows no tenant. Raises BindingNotFound."""

    async def get(self, tenant: TenantId, binding_id: BindingId) -> Binding:
        """Raises BindingNotFound, also for one of another tenant."""

    async def list(self, tenant: TenantId, *, before: BindingId | None, limit: int) -> Sequence[Binding]:
        """Newest first, from just before the given one."""

    async def change(self, binding: Binding, audit: AuditFacts) -> None:
        """Raises BindingNotFound when it was removed meanwhile."""

    async def remove(self, tenant: TenantId, binding_id: BindingId, audit: AuditFacts) -> None:
        """With its contacts. What goes out through it is no longer sent. Raises BindingNotFound."""

    async def put_contact(self, contact: Contact, audit: AuditFacts) -> None:
        """Make an address known, or say something else about it. Raises BindingNotFound."""

    async def remember(self, contact: Contact) -> None:
        """Which session a contact is in now. Someone whom an operator has meanwhile given to another user stays so."""

    async def contact(self, tenant: TenantId, binding_id: BindingId, address: str) -> Contact | None: ...

    async def contacts(
        self, tenant: TenantId, binding_id: BindingId, *, user: UserId | None, after: str, limit: int
    ) -> Sequence[Contact]:
        """By address, from just after the given one; of one user, or all."""

    async def remove_contact(self, tenant: TenantId, binding_id: BindingId, address: str, audit: AuditFacts) -> bool:
        """Whether there was one."""
