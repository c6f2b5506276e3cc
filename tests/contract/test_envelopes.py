"""What every store promises about buckets, long runs, what Events held beyond their text, and classes of sessions."""

import asyncio
import time
from datetime import timedelta

import pytest

from tests.contract.backends import Backend
from tests.contract.builders import (
    TENANT,
    a_kept_session,
    accept,
    asking,
    close_session,
    end_as,
    explanation_of,
    held,
    intake_of,
    load,
    run_saying,
    turn_answering,
)
from turnkeeper.errors import SessionExpired, TooManyLongRuns
from turnkeeper.model.band import Lifetime
from turnkeeper.model.event import Attachment, Event, EventType, EventWarning
from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.model.mode import Mode
from turnkeeper.model.pack import Classification, PackPin
from turnkeeper.model.policy import Rate
from turnkeeper.model.run import Finish, RunInput, RunStatus
from turnkeeper.model.session_state import event_of
from turnkeeper.model.turn import Turn
from turnkeeper.ports.runs import Accepted, RequestKey
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

SLOW = Rate(per_second=0.01, burst=10)
"""So slow that what it gains while a test runs does not count."""

PHOTO = Attachment(artifact_id="art_9", media_type="image/jpeg", sha256="2c" * 32, uri="blob://demo/art_9")
PIN = PackPin(id="desk", version="1.0.0", hash="ab" * 32)


async def passes(backend: Backend, seconds: float) -> None:
    """What a bucket would have seen by then, for a database whose clock cannot be set."""
    await backend.execute(f"UPDATE buckets SET filled_at = filled_at - {int(seconds * 1_000_000)}")


async def test_a_bucket_is_full_at_first_and_fills_with_time(store: Store, backend: Backend) -> None:
    async def take(wanted: int) -> float:
        return await store.buckets.take(TENANT, SLOW, wanted=wanted)

    assert await take(8) == 8
    assert await take(8) == 2
    assert await take(8) == pytest.approx(-1, abs=0.1)
    await passes(backend, 50)
    assert await take(8) == pytest.approx(-0.5, abs=0.1)
    await passes(backend, 150)
    assert await take(8) == 2
    await passes(backend, 3_600)
    assert await take(99) == 10


async def test_a_clock_that_goes_back_gives_and_takes_nothing(store: Store, backend: Backend) -> None:
    await store.buckets.take(TENANT, SLOW, wanted=10)
    await passes(backend, -3_600)

    assert await store.buckets.take(TENANT, SLOW, wanted=1) == pytest.approx(-1, abs=0.1)
    await passes(backend, 3_800)
    assert await store.buckets.take(TENANT, SLOW, wanted=9) == 2


async def test_a_bucket_goes_by_the_clock_of_the_database(store: Store, backend: Backend) -> None:
    before = time.time()
    await store.buckets.take(TENANT, SLOW, wanted=10)

    ((filled_at,),) = await backend.execute("SELECT filled_at FROM buckets")
    assert before - 5 < filled_at / 1_000_000 < time.time() + 5


async def test_one_tenant_never_empties_the_bucket_of_another(store: Store) -> None:
    await store.buckets.take(TENANT, SLOW, wanted=10)

    assert await store.buckets.take(TenantId("globex"), SLOW, wanted=10) == 10


async def test_the_buckets_of_a_tenant_are_filled_and_emptied_apart(store: Store) -> None:
    await store.buckets.take(TENANT, SLOW, wanted=10, name="binding:bind_1")

    assert await store.buckets.take(TENANT, SLOW, wanted=10, name="binding:bind_1") < 0
    assert await store.buckets.take(TENANT, SLOW, wanted=10) == 10


async def test_of_many_that_take_at_once_none_gets_what_another_got(store: Store) -> None:
    taken = await asyncio.gather(*(store.buckets.take(TENANT, SLOW, wanted=1) for _ in range(25)))

    assert sorted(taken) == pytest.approx([-1] * 15 + [1] * 10, abs=0.1)


async def test_no_more_long_runs_than_allowed_are_open_at_once(store: Store) -> None:
    sessions = [await a_kept_session(store) for _ in range(3)]
    runs = [run_saying("long", session, mode=Mode.LONG_RUNNING) for session in sessions]
    taken = [await store.runs.accept(intake_of(run, long_runs=2)) for run in runs[:2]]

    with pytest.raises(TooManyLongRuns):
        await store.runs.accept(intake_of(runs[2], long_runs=2))

    await accept(store, "short", sessions[2])
    first = taken[0]
    assert first.lease is not None
    await store.runs.end(first.lease, end_as(first.run, RunStatus.FAILED))
    again = run_saying("long", await a_kept_session(store), mode=Mode.LONG_RUNNING)
    assert (await store.runs.accept(intake_of(again, long_runs=2))).run.mode is Mode.LONG_RUNNING


