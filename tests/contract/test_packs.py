"""What a store promises about packs, about what a tenant wants otherwise, and about what a session holds."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.contract.backends import Backend, Refused
from tests.contract.builders import (
    OTHER_NODE,
    TENANT,
    a_kept_session,
    accept,
    audit_of,
    exchange,
    feed_of,
    held,
    holding,
    load,
    reset,
    supersede,
)
from turnkeeper.errors import PackImmutable, PackNotFound
from turnkeeper.model.dialogue import Clarification, Dialogue, Form, IntentLock, Option
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import KnowledgeBaseId, RunId, TenantId, UserId
from turnkeeper.model.pack import PackOverride, PackPin, PushedPack
from turnkeeper.model.session import SettingsChange
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

BOOKING = Dialogue(
    intent="BOOK_TABLE",
    state="DETAILS",
    context={"party_size": 4, "guest": {"name": "Ann"}},
    params={"seating": "terrace", "nothing": None},
    forms={"BUY_VOUCHER": Form(state="DETAILS", fields={"amount": 50})},
    asked="date",
    lock=IntentLock(intent="BOOK_TABLE", missing=("date", "time"), taken_at=NOON),
    clarification=Clarification(
        question="Which one?", reason="collision", options=(Option(code="A", label="a"),), turn=1, text="that"
    ),
)
PIN = PackPin(id="table-booking", version="1.0.0", hash="abc")


def a_pack(version: str = "1.0.0", *, id: str = "booking", hash: str = "abc", tenant: TenantId = TENANT) -> PushedPack:
    return PushedPack(
        tenant=tenant,
        id=id,
        version=version,
        hash=hash,
        files={"pack.yaml": f"id: {id}", "knowledge/für.md": "Ölwechsel"},
        pushed_by=UserId("ann"),
        pushed_at=NOON,
        knowledge_base=KnowledgeBaseId("kb_1"),
        knowledge_revision=3,
    )


def wanted(key: str, value: object, *, enabled: bool = True) -> PackOverride:
    return PackOverride(key=key, value=value, enabled=enabled, changed_by=UserId("ann"), changed_at=NOON)


async def test_a_pushed_pack_is_read_as_it_was_pushed(store: Store) -> None:
    await store.packs.push(a_pack(), audit_of("push_pack"))

    assert await store.packs.get(TENANT, "booking", "1.0.0") == a_pack()


async def test_the_same_files_again_change_nothing_and_the_first_push_is_told(store: Store) -> None:
    first = await store.packs.push(a_pack(), audit_of("push_pack"))

    again = await store.packs.push(
        replace(a_pack(), pushed_by=UserId("bob"), pushed_at=NOON + timedelta(days=1)), audit_of("push_pack")
    )

    assert again == first == a_pack()


async def test_a_pushed_version_never_changes(store: Store, backend: Backend) -> None:
    await store.packs.push(a_pack(), audit_of("push_pack"))

    with pytest.raises(PackImmutable):
        await store.packs.push(a_pack(hash="def"), audit_of("push_pack"))

    assert (await store.packs.get(TENANT, "booking")).hash == "abc"
    assert len(await backend.execute("SELECT * FROM audit")) == 1
    for change in ("UPDATE packs SET hash = 'def'", "DELETE FROM packs"):
        with pytest.raises(Refused, match="packs is append-only"):
            await backend.execute(change)


async def test_without_a_version_the_highest_is_meant_by_its_numbers_and_not_by_its_letters(store: Store) -> None:
    for version in ("1.10.0", "1.9.0", "1.9.11"):
        await store.packs.push(a_pack(version, hash=version), audit_of("push_pack"))

    assert (await store.packs.get(TENANT, "booking")).version == "1.10.0"


async def test_packs_are_listed_by_id_and_then_by_version_page_by_page_without_their_files(store: Store) -> None:
    for id, version in (("b", "1.0.0"), ("a", "1.10.0"), ("a", "1.9.0"), ("c", "0.1.0")):
        await store.packs.push(a_pack(version, id=id, hash=version), audit_of("push_pack"))

    page = await store.packs.list(TENANT, after=None, limit=2)
    rest = await store.packs.list(TENANT, after=(page[-1].id, page[-1].version), limit=9)

    assert [pack.pin.ref for pack in page] == ["a@1.9.0", "a@1.10.0"]
    assert [pack.pin.ref for pack in rest] == ["b@1.0.0", "c@0.1.0"]
    assert all(pack.files == {} for pack in page)


async def test_a_pack_of_another_tenant_does_not_exist(store: Store) -> None:
    await store.packs.push(a_pack(tenant=TenantId("globex")), audit_of("push_pack"))
    await store.packs.set_override(TenantId("globex"), "booking", wanted("MIN_CONFIDENCE", 0.9), audit_of("override"))

    for version in (None, "1.0.0"):
        with pytest.raises(PackNotFound):
            await store.packs.get(TENANT, "booking", version)
    assert await store.packs.list(TENANT, after=None, limit=9) == []
    assert await store.packs.overrides(TENANT, "booking") == {}


async def test_what_a_tenant_wants_otherwise_is_seen_at_once_by_every_node(store: Store, backend: Backend) -> None:
    other = backend.store(OTHER_NODE)
    await other.database.open()
    assert await other.packs.overrides(TENANT, "booking") == {}

    await store.packs.set_override(TENANT, "booking", wanted("STICKY_INTENT", False), audit_of("override"))
    await store.packs.set_override(TENANT, "booking", wanted("RESET_REPLY", "Gut.", enabled=False), audit_of("o"))
    seen = await other.packs.overrides(TENANT, "booking")
    await store.packs.set_override(TENANT, "booking", wanted("STICKY_INTENT", True), audit_of("override"))
    changed = await other.packs.overrides(TENANT, "booking")
    await other.database.close()

    assert seen == {
        "STICKY_INTENT": wanted("STICKY_INTENT", False),
        "RESET_REPLY": wanted("RESET_REPLY", "Gut.", enabled=False),
    }
    assert changed["STICKY_INTENT"].value is True


async def test_what_is_wanted_no_longer_is_gone(store: Store) -> None:
    await store.packs.set_override(TENANT, "booking", wanted("STICKY_INTENT", False), audit_of("override"))

    assert await store.packs.drop_override(TENANT, "booking", "STICKY_INTENT", audit_of("override"))
    assert not await store.packs.drop_override(TENANT, "booking", "STICKY_INTENT", audit_of("override"))
    assert await store.packs.overrides(TENANT, "booking") == {}


async def test_what_a_session_holds_about_its_intent_is_kept_with_the_turn_and_restored(store: Store) -> None:
    session = await a_kept_session(store)

    await holding(store, session, BOOKING, PIN)
    loaded = (await load(store, session)).session

    assert loaded.dialogue == BOOKING
    assert loaded.packs == (PIN,)


async def test_the_end_of_a_run_tells_the_intent_of_its_turn(store: Store) -> None:
    session = await a_kept_session(store)

    await holding(store, session, BOOKING)

    told = (await feed_of(store, session))[-1].data["intent"]
    assert told == {"code": "BOOK_TABLE", "state": "DETAILS", "locked": True, "missing": ["date", "time"]}


async def test_a_turn_that_says_nothing_about_the_intent_leaves_it_as_it_is(store: Store) -> None:
    session = await a_kept_session(store)
    await holding(store, session, BOOKING, PIN)

    await exchange(store, session, "Well", "Yes?")

    assert (await load(store, session)).session.dialogue == BOOKING


async def test_a_reset_leaves_only_the_params_that_came_with_it_and_the_pin(store: Store) -> None:
    session = await a_kept_session(store)
    await holding(store, session, BOOKING, PIN)

    _, lease = await held(store, "reset", session)
    await reset(store, session, lease, revision=1, params={"city": "Narva"})
    loaded = (await load(store, session)).session

    assert loaded.dialogue == Dialogue(params={"city": "Narva"})
    assert loaded.packs == (PIN,)


async def test_a_reset_is_audited_with_what_it_cleared_in_its_own_transaction(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    _, lease = await held(store, "reset", session)
    before = len(await backend.execute("SELECT * FROM audit"))

    await reset(store, session, lease)

    bodies = [row[3] for row in await backend.execute("SELECT * FROM audit")]
    assert len(bodies) == before + 1
    assert sum('"outcome":"cleared"' in body for body in bodies) == 1


async def test_a_run_that_has_reset_its_session_is_known_to_have_done_so(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "reset", session)
    assert not await store.runs.has_reset(run)

    await reset(store, session, lease)

    assert await store.runs.has_reset(run)
    assert await store.runs.has_reset(replace(run, id=RunId("run_another"), retry_of=run.id))
    assert not await store.runs.has_reset(replace(run, id=RunId("run_another")))


async def test_an_interrupted_turn_changes_no_intent(store: Store) -> None:
    session = await a_kept_session(store)
    await holding(store, session, BOOKING, PIN)

    _, lease = await held(store, "Tell me a story", session)
    newcomer = (await accept(store, "Shorter!", session)).run

    await supersede(store, lease, newcomer, DoubleText.INTERRUPT)

    loaded = (await load(store, session)).session
    assert (loaded.turns, loaded.dialogue) == (2, BOOKING)


async def test_a_session_is_pinned_anew_by_a_change_of_its_settings(store: Store) -> None:
    session = await a_kept_session(store)
    newer = replace(PIN, version="2.0.0")

    changed = await store.sessions.change(
        session.tenant,
        session.id,
        SettingsChange(packs=(newer,)),
        at=NOON,
        expected_version=None,
        audit=audit_of("repin"),
    )

    assert changed.packs == (newer,)
    assert (await load(store, session)).session.packs == (newer,)
