"""What a store promises about requests that are done once."""

import asyncio
from datetime import timedelta

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import OTHER_NODE, TENANT, USER
from turnkeeper.errors import DuplicateRequest, RequestUnderWay
from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.ports.runs import RequestKey
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

MINUTE = timedelta(minutes=1)
ORDER = RequestKey(key="order-7", body_hash=b"1" * 32)
OTHER_BODY = RequestKey(key="order-7", body_hash=b"2" * 32)


async def claim(store: Store, request: RequestKey = ORDER, *, seconds: float = 0, user: UserId = USER) -> str | None:
    at = NOON + timedelta(seconds=seconds)
    return await store.answers.claim(TENANT, user, request, about="-", at=at, stale=at - MINUTE)


async def test_the_same_request_gets_the_first_answer(store: Store) -> None:
    assert await claim(store) is None
    await store.answers.answer(TENANT, USER, "order-7", "done", at=NOON)

    assert await claim(store, seconds=3600) == "done"


async def test_another_body_under_the_same_key_is_refused(store: Store) -> None:
    await claim(store)

    with pytest.raises(DuplicateRequest):
        await claim(store, OTHER_BODY, seconds=3600)


async def test_of_many_at_once_on_two_nodes_one_does_it(store: Store, backend: Backend) -> None:
    other = backend.store(OTHER_NODE)
    await other.database.open()
    claims = [claim(each, seconds=no) for no, each in enumerate([store, other] * 4)]

    told = await asyncio.gather(*claims, return_exceptions=True)

    await other.database.close()
    assert [each for each in told if not isinstance(each, RequestUnderWay)] == [None]


async def test_what_was_begun_and_never_answered_is_given_to_another_after_a_while(store: Store) -> None:
    await claim(store)
    with pytest.raises(RequestUnderWay):
        await claim(store, seconds=59)

    assert await claim(store, seconds=61) is None
    await store.answers.answer(TENANT, USER, "order-7", "done", at=NOON + timedelta(seconds=61))
    await store.answers.answer(TENANT, USER, "order-7", "too late", at=NOON)

    assert await claim(store, seconds=300) == "done"


async def test_a_refused_request_is_looked_at_anew(store: Store) -> None:
    await claim(store)

    await store.answers.release(TENANT, USER, "order-7", at=NOON)

    assert await claim(store, OTHER_BODY, seconds=1) is None


async def test_keys_belong_to_their_user_and_tenant(store: Store) -> None:
    await claim(store)

    assert await claim(store, OTHER_BODY, user=UserId("grace")) is None
    other = TenantId("globex")
    assert await store.answers.claim(other, USER, OTHER_BODY, about="-", at=NOON, stale=NOON - MINUTE) is None
