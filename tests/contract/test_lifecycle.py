"""What a store promises about the life of a session: pausing, expiring, and going on in another one."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.contract.backends import Backend, contents
from tests.contract.builders import (
    TENANT,
    a_kept_session,
    a_session,
    a_unit,
    accept,
    audit_of,
    close_session,
    end_as,
    exchange,
    explained,
    feed_of,
    held,
    knowing,
    lines,
    load,
    run_of,
    types,
    view_of,
    waiting,
)
from turnkeeper.errors import InvalidTransition, SessionExpired, SessionNotFound
from turnkeeper.model.ids import MessageId, RunId, SessionId
from turnkeeper.model.message import Message, Speaker
from turnkeeper.model.mount import Mount, MountKind
from turnkeeper.model.run import Finish, RunError, RunStatus
from turnkeeper.model.session import Session, SessionStatus, SettingsChange
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import UnitChanges
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

LONG_AFTER = NOON + timedelta(days=2)


async def change(store: Store, session: Session, **settings: Any) -> Session:
    return await store.sessions.change(
        session.tenant, session.id, SettingsChange(**settings), at=LONG_AFTER, expected_version=None, audit=audit_of()
    )


async def expire(store: Store, session: Session, at: Any = LONG_AFTER) -> Session:
    return await store.sessions.expire(session.tenant, session.id, at=at, audit=audit_of("expire"))


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (SessionStatus.PAUSED, SessionStatus.ACTIVE),
        (SessionStatus.PAUSED, SessionStatus.CLOSED),
        (SessionStatus.PAUSED, SessionStatus.EXPIRED),
        (SessionStatus.CLOSED, None),
        (SessionStatus.EXPIRED, None),
    ],
)
async def test_a_live_session_may_change_its_status(
    store: Store, first: SessionStatus, then: SessionStatus | None
) -> None:
    session = await a_kept_session(store)

    changed = await change(store, session, status=first)
    if then is not None:
        changed = await change(store, session, status=then)

    assert changed.status is (then or first)
    assert await store.sessions.get(TENANT, session.id) == changed


@pytest.mark.parametrize("end", [SessionStatus.CLOSED, SessionStatus.EXPIRED])
@pytest.mark.parametrize("status", list(SessionStatus))
async def test_nothing_leads_back_from_an_end(
    store: Store, backend: Backend, end: SessionStatus, status: SessionStatus
) -> None:
    session = await a_kept_session(store)
    await change(store, session, status=end)
    before = await contents(backend)

    with pytest.raises(InvalidTransition):
        await change(store, session, status=status)

    assert await contents(backend) == before


@pytest.mark.parametrize("status", [SessionStatus.ACTIVE, SessionStatus.PAUSED])
async def test_a_status_does_not_change_into_itself(store: Store, status: SessionStatus) -> None:
    session = await a_kept_session(store)
    if status is SessionStatus.PAUSED:
        await change(store, session, status=status)

    with pytest.raises(InvalidTransition):
        await change(store, session, status=status)


async def test_whoever_resumes_a_session_is_back_as_if_by_a_message(store: Store) -> None:
    session = await a_kept_session(store)
    paused = await change(store, session, status=SessionStatus.PAUSED)

    resumed = await change(store, session, status=SessionStatus.ACTIVE)

    assert paused.last_active_at == NOON
    assert resumed.last_active_at == LONG_AFTER


async def test_a_session_that_was_idle_for_too_long_expires(store: Store) -> None:
    session = await a_kept_session(store)
    asked = await waiting(store, session)

    expired = await expire(store, session)

    assert (expired.status, expired.closed_at, expired.closed_reason) == (
        SessionStatus.EXPIRED,
        LONG_AFTER,
        "inactivity",
    )
    assert await store.sessions.get(TENANT, session.id) == expired
    assert (await run_of(store, asked)).status is RunStatus.CANCELLED
    assert types(await feed_of(store, session))[-1] == "session.changed"
    with pytest.raises(SessionExpired):
        await accept(store, "Hello?", session)


async def test_a_session_expires_exactly_when_its_idle_time_is_over(store: Store) -> None:
    session = await a_kept_session(store, idle_for_seconds=1800)

    early = await expire(store, session, NOON + timedelta(seconds=1800) - timedelta(microseconds=1))
    in_time = await expire(store, session, NOON + timedelta(seconds=1800))

    assert (early.status, in_time.status) == (SessionStatus.ACTIVE, SessionStatus.EXPIRED)


async def test_an_answer_keeps_a_session_alive_as_a_message_does(store: Store) -> None:
    session = await a_kept_session(store)

    await exchange(store, session, "Hello", "Welcome")

    assert (await load(store, session)).session.last_active_at == NOON + timedelta(seconds=1)


async def test_a_session_whose_lease_is_held_never_expires(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await held(store, "This takes long", session)
    before = await contents(backend)

    assert (await expire(store, session)).status is SessionStatus.ACTIVE

    assert await contents(backend) == before


async def test_a_session_with_queued_messages_never_expires(store: Store) -> None:
    session = await a_kept_session(store)
    await accept(store, "For an agent that is not here", session, agents={})

    assert (await expire(store, session)).status is SessionStatus.ACTIVE


async def test_what_is_over_does_not_expire_again(store: Store) -> None:
    session = await a_kept_session(store)
    closed = await close_session(store, session)

    assert await expire(store, session) == closed


async def test_a_session_that_nobody_knows_cannot_expire(store: Store) -> None:
    with pytest.raises(SessionNotFound):
        await expire(store, a_session())


async def test_idle_sessions_are_found_among_all_that_live(store: Store) -> None:
    idle = [await a_kept_session(store) for _ in range(3)]
    paused = await a_kept_session(store)
    await change(store, paused, status=SessionStatus.PAUSED)
    await a_kept_session(store, last_active_at=LONG_AFTER)
    await close_session(store, await a_kept_session(store))

    found = {session_id async for _, session_id in store.sessions.idle(at=LONG_AFTER)}

    assert found == {session.id for session in (*idle, paused)}


async def test_mounts_and_idle_time_are_settings(store: Store) -> None:
    session = await a_kept_session(store)
    mount = Mount(kind=MountKind.KNOWLEDGE_BASE, id="kb_one", revision=3, mounted_at=NOON)

    changed = await change(store, session, mounts=(mount,), idle_for_seconds=60)

    assert (changed.mounts, changed.idle_for_seconds, changed.version) == ((mount,), 60, 2)
    assert (await load(store, session)).session == changed
    assert (await change(store, session, title="Harbour")).mounts == (mount,)


async def test_a_session_takes_over_what_another_one_ended_with(store: Store) -> None:
    before = await a_kept_session(store)
    session = a_session(revision=1, last_seq=1, from_session_id=before.id)
    unit = a_unit("The ferry takes cars.")
    message = Message(
        id=MessageId("msg_one"), seq=1, turn=0, epoch=1, role=Speaker.USER, content="Hello", created_at=NOON
    )
    turn = Turn(
        number=0,
        run_id=RunId(""),
        epoch=1,
        messages=(message,),
        state={"step": 3},
        finish=Finish.DONE,
        committed_at=NOON,
        units=UnitChanges(added=(unit,)),
    )

    await store.sessions.create(session, audit_of("create"), continued=turn)

    loaded = await load(store, session)
    assert loaded.session == session
    assert (lines(loaded), loaded.state) == (["Hello"], {"step": 3})
    assert await store.units.newest(view_of(session), limit=5) == [unit]
    await exchange(store, session, "Again", "Welcome back")
    assert lines(await load(store, session)) == ["Hello", "Again", "Welcome back"]


async def test_explanations_are_listed_newest_first_with_what_was_said(store: Store) -> None:
    session = await a_kept_session(store)
    first = await exchange(store, session, "Hello", "Welcome")
    failed, lease = await held(store, "Break, please", session)
    error = RunError(code="agent_failed", message="The agent failed.")
    end = end_as(failed, RunStatus.FAILED, error=error)
    await store.runs.end(lease, replace(end, explanation=replace(end.explanation, error=error)))

    listed = await store.explanations.list(TENANT, session.id, before=None, limit=9)

    assert [each.explanation.run_id for each in listed] == [failed.id, first.id]
    assert [(each.asked, each.preview) for each in listed] == [
        ("Break, please", "The agent failed."),
        ("Hello", "Welcome"),
    ]
    older = await store.explanations.list(TENANT, session.id, before=failed.id, limit=9)
    assert [each.explanation.run_id for each in older] == [first.id]


async def test_only_the_newest_explanations_of_a_session_are_kept(store: Store) -> None:
    session, other = await a_kept_session(store), await a_kept_session(store)
    runs = [await exchange(store, session, f"Question {number}", "Answer") for number in range(5)]
    elsewhere = await exchange(store, other, "Question", "Answer")

    await store.explanations.trim(TENANT, session.id, keep=2)

    left = await store.explanations.list(TENANT, session.id, before=None, limit=9)
    assert [each.explanation.run_id for each in left] == [runs[4].id, runs[3].id]
    assert (await explained(store, elsewhere)).run_id == elsewhere.id


async def test_trimming_leaves_the_door_closed(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "Hello", "Welcome")
    await store.explanations.trim(TENANT, session.id, keep=1)

    with pytest.raises(Exception, match="explanations is append-only"):
        await backend.execute("DELETE FROM explanations")


async def test_a_long_session_lists_few_characters_of_each_message(store: Store) -> None:
    session = await a_kept_session(store)
    await exchange(store, session, "q" * 5000, "a" * 5000)

    (only,) = await store.explanations.list(TENANT, session.id, before=None, limit=9)

    assert (len(only.asked), len(only.preview)) == (160, 160)


async def test_an_unknown_session_has_no_explanations(store: Store) -> None:
    assert await store.explanations.list(TENANT, SessionId("sess_nobody"), before=None, limit=9) == []


async def test_knowing_a_unit_says_which_run_brought_it(store: Store) -> None:
    session = await a_kept_session(store)
    unit = a_unit("The ferry takes cars.")

    run = await knowing(store, session, unit)

    assert (await store.units.get(TENANT, session.id, unit.id)).run_id == run.id
