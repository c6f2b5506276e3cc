"""The life of a session as the second source tells it, by the numbers of its black-box tests."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from turnkeeper import AgentTurn, Settings, Turnkeeper
from turnkeeper.errors import InvalidTransition, RunEnded, SessionClosed
from turnkeeper.keeping.scoping import Wanted
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.model.layer import LayerTerms
from turnkeeper.model.session import Session, SessionStatus
from turnkeeper.testing.clock import SteppedClock

DAY = timedelta(hours=24)


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def stepped(settings: Settings, clock: SteppedClock) -> AsyncIterator[Turnkeeper]:
    async with Turnkeeper.open(settings=settings, clock=clock) as opened:
        yield opened


async def closed_events(keeper: Turnkeeper, session_id: str) -> list[str]:
    events = await keeper.session_events(session_id)
    return [event.what for event in events if event.what in ("closed", "expired")]


async def test_nyqst_05_beginning_a_session_is_as_quick_as_one_insert(keeper: Turnkeeper) -> None:
    took = []
    for _ in range(100):
        began = time.perf_counter()
        await keeper.create_session(module="research")
        took.append(time.perf_counter() - began)

    assert statistics.median(took) < 0.05


async def test_nyqst_07_a_user_has_several_sessions_at_once_that_know_nothing_of_each_other(keeper: Turnkeeper) -> None:
    projects = [(await keeper.projects.create(name)).id for name in ("one", "two", "three")]
    sessions = [await keeper.create_session(module="research", project_id=each, agent="echo") for each in projects]

    await asyncio.gather(*(keeper.chat(each.id, session_id=each.id) for each in sessions))

    for session in sessions:
        first, _ = await keeper.messages(session.id)
        assert first.content == session.id
        assert (await keeper.session(session.id)).status is SessionStatus.ACTIVE


async def test_nyqst_10_a_session_is_closed_from_wherever_it_is(stepped: Turnkeeper, clock: SteppedClock) -> None:
    active, paused = await stepped.create_session(), await stepped.create_session()
    await stepped.pause_session(paused.id)

    closed = [await stepped.close_session(each.id) for each in (active, paused)]
    clock.step((timedelta(minutes=5)).total_seconds())
    again = [await stepped.close_session(each.id) for each in (active, paused)]

    assert [each.closed_at for each in again] == [each.closed_at for each in closed]
    assert None not in [each.closed_at for each in closed]


async def test_nyqst_15_16_a_closed_session_stays_readable_and_takes_nothing_more(keeper: Turnkeeper) -> None:
    reply = await keeper.chat("Hello", agent="echo")

    async def everything() -> list[Any]:
        return [
            await keeper.messages(reply.session_id),
            [(run.id, run.status) for run in await keeper.runs(reply.session_id)],
            await keeper.explanation(reply.run_id),
        ]

    before = await everything()
    await keeper.close_session(reply.session_id)

    assert await everything() == before
    assert (await keeper.session_events(reply.session_id))[-1].what == "closed"
    with pytest.raises(SessionClosed):
        await keeper.chat("More", session_id=reply.session_id)


async def test_nyqst_17_22_who_comes_back_to_a_session_that_was_laid_aside_is_answered(keeper: Turnkeeper) -> None:
    for status in ("paused", "idle"):
        session = await keeper.create_session(agent="echo")
        await keeper.scoping.change(session.id, Wanted(status=status))

        reply = await keeper.chat("I am back", session_id=session.id)

        assert (reply.session_id, reply.turn) == (session.id, 1)
        assert (await keeper.session(session.id)).status is SessionStatus.ACTIVE


async def test_nyqst_18_pausing_and_closing_at_once_end_in_one_state(
    keeper: Turnkeeper, other_keeper: Turnkeeper
) -> None:
    for _ in range(5):
        session = await keeper.create_session()

        await asyncio.gather(
            keeper.pause_session(session.id), other_keeper.close_session(session.id), return_exceptions=True
        )

        ended = await keeper.session(session.id)
        assert (ended.status, ended.closed_at is not None) == (SessionStatus.CLOSED, True)
        assert await closed_events(keeper, session.id) == ["closed"]


async def test_nyqst_19_21_a_day_without_a_message_ends_a_session_and_a_message_gives_it_another(
    stepped: Turnkeeper, clock: SteppedClock
) -> None:
    session = await stepped.create_session(agent="echo")
    clock.step((DAY - timedelta(minutes=1)).total_seconds())
    assert await stepped.expire_idle_sessions() == 0
    await stepped.chat("Still here", session_id=session.id)
    clock.step((DAY - timedelta(minutes=1)).total_seconds())
    assert (await stepped.session(session.id)).status is SessionStatus.ACTIVE
    clock.step((timedelta(minutes=1)).total_seconds())

    assert await stepped.expire_idle_sessions() == 1

    ended = await stepped.session(session.id)
    assert (ended.status, ended.closed_reason, ended.closed_at) == ("expired", "inactivity", clock.now())
    events = await stepped.session_events(session.id)
    assert (events[-1].what, events[-1].by) == ("expired", None)


async def test_nyqst_23_a_session_in_which_something_runs_does_not_end(
    stepped: Turnkeeper, clock: SteppedClock
) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()

    @stepped.agent("slow", run_seconds=10 * DAY.total_seconds())
    async def slow(turn: AgentTurn) -> str:
        began.set()
        await may_end.wait()
        return "done"

    ticket = await stepped.submit("Take your time", agent="slow")
    await began.wait()
    clock.step((2 * DAY).total_seconds())

    assert await stepped.expire_idle_sessions() == 0
    may_end.set()
    assert (await stepped.reply_to(ticket)).text == "done"


async def test_nyqst_24_25_every_session_ends_once_whoever_sweeps_and_whatever_is_in_the_way(
    settings: Settings, stepped: Turnkeeper, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = [await stepped.create_session() for _ in range(6)]
    clock.step(DAY.total_seconds())
    expire = stepped._store.sessions.expire

    async def sometimes(tenant: TenantId, session_id: SessionId, *, at: Any, audit: AuditFacts) -> Session:
        if session_id == sessions[2].id:
            raise RuntimeError("as told")
        return await expire(tenant, session_id, at=at, audit=audit)

    monkeypatch.setattr(stepped._store.sessions, "expire", sometimes)
    assert await stepped.expire_idle_sessions() == 5
    monkeypatch.undo()
    async with Turnkeeper.open(settings=settings, clock=clock) as other:
        ended = await asyncio.gather(stepped.expire_idle_sessions(), other.expire_idle_sessions())

    assert sum(ended) >= 1
    for session in sessions:
        assert await closed_events(stepped, session.id) == ["expired"]
        with pytest.raises(InvalidTransition):
            await stepped.resume_session(session.id)


async def test_what_is_over_by_a_limit_is_told_to_who_waits(keeper: Turnkeeper) -> None:
    project = await keeper.projects.create("Quick", terms=LayerTerms(limits={"timeout_seconds": 0.05}))

    @keeper.agent("endless")
    async def endless(turn: AgentTurn) -> str:
        await asyncio.Event().wait()
        return ""

    session = await keeper.create_session(project_id=project.id, agent="endless")
    with pytest.raises(RunEnded) as ended:
        await keeper.chat("Go", session_id=session.id)

    assert (ended.value.code, ended.value.http_status) == ("limit_exceeded", 422)
