"""What a database holds of sessions that it does not keep."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import (
    NODE,
    OTHER_NODE,
    TENANT,
    a_session,
    audit_of,
    clock,
    end_as,
    held,
    intake_of,
    run_saying,
)
from turnkeeper.errors import CarriedStale, LeaseLost, SealKeyNotFound, SessionMoved
from turnkeeper.model.event import Event
from turnkeeper.model.ids import Fence, SessionId, TenantId, UserId
from turnkeeper.model.run import RunInput, RunStatus
from turnkeeper.model.seal import SealKey
from turnkeeper.model.session import Custody
from turnkeeper.ports.custody import DeviceFields, RevisionMark
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

ADA, EVE, DEFAULT = UserId("ada"), UserId("eve"), SessionId("default")


def a_key(name: str, tenant: TenantId = TENANT) -> SealKey:
    return SealKey(tenant=tenant, id=name, key=bytes(31) + name[-1].encode(), created_at=clock.now())


def kept_for_ada(fields: Mapping[str, Any], version: int = 0) -> DeviceFields:
    return DeviceFields(user=ADA, session_id=DEFAULT, fields=fields, version=version)


async def test_what_a_turn_leaves_with_a_device_is_kept_with_its_end_or_not_at_all(store: Store) -> None:
    session = a_session(custody=Custody.DEVICE)
    run, lease = await held(store, "Hello", session)
    lost = replace(lease, fence=Fence(lease.fence + 1))

    with pytest.raises(LeaseLost):
        await store.runs.end(lost, end_as(run, RunStatus.COMPLETED, device=kept_for_ada({"of": "nobody"})))
    before = await store.devices.load(TENANT, ADA, DEFAULT)
    await store.runs.end(lease, end_as(run, RunStatus.COMPLETED, device=kept_for_ada({"of": "Ada"})))

    assert before is None
    assert await store.devices.load(TENANT, ADA, DEFAULT) == kept_for_ada({"of": "Ada"}, 1)


async def test_a_device_finds_what_was_kept_last_and_no_other_one_does(store: Store) -> None:
    one_after_the_other: list[dict[str, Any]] = [{"lang": "en"}, {"site_id": "kitchen", "deep": [1, {"a": None}]}]
    for version, fields in enumerate(one_after_the_other):
        await store.devices.keep(TENANT, kept_for_ada(fields, version), at=clock.now())

    kept = await store.devices.load(TENANT, ADA, DEFAULT)
    others = [
        await store.devices.load(TENANT, EVE, DEFAULT),
        await store.devices.load(TenantId("globex"), ADA, DEFAULT),
    ]

    assert kept == kept_for_ada({"site_id": "kitchen", "deep": [1, {"a": None}]}, 2)
    assert others == [None, None]


async def test_what_a_device_kept_is_not_written_over_by_who_lags_behind_or_knew_it_before_it_was_erased(
    store: Store,
) -> None:
    session = a_session(custody=Custody.DEVICE)
    run, lease = await held(store, "Hello", session)
    for version in range(2):
        await store.devices.keep(TENANT, kept_for_ada({"kept": version}, version), at=clock.now())

    for late in (0, 1, 3):
        with pytest.raises(SessionMoved):
            await store.devices.keep(TENANT, kept_for_ada({"late": True}, late), at=clock.now())
    with pytest.raises(SessionMoved):
        await store.runs.end(lease, end_as(run, RunStatus.COMPLETED, device=kept_for_ada({"late": True}, 1)))

    assert await store.devices.load(TENANT, ADA, DEFAULT) == kept_for_ada({"kept": 1}, 2)
    assert (await store.runs.get(TENANT, run.id)).status is RunStatus.RUNNING
    with pytest.raises(SessionMoved):
        await store.devices.keep(TENANT, replace(kept_for_ada({}, 1), user=EVE), at=clock.now())
    assert await store.devices.load(TENANT, EVE, DEFAULT) is None


async def test_what_a_client_carries_leaves_its_runs_when_it_is_no_longer_needed(store: Store) -> None:
    session, later = a_session(custody=Custody.CLIENT), NOON + timedelta(minutes=1)
    carried = {"carried": {"state": {"odd": "\x00", "large": 2**70}}}
    said = {"text": "A NUL is written \\u0000, and \\\\u0000 is something else."}
    ended = []
    for until, result in ((NOON, {**said, **carried}), (NOON, carried), (later, carried)):
        run, lease = await held(store, "Hello", session)
        await store.runs.end(lease, end_as(run, RunStatus.COMPLETED, result=result, carried_until=until))
        ended.append(run)

    forgotten = [await store.runs.forget_carried(at=NOON) for _ in range(2)]

    results = [(await store.runs.get(TENANT, run.id)).result for run in ended]
    assert results == [said, None, carried]
    assert forgotten == [2, 0]


async def test_what_a_client_has_sent_leaves_a_run_that_failed_and_its_question_stays(store: Store) -> None:
    state = {"state": {"odd": "\x00", "note": "4711"}}
    asked = RunInput(events=(Event(text="Hello"),), metadata={"of": "ada"}, carried=state)
    sent = run_saying("Hello", a_session(custody=Custody.CLIENT), input=asked)
    accepted = await store.runs.accept(intake_of(sent))
    run, lease = accepted.run, accepted.lease
    assert lease is not None

    await store.runs.end(lease, end_as(run, RunStatus.FAILED))

    assert (await store.runs.get(TENANT, run.id)).input == replace(asked, carried=None)


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


async def test_of_runs_that_go_on_from_one_revision_at_once_one_ends_and_the_others_write_nothing(store: Store) -> None:
    session = a_session(custody=Custody.CLIENT)
    begun = [await held(store, "Hello", session) for _ in range(3)]
    mark = RevisionMark(user=ADA, session_id=session.id, sent=0, becomes=1)

    ended = await asyncio.gather(
        *(store.runs.end(lease, end_as(run, RunStatus.COMPLETED, mark=mark)) for run, lease in begun),
        return_exceptions=True,
    )

    lost = [each for each in ended if isinstance(each, CarriedStale)]
    assert [each.facts["revision"] for each in lost] == [1, 1]
    statuses = [(await store.runs.get(TENANT, run.id)).status for run, _ in begun]
    assert sorted(statuses) == [RunStatus.COMPLETED, RunStatus.RUNNING, RunStatus.RUNNING]
    assert await store.revisions.newest(TENANT, ADA, session.id) == 1
    assert await store.revisions.newest(TENANT, EVE, session.id) == 0


async def test_a_newer_state_than_the_one_that_is_remembered_is_taken_and_an_older_one_is_not(store: Store) -> None:
    session = a_session(custody=Custody.CLIENT)

    taken = []
    for sent, becomes in ((0, 1), (5, 6), (6, 7), (6, 7), (5, 6)):
        run, lease = await held(store, "Hello", session)
        mark = RevisionMark(user=ADA, session_id=session.id, sent=sent, becomes=becomes)
        try:
            await store.runs.end(lease, end_as(run, RunStatus.COMPLETED, mark=mark))
        except CarriedStale:
            taken.append(False)
        else:
            taken.append(True)

    assert taken == [True, True, True, False, False]
    assert await store.revisions.of_user(TENANT, ADA) == [{"session_id": session.id, "revision": 7}]
