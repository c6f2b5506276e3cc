"""What a store promises about bindings and contacts."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import TENANT, USER, audit_of
from turnkeeper.errors import BindingNotFound
from turnkeeper.model.binding import Binding, BindingAuth, BindingTerms, Contact, ReplyKind, ReplyPath, Strangers
from turnkeeper.model.ids import AgentId, BindingId, SessionId, TenantId, UserId
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

MAIL = BindingId("bind_1")
TERMS = BindingTerms(
    name="Mail of the shöp",
    agent=AgentId("concierge"),
    pack="desk@1.0.0",
    strangers=Strangers.GUEST,
    grants=("orders:read",),
    auth=BindingAuth.SIGNATURE,
    secrets=("whsec_c2VjcmV0",),
    settings={"locale": "de", "nested": {"n": 1}},
    reply=ReplyPath(kind=ReplyKind.HTTP, url="https://example.org/out", secret="whsec_b3V0"),
)


def a_binding(id: str = MAIL, tenant: TenantId = TENANT, terms: BindingTerms = TERMS) -> Binding:
    return Binding(
        tenant=tenant,
        id=BindingId(id),
        channel="sms",
        terms=terms,
        created_by=USER,
        created_at=NOON,
        updated_at=NOON,
    )


def a_contact(address: str = "ann@example.org", user: str = "ann", session: str | None = None) -> Contact:
    return Contact(
        tenant=TENANT,
        binding=MAIL,
        address=address,
        user=UserId(user),
        session_id=None if session is None else SessionId(session),
        changed_at=NOON,
    )


async def create(store: Store, binding: Binding) -> Binding:
    await store.bindings.create(binding, audit_of("create_binding", binding.tenant))
    return binding


async def put(store: Store, contact: Contact) -> None:
    await store.bindings.put_contact(contact, audit_of("put_contact"))


async def test_a_binding_is_found_by_its_id_alone_and_read_as_it_was_made(store: Store) -> None:
    binding = await create(store, a_binding())

    assert await store.bindings.find(MAIL) == binding
    assert await store.bindings.get(TENANT, MAIL) == binding


async def test_a_binding_of_another_tenant_does_not_exist(store: Store) -> None:
    await create(store, a_binding())

    with pytest.raises(BindingNotFound):
        await store.bindings.get(TenantId("globex"), MAIL)
    with pytest.raises(BindingNotFound):
        await store.bindings.remove(TenantId("globex"), MAIL, audit_of("remove_binding", TenantId("globex")))
    with pytest.raises(BindingNotFound):
        await store.bindings.change(a_binding(tenant=TenantId("globex")), audit_of("change_binding"))
    assert await store.bindings.find(MAIL) == a_binding()


async def test_bindings_are_listed_newest_first_page_by_page(store: Store) -> None:
    for id in ("bind_1", "bind_2", "bind_3"):
        await create(store, a_binding(id))
    await create(store, a_binding("bind_4", tenant=TenantId("globex")))

    first = await store.bindings.list(TENANT, before=None, limit=2)
    second = await store.bindings.list(TENANT, before=first[-1].id, limit=2)

    assert [binding.id for binding in [*first, *second]] == ["bind_3", "bind_2", "bind_1"]


async def test_a_changed_binding_has_its_new_terms(store: Store) -> None:
    binding = await create(store, a_binding())
    changed = binding.changed(replace(TERMS, enabled=False), NOON + timedelta(hours=1))

    await store.bindings.change(changed, audit_of("change_binding"))

    assert await store.bindings.find(MAIL) == changed


async def test_a_binding_goes_with_its_contacts_and_its_place(store: Store, backend: Backend) -> None:
    await create(store, a_binding())
    await put(store, a_contact())

    await store.bindings.remove(TENANT, MAIL, audit_of("remove_binding"))

    with pytest.raises(BindingNotFound):
        await store.bindings.find(MAIL)
    with pytest.raises(BindingNotFound):
        await store.bindings.remove(TENANT, MAIL, audit_of("remove_binding"))
    assert await store.bindings.contact(TENANT, MAIL, "ann@example.org") is None
    assert await backend.execute("SELECT count(*) FROM binding_places") == [(0,)]


async def test_a_contact_is_read_as_it_was_put_and_changed_by_putting_it_again(store: Store) -> None:
    await create(store, a_binding())
    await put(store, a_contact())
    await put(store, a_contact(user="bob", session="sess_1"))

    assert await store.bindings.contact(TENANT, MAIL, "ann@example.org") == a_contact(user="bob", session="sess_1")
    assert await store.bindings.contact(TenantId("globex"), MAIL, "ann@example.org") is None


async def test_no_contact_is_put_at_a_binding_that_there_is_not(store: Store) -> None:
    with pytest.raises(BindingNotFound):
        await put(store, a_contact())

    await store.bindings.remember(a_contact())
    assert await store.bindings.contact(TENANT, MAIL, "ann@example.org") is None


async def test_a_session_is_remembered_at_a_contact_old_or_new(store: Store) -> None:
    await create(store, a_binding())

    await store.bindings.remember(a_contact(session="sess_1"))
    await store.bindings.remember(a_contact(session="sess_2"))

    assert await store.bindings.contact(TENANT, MAIL, "ann@example.org") == a_contact(session="sess_2")


async def test_what_an_operator_has_changed_meanwhile_is_not_remembered_away(store: Store) -> None:
    await create(store, a_binding())
    await put(store, a_contact(user="bob", session="sess_of_bob"))

    await store.bindings.remember(a_contact(user="guest:sms:1", session="sess_of_guest"))

    assert await store.bindings.contact(TENANT, MAIL, "ann@example.org") == a_contact(user="bob", session="sess_of_bob")


async def test_contacts_are_listed_by_address_all_or_those_of_one_user(store: Store) -> None:
    await create(store, a_binding())
    for address, user in (("+3", "ann"), ("+1", "ann"), ("+2", "bob")):
        await put(store, a_contact(address, user))

    everyone = await store.bindings.contacts(TENANT, MAIL, user=None, after="", limit=2)
    rest = await store.bindings.contacts(TENANT, MAIL, user=None, after="+2", limit=2)
    own = await store.bindings.contacts(TENANT, MAIL, user=UserId("ann"), after="", limit=5)

    assert [contact.address for contact in [*everyone, *rest]] == ["+1", "+2", "+3"]
    assert [contact.address for contact in own] == ["+1", "+3"]


async def test_a_removed_contact_is_known_no_longer(store: Store) -> None:
    await create(store, a_binding())
    await put(store, a_contact())

    gone = await store.bindings.remove_contact(TENANT, MAIL, "ann@example.org", audit_of("remove_contact"))
    again = await store.bindings.remove_contact(TENANT, MAIL, "ann@example.org", audit_of("remove_contact"))

    assert (gone, again) == (True, False)
    assert await store.bindings.contact(TENANT, MAIL, "ann@example.org") is None


async def test_every_change_of_bindings_and_contacts_is_audited(store: Store) -> None:
    await create(store, a_binding())
    await put(store, a_contact())
    await store.bindings.remove_contact(TENANT, MAIL, "ann@example.org", audit_of("remove_contact"))
    await store.bindings.change(a_binding(), audit_of("change_binding"))
    await store.bindings.remove(TENANT, MAIL, audit_of("remove_binding"))

    bodies = [entry.body async for entry in store.audit.entries(TENANT)]
    verbs = ["create_binding", "put_contact", "remove_contact", "change_binding", "remove_binding"]
    assert [sum(f'"{verb}"' in body for body in bodies) for verb in verbs] == [1] * 5


def test_no_secret_is_shown_when_a_binding_is_printed() -> None:
    shown = repr(a_binding())

    assert "whsec" not in shown
    assert "c2VjcmV0" not in shown
