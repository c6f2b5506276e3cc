"""What a store promises about the audit."""

import asyncio
import json

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import (
    NODE,
    OTHER_NODE,
    TENANT,
    a_kept_session,
    a_session,
    accept,
    audit_of,
    close_session,
)
from turnkeeper.errors import SessionNotFound
from turnkeeper.ledger.audit import verify_audit
from turnkeeper.model.audit import AuditEntry
from turnkeeper.model.ids import HOUSE, TenantId
from turnkeeper.ports.runs import RequestKey
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

OTHER_TENANT = TenantId("globex")


async def entries_of(store: Store, tenant: TenantId | None = None) -> list[AuditEntry]:
    return [entry async for entry in store.audit.entries(tenant)]


async def verbs(store: Store, tenant: TenantId | None = None) -> list[str]:
    return sorted(json.loads(entry.body)["verb"] for entry in await entries_of(store, tenant))


async def test_every_envelope_leaves_one_entry(store: Store) -> None:
    session = await a_kept_session(store)
    brought, request = a_session(), RequestKey(key="delivery-1", body_hash=b"body")
    await accept(store, "Hello", session, request=request)
    await accept(store, "Hello", session, request=request)
    await accept(store, "Hello", brought, new_session=brought)
    await close_session(store, session)
    await store.audit.record(audit_of("chat", outcome="refused"))

    assert await verbs(store) == ["chat", "chat", "chat", "chat", "close", "create"]
    assert (await verify_audit(store.audit)).holds


async def test_the_chains_of_a_tenant_are_read_from_their_newer_ends(store: Store, backend: Backend) -> None:
    other = backend.store(OTHER_NODE)
    await other.database.open()
    for verb in ("one", "two", "three"):
        await store.audit.record(audit_of(verb))
    await other.audit.record(audit_of("four"))
    await store.audit.record(audit_of("five", OTHER_TENANT))

    ends = await store.audit.newest(TENANT)
    read = [[end, *await store.audit.before(TENANT, end.chain, end.no, limit=5)] for end in ends]
    await other.database.close()

    assert sorted(entry.chain for entry in ends) == sorted({entry.chain for entry in await entries_of(store, TENANT)})
    for chain in read:
        assert [entry.no for entry in chain] == [*range(chain[0].no, 0, -1)]
    assert sum(map(len, read)) == len(await entries_of(store, TENANT)) == 4


async def test_an_entry_holds_its_facts_as_canonical_json(store: Store) -> None:
    await store.audit.record(audit_of("chat", outcome="refused"))

    (entry,) = await entries_of(store)

    assert entry.no == 1
    assert entry.body == ('{"at":"2026-03-01T12:00:00+00:00","outcome":"refused","user":"ada","verb":"chat"}')


async def test_a_refused_message_leaves_no_entry_of_its_own(store: Store) -> None:
    with pytest.raises(SessionNotFound):
        await accept(store, "Hello", a_session())

    assert await entries_of(store) == []


async def test_the_chain_goes_on_after_a_refusal(store: Store) -> None:
    session = await a_kept_session(store)
    with pytest.raises(SessionNotFound):
        await accept(store, "Hello", a_session())

    await accept(store, "Hello", session)

    verdict = await verify_audit(store.audit)
    assert (verdict.holds, verdict.entries) == (True, 2)


async def test_tenants_have_chains_of_their_own(store: Store) -> None:
    await store.audit.record(audit_of("chat"))
    await store.audit.record(audit_of("chat", OTHER_TENANT))

    ours, theirs = await entries_of(store, TENANT), await entries_of(store, OTHER_TENANT)

    assert [entry.tenant for entry in (*ours, *theirs)] == [TENANT, OTHER_TENANT]
    assert len(await entries_of(store)) == 2


async def test_chains_of_many_entries_are_read_to_their_end(store: Store) -> None:
    await asyncio.gather(*(store.audit.record(audit_of("chat")) for _ in range(1201)))

    verdict = await verify_audit(store.audit)

    assert (verdict.holds, verdict.entries) == (True, 1201)


async def test_the_chain_holds_when_many_envelopes_come_in_at_once(store: Store, backend: Backend) -> None:
    other = backend.store(OTHER_NODE)
    await other.database.open()
    sessions = [await a_kept_session(store) for _ in range(4)]

    await asyncio.gather(
        *(accept((store, other)[number % 2], "Hello", sessions[number % 4]) for number in range(40)),
        *(store.audit.record(audit_of("chat", outcome="refused")) for _ in range(10)),
    )

    await other.database.close()
    verdict = await verify_audit(store.audit)
    assert (verdict.holds, verdict.entries) == (True, 54)


async def test_a_node_that_opens_again_under_its_name_goes_on_with_its_chain(store: Store, backend: Backend) -> None:
    await store.audit.record(audit_of("chat"))
    again = backend.store(NODE)
    await again.database.open()

    await again.audit.record(audit_of("chat"))

    await again.database.close()
    verdict = await verify_audit(store.audit)
    assert (verdict.holds, verdict.entries, verdict.chains) == (True, 2, 1)


async def test_a_changed_entry_is_found(store: Store, backend: Backend) -> None:
    for _ in range(3):
        await store.audit.record(audit_of("chat"))

    await backend.tamper("UPDATE audit SET body = replace(body, 'accepted', 'refused') WHERE no = 2")

    assert not (await verify_audit(store.audit)).holds


async def test_a_missing_entry_is_found(store: Store, backend: Backend) -> None:
    for _ in range(3):
        await store.audit.record(audit_of("chat"))

    await backend.tamper("DELETE FROM audit WHERE no = 2")

    assert not (await verify_audit(store.audit)).holds


async def test_a_chain_cut_off_at_its_end_is_found_by_its_anchor(store: Store, backend: Backend) -> None:
    for _ in range(3):
        await store.audit.record(audit_of("chat"))
    await store.audit.anchor(at=NOON)

    await backend.tamper(f"DELETE FROM audit WHERE tenant = '{TENANT}' AND no = 3")

    assert not (await verify_audit(store.audit)).holds


async def test_an_anchor_holds_the_heads_of_all_chains_that_grew(store: Store) -> None:
    await store.audit.record(audit_of("chat"))
    await store.audit.record(audit_of("chat", OTHER_TENANT))

    anchored = await store.audit.anchor(at=NOON)

    verdict = await verify_audit(store.audit)
    assert (anchored, verdict.anchors, verdict.holds) == (2, 2, True)
    assert await verbs(store, HOUSE) == ["anchor"]


async def test_there_is_nothing_to_anchor_when_nothing_grew(store: Store) -> None:
    await store.audit.record(audit_of("chat"))
    await store.audit.anchor(at=NOON)

    again = await store.audit.anchor(at=NOON)

    assert again == 0
    assert await verbs(store, HOUSE) == ["anchor"]


async def test_anchors_hold_while_envelopes_come_in(store: Store) -> None:
    session = await a_kept_session(store)

    await asyncio.gather(
        *(accept(store, "Hello", session) for _ in range(20)),
        *(store.audit.anchor(at=NOON) for _ in range(3)),
    )
    await store.audit.anchor(at=NOON)

    verdict = await verify_audit(store.audit)
    assert verdict.holds
    assert verdict.anchors > 0


async def test_refusals_without_a_tenant_belong_to_the_house(store: Store) -> None:
    await store.audit.record(audit_of("chat", HOUSE, outcome="refused"))

    assert await verbs(store, HOUSE) == ["chat"]
    assert await store.audit.anchor(at=NOON) == 0
