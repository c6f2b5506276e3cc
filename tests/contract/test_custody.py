"""What a database holds of sessions that it does not keep."""

import asyncio
from dataclasses import replace

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import NODE, OTHER_NODE, TENANT, audit_of, clock
from turnkeeper.errors import SealKeyNotFound
from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.seal import SealKey
from turnkeeper.ports.store import Store

ADA, EVE, DEFAULT = UserId("ada"), UserId("eve"), SessionId("default")


def a_key(name: str, tenant: TenantId = TENANT) -> SealKey:
    return SealKey(tenant=tenant, id=name, key=bytes(31) + name[-1].encode(), created_at=clock.now())


async def test_a_device_finds_what_was_kept_last_and_no_other_one_does(store: Store) -> None:
    await store.devices.keep(TENANT, ADA, DEFAULT, {"lang": "en"}, at=clock.now())
    await store.devices.keep(TENANT, ADA, DEFAULT, {"site_id": "kitchen", "deep": [1, {"a": None}]}, at=clock.now())

    kept = await store.devices.load(TENANT, ADA, DEFAULT)
    others = [
        await store.devices.load(TENANT, EVE, DEFAULT),
        await store.devices.load(TenantId("globex"), ADA, DEFAULT),
    ]

    assert kept == {"site_id": "kitchen", "deep": [1, {"a": None}]}
    assert others == [None, None]


async def test_of_nodes_that_make_the_first_key_at_once_one_does(backend: Backend) -> None:
    stores = [backend.store(node) for node in (NODE, OTHER_NODE)]
    for store in stores:
        await store.database.open()

    await asyncio.gather(*(store.seals.make_first(a_key(f"seal_{no}")) for no, store in enumerate(stores * 3)))
    keys = [await store.seals.keys(TENANT) for store in stores]

    for store in stores:
        await store.database.close()
    assert keys[0] == keys[1]
    assert len(keys[0]) == 1


async def test_keys_are_told_from_the_oldest_on_and_those_of_a_tenant_to_nobody_else(store: Store) -> None:
    first, second = a_key("seal_1"), replace(a_key("seal_2"), created_at=clock.now())
    await store.seals.make_first(first)
    await store.seals.add(second, audit_of())
    await store.seals.make_first(a_key("seal_3"))

    assert await store.seals.keys(TENANT) == [first, second]
    assert await store.seals.keys(TenantId("globex")) == []


async def test_a_retired_key_has_no_bytes_and_makes_room_for_a_first_one(store: Store, backend: Backend) -> None:
    await store.seals.make_first(a_key("seal_1"))

    await store.seals.retire(TENANT, "seal_1", audit_of(), at=clock.now())
    await store.seals.retire(TENANT, "seal_1", audit_of(), at=clock.now())
    await store.seals.make_first(a_key("seal_2"))

    one, two = await store.seals.keys(TENANT)
    assert (one.key, one.retired_at is None, two.id) == (None, False, "seal_2")
    assert await backend.execute("SELECT key FROM seal_keys WHERE id = 'seal_1'") == [(None,)]
    with pytest.raises(SealKeyNotFound):
        await store.seals.retire(TenantId("globex"), "seal_2", audit_of(), at=clock.now())