async def test_of_many_long_runs_that_come_at_once_as_many_as_allowed_are_taken_in(store: Store) -> None:
    sessions = [await a_kept_session(store) for _ in range(20)]
    runs = [run_saying("long", session, mode=Mode.LONG_RUNNING) for session in sessions]

    ends = await asyncio.gather(
        *(store.runs.accept(intake_of(run, long_runs=5)) for run in runs), return_exceptions=True
    )

    assert sum(isinstance(end, Accepted) for end in ends) == 5
    assert sum(isinstance(end, TooManyLongRuns) for end in ends) == 15


async def test_what_was_asked_under_a_name_is_known_by_its_hash(store: Store) -> None:
    session = await a_kept_session(store)
    run = run_saying("hello", session)
    await store.runs.accept(intake_of(run, request=RequestKey(key="req_1", body_hash=b"h" * 32)))

    assert await store.runs.request(TENANT, run.user, "req_1") == b"h" * 32
    assert await store.runs.request(TENANT, run.user, "req_2") is None
    assert await store.runs.request(TENANT, UserId("other"), "req_1") is None


async def test_what_an_event_held_beyond_its_text_comes_back_with_its_message(store: Store) -> None:
    session = await a_kept_session(store)
    events = (
        Event(
            text="fifty five",
            confidence=0.58,
            locale="en-GB",
            metadata={"channel": {"name": "voice"}},
            warnings=(EventWarning(code="asr_low_confidence", detail="0.58"),),
        ),
        Event(attachments=(PHOTO,), metadata={"channel": {"name": "app_chat"}}),
        Event(type=EventType.STRUCTURED_REQUEST, payload={"order": [1, None]}),
        Event(text="plain"),
    )
    accepted = await store.runs.accept(intake_of(run_saying("-", session, input=RunInput(events=events))))
    run, lease = accepted.run, accepted.lease
    assert lease is not None
    turn = turn_answering(run, await load(store, session), "heard")
    explanation = explanation_of(run)
    await store.runs.commit(turn, lease, session_id=session.id, expected_revision=0, explanation=explanation)

    messages = (await load(store, session)).history
    read = await store.sessions.messages(TENANT, session.id, after=0, limit=10)

    assert tuple(event_of(message) for message in messages[:4]) == events
    assert messages[3].event is None
    assert messages[4].event is None
    assert tuple(read) == messages


async def test_the_class_of_a_session_shortens_its_life_from_the_turn_that_pins_it(store: Store) -> None:
    session = await a_kept_session(store, idle_for_seconds=86_400)
    run, lease = await held(store, "hello", session)
    expires_by = NOON + timedelta(hours=5)
    life = Lifetime(classification=Classification.RESTRICTED, most_idle_seconds=3_600, expires_by=expires_by)
    turn = Turn.of(
        run,
        (await load(store, session)).session,
        asks=(),
        text="hi",
        state={},
        finish=Finish.DONE,
        at=NOON,
        packs=(PIN,),
        lifetime=life,
    )
    explanation = explanation_of(run)
    await store.runs.commit(turn, lease, session_id=session.id, expected_revision=0, explanation=explanation)

    kept = await store.sessions.get(TENANT, session.id)
    assert (kept.classification, kept.idle_for_seconds, kept.expires_by) == (
        Classification.RESTRICTED,
        3_600,
        expires_by,
    )


async def test_checkpoints_go_sooner_where_the_class_of_the_session_says_so(store: Store) -> None:
    ended = {}
    for classification in (None, Classification.PUBLIC, Classification.RESTRICTED):
        session = await a_kept_session(store, classification=classification)
        run, lease = await held(store, "ask", session)
        await store.runs.suspend(lease, asking("For how many?"), at=NOON, wait_until=NOON)
        await store.runs.cancel(TENANT, run.id, at=NOON)
        await close_session(store, session)
        ended[classification] = run.id
    by_class = {Classification.PUBLIC: NOON - timedelta(days=1), Classification.RESTRICTED: NOON + timedelta(days=1)}

    forgotten = await store.checkpoints.forget(before=NOON - timedelta(days=1), by_class=by_class)

    kept = {each: bool(await store.checkpoints.list(TENANT, run_id)) for each, run_id in ended.items()}
    assert forgotten == 1
    assert kept == {None: True, Classification.PUBLIC: True, Classification.RESTRICTED: False}


async def test_a_session_takes_no_message_after_its_latest_end_however_busy_it_was(store: Store) -> None:
    session = await a_kept_session(store, expires_by=NOON + timedelta(minutes=5))
    soon, late = NOON + timedelta(minutes=4), NOON + timedelta(minutes=5)

    taken = await store.runs.accept(intake_of(run_saying("in time", session, accepted_at=soon)))
    assert taken.lease is not None
    await store.runs.end(taken.lease, end_as(taken.run, RunStatus.FAILED, at=soon))
    idle = [place async for place in store.sessions.idle(at=late)]

    with pytest.raises(SessionExpired):
        await store.runs.accept(intake_of(run_saying("too late", session, accepted_at=late)))
    assert idle == [(TENANT, session.id)]
