"""What a store promises about API keys."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.contract.builders import TENANT, USER, audit_of, clock
from turnkeeper.errors import KeyNotFound, TooManyKeys
from turnkeeper.model.api_key import ApiKey, KeyKind
from turnkeeper.model.ids import KeyId, SessionId, TenantId, UserId
from turnkeeper.model.policy import Rate
from turnkeeper.model.principal import Role
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

EVE = UserId("eve")
OTHERS = TenantId("globex")
LATER = NOON + timedelta(hours=1)


def a_key(**changes: Any) -> ApiKey:
    key = ApiKey(
        tenant=TENANT,
        id=KeyId(clock.new_id("key")),
        name="reports",
        user=USER,
        role=Role.MEMBER,
        digest=bytes(range(32)),
        created_by=USER,
        created_at=NOON,
    )
    return replace(key, **changes)


async def kept(store: Store, *, most: int = 100, **changes: Any) -> ApiKey:
    key = a_key(**changes)
    await store.keys.add(key, audit_of("create_key"), most=most)
    return key


async def test_a_key_is_found_as_it_was_made(store: Store) -> None:
    whole = a_key(
        role=Role.AGENT,
        grants=frozenset({"orders.read", "café"}),
        limited_to=frozenset({"sessions:read"}),
        session_id=SessionId("sess_1"),
        is_operator=True,
        rate=Rate(per_second=0.5, burst=7),
        parent="key_other",
        expires_at=LATER,
        kind=KeyKind.LOGIN,
    )
    await store.keys.add(whole, audit_of("log_in"), most=1)
    plain = await kept(store)

    assert await store.keys.find(TENANT, whole.id) == whole
    assert await store.keys.find(TENANT, plain.id) == plain


async def test_a_key_of_another_tenant_is_not_found_and_not_revoked(store: Store) -> None:
    key = await kept(store)

    assert await store.keys.find(OTHERS, key.id) is None
    assert await store.keys.list(OTHERS, KeyKind.KEY, user=None, before=None, limit=10) == []
    with pytest.raises(KeyNotFound):
        await store.keys.revoke(OTHERS, key.id, audit_of("revoke_key", OTHERS), at=LATER)
    assert await store.keys.find(TENANT, key.id) == key


async def test_keys_are_listed_newest_first_and_logins_by_themselves(store: Store) -> None:
    first, second, third = await kept(store), await kept(store, user=EVE), await kept(store)
    login = await kept(store, kind=KeyKind.LOGIN, expires_at=LATER)

    assert list(await store.keys.list(TENANT, KeyKind.KEY, user=None, before=None, limit=10)) == [third, second, first]
    assert list(await store.keys.list(TENANT, KeyKind.KEY, user=None, before=second.id, limit=10)) == [first]
    assert list(await store.keys.list(TENANT, KeyKind.KEY, user=EVE, before=None, limit=10)) == [second]
    assert list(await store.keys.list(TENANT, KeyKind.KEY, user=USER, before=None, limit=1)) == [third]
    for user in (None, USER):
        assert list(await store.keys.list(TENANT, KeyKind.LOGIN, user=user, before=None, limit=9)) == [login]


async def test_a_revoked_key_keeps_the_moment_of_its_first_revocation(store: Store) -> None:
    key = await kept(store)

    once = await store.keys.revoke(TENANT, key.id, audit_of("revoke_key"), at=LATER)
    twice = await store.keys.revoke(TENANT, key.id, audit_of("revoke_key"), at=LATER + timedelta(days=1))

    assert once == twice == replace(key, revoked_at=LATER)


async def test_it_is_remembered_when_a_key_was_used_last(store: Store) -> None:
    key = await kept(store)

    await store.keys.used(TENANT, key.id, at=LATER)

    assert await store.keys.find(TENANT, key.id) == replace(key, used_at=LATER)


async def test_a_user_has_no_more_live_keys_than_allowed_however_many_are_made_at_once(store: Store) -> None:
    revoked = await kept(store)
    await store.keys.revoke(TENANT, revoked.id, audit_of("revoke_key"), at=NOON)
    await kept(store, user=EVE)

    made = await asyncio.gather(*(kept(store, most=2) for _ in range(5)), return_exceptions=True)

    assert sum(isinstance(each, ApiKey) for each in made) == 2
    assert sum(isinstance(each, TooManyKeys) for each in made) == 3


async def test_logins_that_are_over_go_with_the_next_one_of_their_user(store: Store) -> None:
    over = await kept(store, kind=KeyKind.LOGIN, expires_at=LATER)
    of_eve = await kept(store, kind=KeyKind.LOGIN, expires_at=LATER, user=EVE)

    await kept(store, kind=KeyKind.LOGIN, created_at=LATER, expires_at=LATER + timedelta(hours=1))

    assert await store.keys.find(TENANT, over.id) is None
    assert await store.keys.find(TENANT, of_eve.id) == of_eve


async def test_of_too_many_logins_the_oldest_gives_way(store: Store) -> None:
    first = await kept(store, kind=KeyKind.LOGIN, expires_at=LATER)
    second = await kept(store, kind=KeyKind.LOGIN, expires_at=LATER)
    of_eve = await kept(store, kind=KeyKind.LOGIN, expires_at=LATER, user=EVE)

    third = await kept(store, kind=KeyKind.LOGIN, expires_at=LATER, most=2)

    logins = await store.keys.list(TENANT, KeyKind.LOGIN, user=None, before=None, limit=9)
    assert list(logins) == [third, of_eve, second]
    assert await store.keys.find(TENANT, first.id) is None
