"""What a store promises about sessions and their settings."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.contract.backends import Backend, contents
from tests.contract.builders import (
    OTHER_NODE,
    TENANT,
    USER,
    a_kept_session,
    a_session,
    accept,
    audit_of,
    close_session,
    end_as,
    exchange,
    explained,
    feed_of,
    held,
    lines,
    load,
    reset,
    run_of,
    types,
    waiting,
)
from turnkeeper.errors import InvalidTransition, SessionClosed, SessionNotFound, VersionMoved
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import AgentId, SessionId, TenantId, UserId
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import Session, SessionStatus, SettingsChange
from turnkeeper.ports.sessions import SessionOrder, Sought
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

OTHER_TENANT = TenantId("globex")
OTHER_USER = UserId("grace")
EVERY_SCRIPT = "Grüße, 世界! 👩‍👩‍👧 \u202eمرحبا\u202c \U0010ffff 'quoted' \"twice\" \\ % $1 :name"


async def change(store: Store, session: Session, expected_version: int | None = None, **settings: Any) -> Session:
    return await store.sessions.change(
        session.tenant,
        session.id,
        SettingsChange(**settings),
        at=NOON,
        expected_version=expected_version,
        audit=audit_of("change", session.tenant),
    )


async def test_a_created_session_is_kept_as_it_was_made(store: Store) -> None:
    session = a_session(title="Dinner", double_text=DoubleText.REJECT, metadata={"module": "booking"})

    await store.sessions.create(session, audit_of("create"))

    assert await store.sessions.get(session.tenant, session.id) == session


async def test_a_new_session_starts_without_history_and_without_state(store: Store) -> None:
    session = await a_kept_session(store)

    loaded = await load(store, session)

    assert (loaded.session, loaded.history, loaded.state) == (session, (), {})


async def test_an_unknown_session_is_not_found(store: Store) -> None:
    with pytest.raises(SessionNotFound):
        await store.sessions.get(TENANT, SessionId("sess_unknown"))

    with pytest.raises(SessionNotFound):
        await store.sessions.load(TENANT, SessionId("sess_unknown"), window=20)


async def test_a_session_of_another_tenant_is_not_found(store: Store) -> None:
    session = await a_kept_session(store)

    with pytest.raises(SessionNotFound):
        await store.sessions.get(OTHER_TENANT, session.id)

    with pytest.raises(SessionNotFound):
        await store.sessions.load(OTHER_TENANT, session.id, window=20)

    assert await store.sessions.messages(OTHER_TENANT, session.id, after=0, limit=10) == []


async def test_two_tenants_may_have_a_session_of_the_same_id(store: Store) -> None:
    ours = await a_kept_session(store, title="ours")
    theirs = await a_kept_session(store, id=ours.id, tenant=OTHER_TENANT, title="theirs")

    await exchange(store, ours, "Hello", "Welcome")

    assert lines(await load(store, ours)) == ["Hello", "Welcome"]
    assert lines(await load(store, theirs)) == []


async def test_sessions_are_listed_newest_first_page_by_page(store: Store) -> None:
    kept = [await a_kept_session(store) for _ in range(5)]
    await a_kept_session(store, tenant=OTHER_TENANT)

    first = await store.sessions.list(TENANT, owner=None, before=None, limit=3)
    second = await store.sessions.list(TENANT, owner=None, before=first[-1].id, limit=3)

    assert [session.id for session in (*first, *second)] == [session.id for session in reversed(kept)]


async def test_the_sessions_of_one_owner_can_be_listed_alone(store: Store) -> None:
    hers = [await a_kept_session(store, owner=OTHER_USER) for _ in range(3)]
    await a_kept_session(store)

    first = await store.sessions.list(TENANT, owner=OTHER_USER, before=None, limit=2)
    second = await store.sessions.list(TENANT, owner=OTHER_USER, before=first[-1].id, limit=2)

    assert [session.id for session in (*first, *second)] == [session.id for session in reversed(hers)]


async def test_messages_are_read_in_order_page_by_page(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "one", "two")
    await exchange(store, session, "three", "four")

    first = await store.sessions.messages(TENANT, session.id, after=0, limit=3)
    second = await store.sessions.messages(TENANT, session.id, after=first[-1].seq, limit=3)

    assert [message.content for message in (*first, *second)] == ["one", "two", "three", "four"]
    assert [message.seq for message in (*first, *second)] == [1, 2, 3, 4]
    assert [message.turn for message in (*first, *second)] == [1, 1, 2, 2]


async def test_every_script_comes_back_letter_by_letter(store: Store) -> None:
    session = await a_kept_session(store, title=EVERY_SCRIPT, metadata={EVERY_SCRIPT: EVERY_SCRIPT})

    await exchange(store, session, EVERY_SCRIPT, EVERY_SCRIPT, note=EVERY_SCRIPT)

    loaded = await load(store, session)
    assert lines(loaded) == [EVERY_SCRIPT, EVERY_SCRIPT]
    assert loaded.state == {"note": EVERY_SCRIPT}
    assert (loaded.session.title, loaded.session.metadata) == (EVERY_SCRIPT, {EVERY_SCRIPT: EVERY_SCRIPT})


async def test_fields_that_turnkeeper_does_not_know_survive_in_state_and_metadata(store: Store) -> None:
    unknown = {"from_tomorrow": {"deep": [1, 2.5, None, True, {"er": "still"}]}, "": "", "big": 2**53}
    session = await a_kept_session(store, metadata=unknown)

    await exchange(store, session, "Hello", "Welcome", **unknown)

    loaded = await load(store, session)
    assert loaded.state == unknown
    assert loaded.session.metadata == unknown


async def test_a_change_of_settings_counts_the_version_and_leaves_the_revision(store: Store) -> None:
    session = await a_kept_session(store)

    changed = await change(store, session, title="Dinner", double_text=DoubleText.REJECT)

    assert (changed.title, changed.double_text, changed.version, changed.revision) == (
        "Dinner",
        DoubleText.REJECT,
        2,
        0,
    )
    assert await store.sessions.get(session.tenant, session.id) == changed
    assert types(await feed_of(store, session)) == ["session.changed"]


async def test_a_change_of_settings_does_not_disturb_the_running_turn(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Hello", session)

    await change(store, session, title="Dinner")

    assert await store.runs.stop_wish(lease) is None
    assert (await run_of(store, run)).status is RunStatus.RUNNING


async def test_a_change_for_an_older_version_is_refused_and_writes_nothing(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await change(store, session, title="Dinner", expected_version=1)
    before = await contents(backend)

    with pytest.raises(VersionMoved):
        await change(store, session, title="Lunch", expected_version=1)

    assert await contents(backend) == before


async def test_settings_of_another_tenants_session_cannot_be_changed(store: Store) -> None:
    session = await a_kept_session(store)

    with pytest.raises(SessionNotFound):
        await change(store, a_session(id=session.id, tenant=OTHER_TENANT), title="Mine now")


async def test_a_session_can_be_paused_and_resumed(store: Store) -> None:
    session = await a_kept_session(store)

    paused = await change(store, session, status=SessionStatus.PAUSED)
    resumed = await change(store, session, status=SessionStatus.ACTIVE)

    assert (paused.status, resumed.status) == (SessionStatus.PAUSED, SessionStatus.ACTIVE)


async def test_a_message_on_a_paused_session_resumes_it(store: Store) -> None:
    session = await a_kept_session(store)
    await change(store, session, status=SessionStatus.PAUSED)

    await accept(store, "I am back", session)

    resumed = await store.sessions.get(session.tenant, session.id)
    assert (resumed.status, resumed.version) == (SessionStatus.ACTIVE, 3)


async def test_a_closed_session_stays_closed(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    closed = await close_session(store, session)
    before = await contents(backend)

    with pytest.raises(InvalidTransition):
        await change(store, session, status=SessionStatus.ACTIVE)

    assert (closed.status, closed.closed_at, closed.closed_reason) == (SessionStatus.CLOSED, NOON, "asked")
    assert await contents(backend) == before


async def test_closing_a_session_cancels_its_waiting_runs(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)

    await close_session(store, session)

    assert (await run_of(store, asked)).status is RunStatus.CANCELLED
    assert (await explained(store, asked)).partial
    assert types(await feed_of(store, session))[-2:] == ["run.cancelled", "session.changed"]


async def test_settings_can_be_changed_while_messages_come_in(store: Store) -> None:
    session = await a_kept_session(store)

    await asyncio.gather(
        *(accept(store, f"message {number}", session) for number in range(16)),
        *(change(store, session, title=f"title {number}") for number in range(16)),
    )

    changed = await store.sessions.get(session.tenant, session.id)
    assert changed.version == 17
    assert [entry.no for entry in await feed_of(store, session)] == list(range(1, 33))


async def test_no_message_is_taken_in_after_its_session_was_closed(store: Store, backend: Backend) -> None:
    """Also not one that had to wait for the closing."""
    other = backend.store(OTHER_NODE)
    await other.database.open()

    for _ in range(8):
        session = await a_kept_session(store)
        outcomes = await asyncio.gather(
            *(accept(other, "before", session) for _ in range(3)),
            close_session(store, session),
            *(accept(other, "after", session) for _ in range(3)),
            return_exceptions=True,
        )

        refused = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        told = types(await feed_of(store, session))
        assert {type(outcome) for outcome in refused} <= {SessionClosed}
        assert told == ["run.accepted"] * (6 - len(refused)) + ["session.changed"]

    await other.database.close()


async def test_a_message_is_activity_of_its_session(store: Store) -> None:
    session = await a_kept_session(store, last_active_at=NOON - timedelta(hours=2))

    await accept(store, "Hello", session)

    assert (await store.sessions.get(session.tenant, session.id)).last_active_at == NOON


LATER = NOON + timedelta(hours=1)


@pytest.mark.parametrize(
    "sought",
    [
        Sought(agent=AgentId("clerk")),
        Sought(title="TABLE for"),
        Sought(created_from=LATER),
        Sought(created_until=LATER + timedelta(microseconds=1), created_from=LATER),
        Sought(active_from=LATER),
        Sought(active_from=LATER, active_until=LATER + timedelta(hours=1)),
        Sought(agent=AgentId("clerk"), title="A Table", status=SessionStatus.ACTIVE),
    ],
)
async def test_sessions_are_found_by_what_is_known_of_them(store: Store, sought: Sought) -> None:
    await a_kept_session(store, title="Ein Tisch für zwei")
    wanted = await a_kept_session(
        store, agent=AgentId("clerk"), title="A table for two", created_at=LATER, last_active_at=LATER
    )
    await a_kept_session(store)

    for owner in (None, USER):
        found = await store.sessions.list(TENANT, owner=owner, before=None, limit=10, sought=sought)

        assert [session.id for session in found] == [wanted.id]
        assert await store.sessions.count(TENANT, owner=owner, sought=sought) == 1


@pytest.mark.parametrize("title", ["%", "_", "ZWEI!", "TISCH FÜR"])
async def test_a_title_is_looked_for_as_it_is_written(store: Store, title: str) -> None:
    """Only the letters a to z stand for their capitals, on every backend and in every language."""
    await a_kept_session(store, title="Ein Tisch für zwei")

    found = await store.sessions.list(TENANT, owner=None, before=None, limit=10, sought=Sought(title=title))

    assert found == []


@pytest.mark.parametrize("text", ["TISCH", "für zwei tisch", "ÜBER", "wetter tisch"])
async def test_sessions_are_found_by_words_of_their_title_and_of_what_was_said_first(store: Store, text: str) -> None:
    wanted = await a_kept_session(store, title="Ein Tisch für zwei")
    await exchange(store, wanted, "Über das Wetter reden wir später", "Gut")
    other = await a_kept_session(store, title="Ein Stuhl")
    await exchange(store, other, "Das Wetter", "Ein Tisch für zwei, über allem")

    for owner in (None, USER):
        found = await store.sessions.seek(
            TENANT, owner=owner, sought=Sought(text=text), order=SessionOrder.CREATED, before=None, limit=10
        )

        assert ([session.id for session in found.sessions], found.total) == ([wanted.id], 1)


async def test_a_session_opens_with_what_its_user_said_first_since_it_was_reset(store: Store) -> None:
    told, silent, begun_anew = [await a_kept_session(store) for _ in range(3)]
    await exchange(store, told, "x" * 119 + "👩yz", "Welcome")
    await exchange(store, told, "And then", "Yes")
    await exchange(store, begun_anew, "Before", "Yes")
    run, lease = await held(store, "/reset", begun_anew)
    await reset(store, begun_anew, lease, revision=1)
    await store.runs.end(lease, end_as(run, RunStatus.COMPLETED))

    openings = await store.sessions.openings(TENANT, [told.id, silent.id, begun_anew.id])

    assert openings == {told.id: "x" * 119 + "👩"}
    assert await store.sessions.openings(OTHER_TENANT, [told.id]) == {}


async def test_a_session_opens_with_what_its_newest_run_is_to_answer_until_something_is_committed(store: Store) -> None:
    failed, waits, begun_anew, answered = [await a_kept_session(store) for _ in range(4)]
    for text in ("Is it cold?", "x" * 119 + "👩yz"):
        run, lease = await held(store, text, failed)
        await store.runs.end(lease, end_as(run, RunStatus.FAILED))
    await held(store, "At work", waits)
    await accept(store, "Behind it", waits)
    run, lease = await held(store, "Before", begun_anew)
    await store.runs.end(lease, end_as(run, RunStatus.FAILED))
    run, lease = await held(store, "/reset", begun_anew)
    await reset(store, begun_anew, lease)
    await store.runs.end(lease, end_as(run, RunStatus.COMPLETED))
    await exchange(store, answered, "First", "Yes")
    run, lease = await held(store, "Second", answered)
    await store.runs.end(lease, end_as(run, RunStatus.FAILED))

    asked = [session.id for session in (failed, waits, begun_anew, answered)]

    assert await store.sessions.openings(TENANT, asked) == {
        failed.id: "x" * 119 + "👩",
        waits.id: "Behind it",
        answered.id: "First",
    }
    assert await store.sessions.openings(OTHER_TENANT, asked) == {}


async def test_sessions_are_listed_by_their_last_activity_and_none_of_them_twice(store: Store) -> None:
    kept = [await a_kept_session(store, last_active_at=NOON - timedelta(hours=hours)) for hours in (3, 5, 1, 5, 2)]
    await a_kept_session(store, tenant=OTHER_TENANT)
    order = SessionOrder.ACTIVE

    async def page(before: str | None) -> list[Session]:
        found = await store.sessions.seek(TENANT, owner=USER, sought=Sought(), order=order, before=before, limit=2)
        assert found.total == 5
        return list(found.sessions)

    first = await page(None)
    await accept(store, "Hello", first[1])
    second = await page(order.cursor_of(first[1]))
    third = await page(order.cursor_of(second[1]))

    ids = [session.id for session in (*first, *second, *third)]
    assert ids == [kept[place].id for place in (2, 4, 0, 3, 1)]


async def test_a_cursor_of_one_order_is_refused_in_another_one(store: Store) -> None:
    session = await a_kept_session(store)

    with pytest.raises(ValueError, match=session.id):
        await store.sessions.seek(
            TENANT, owner=None, sought=Sought(), order=SessionOrder.ACTIVE, before=session.id, limit=2
        )


async def test_a_page_stays_where_it_is_while_sessions_change(store: Store) -> None:
    first, second, third = [await a_kept_session(store) for _ in range(3)]
    page = await store.sessions.list(TENANT, owner=None, before=None, limit=2)

    await exchange(store, first, "Hello", "Welcome")
    rest = await store.sessions.list(TENANT, owner=None, before=page[-1].id, limit=2)

    assert [session.id for session in (*page, *rest)] == [third.id, second.id, first.id]


async def test_messages_are_read_backwards_page_by_page_each_page_in_order(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "one", "two")
    await exchange(store, session, "three", "four")

    newest = await store.sessions.messages_before(TENANT, session.id, before=5, limit=3)
    older = await store.sessions.messages_before(TENANT, session.id, before=newest[0].seq, limit=3)

    assert [[message.content for message in page] for page in (newest, older)] == [["two", "three", "four"], ["one"]]
    assert await store.sessions.messages_before(TENANT, session.id, before=1, limit=3) == []
    assert await store.sessions.messages_before(OTHER_TENANT, session.id, before=5, limit=3) == []
