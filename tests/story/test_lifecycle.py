"""The life of a session, told through the embedded face."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from turnkeeper import Settings, Turnkeeper
from turnkeeper.errors import (
    EnvelopeInvalid,
    InvalidTransition,
    SessionClosed,
    SessionExpired,
    SessionNotFound,
    SessionNotOver,
)
from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.model.principal import Principal
from turnkeeper.model.session import SessionStatus
from turnkeeper.ports.agent import AgentTurn
from turnkeeper.testing.agents import HeldAgent
from turnkeeper.testing.clock import SteppedClock

HOUR = 3600.0
DAY = 24 * HOUR
STRANGER = Principal(tenant=TenantId("default"), user=UserId("stranger"))


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def keeper(settings: Settings, clock: SteppedClock) -> AsyncIterator[Turnkeeper]:
    async with Turnkeeper.open(settings=settings, clock=clock, expiry_seconds=3600.0) as opened:
        register(opened)
        yield opened


def register(keeper: Turnkeeper) -> None:
    @keeper.agent("parrot")
    async def parrot(turn: AgentTurn) -> str:
        turn.state["heard"] = [*turn.state.get("heard", []), turn.text]
        return f"{len(turn.history)}: {turn.text}"


async def test_a_session_lives_from_its_last_activity_on(keeper: Turnkeeper, clock: SteppedClock) -> None:
    first = await keeper.chat("Hello", agent="parrot")
    clock.step(23 * HOUR)
    await keeper.chat("Still here", session_id=first.session_id)
    clock.step(23 * HOUR)

    session = await keeper.session(first.session_id)

    assert session.status is SessionStatus.ACTIVE
    assert session.expires_at == session.last_active_at + timedelta(hours=24)


async def test_reading_does_not_keep_a_session_alive(keeper: Turnkeeper, clock: SteppedClock) -> None:
    reply = await keeper.chat("Hello", agent="parrot")
    clock.step(23 * HOUR)
    await keeper.session(reply.session_id)
    await keeper.messages(reply.session_id)
    clock.step(HOUR)

    assert (await keeper.session(reply.session_id)).status is SessionStatus.EXPIRED


async def test_a_list_shows_no_session_as_active_that_was_idle_for_too_long(
    keeper: Turnkeeper, clock: SteppedClock
) -> None:
    await keeper.chat("Hello", agent="parrot")
    clock.step(DAY)

    (session,) = await keeper.sessions()

    assert session.status is SessionStatus.EXPIRED


async def test_an_expired_session_stays_known_as_expired(keeper: Turnkeeper, clock: SteppedClock) -> None:
    reply = await keeper.chat("Hello", agent="parrot")
    clock.step(DAY)

    for _ in range(2):
        with pytest.raises(SessionExpired):
            await keeper.chat("Anyone?", session_id=reply.session_id, on_missing="error")
    session = await keeper.session(reply.session_id)

    assert (session.status, session.closed_reason) == (SessionStatus.EXPIRED, "inactivity")
    assert session.closed_at == clock.now()
    assert [message.content for message in await keeper.messages(reply.session_id)] == ["Hello", "0: Hello"]


async def test_fault_1_a_stale_session_id_begins_a_new_session_and_says_so(
    keeper: Turnkeeper, clock: SteppedClock
) -> None:
    reply = await keeper.chat("Hello", agent="parrot")
    clock.step(DAY)

    after = await keeper.chat("Anyone?", session_id=reply.session_id, agent="parrot")
    unknown = await keeper.chat("Anyone?", session_id="sess_never", agent="parrot")

    assert (after.created, after.replaced_session_id, after.replaced_reason) == (True, reply.session_id, "expired")
    assert (unknown.replaced_session_id, unknown.replaced_reason) == ("sess_never", "not_found")
    assert after.text == "0: Anyone?"


async def test_a_session_may_have_an_idle_time_of_its_own(keeper: Turnkeeper, clock: SteppedClock) -> None:
    session = await keeper.create_session(agent="parrot", idle_for_seconds=60)
    clock.step(60)

    assert (await keeper.session(session.id)).status is SessionStatus.EXPIRED
    with pytest.raises(EnvelopeInvalid):
        await keeper.create_session(agent="parrot", idle_for_seconds=0)


async def test_the_sweep_expires_what_nobody_looks_at(keeper: Turnkeeper, clock: SteppedClock) -> None:
    idle = [(await keeper.chat("Hello", agent="parrot")).session_id for _ in range(3)]
    clock.step(23 * HOUR)
    fresh = (await keeper.chat("Hello", agent="parrot")).session_id
    clock.step(HOUR)

    expired = await keeper.expire_idle_sessions()

    statuses = {session.id: session.status for session in await keeper.sessions()}
    assert expired == 3
    assert statuses == dict.fromkeys(idle, SessionStatus.EXPIRED) | {fresh: SessionStatus.ACTIVE}
    assert (await keeper.verify_audit()).faults == ()


async def test_two_nodes_that_sweep_at_once_expire_each_session_once(
    keeper: Turnkeeper, settings: Settings, clock: SteppedClock
) -> None:
    for _ in range(5):
        await keeper.chat("Hello", agent="parrot")
    clock.step(DAY)
    async with Turnkeeper.open(settings=settings, clock=clock, expiry_seconds=3600.0) as other:
        counts = [await keeper.expire_idle_sessions(), await other.expire_idle_sessions()]

    assert counts == [5, 0]
    for session in await keeper.sessions():
        assert (session.status, session.version) == (SessionStatus.EXPIRED, 2)


async def test_fault_14_a_session_does_not_expire_while_its_turn_runs(keeper: Turnkeeper, clock: SteppedClock) -> None:
    agent = HeldAgent()
    keeper.agent("slow", run_seconds=10 * 86_400)(agent)
    ticket = await keeper.submit("This takes a while", agent="slow")
    await agent.begun.get()
    clock.step(2 * DAY)

    assert await keeper.expire_idle_sessions() == 0
    assert (await keeper.session(ticket.run.session_id)).status is SessionStatus.ACTIVE

    agent.let_go()
    assert (await keeper.reply_to(ticket)).turn == 1


async def test_a_paused_session_is_resumed_by_hand_or_by_a_message(keeper: Turnkeeper) -> None:
    reply = await keeper.chat("Hello", agent="parrot")

    paused = await keeper.pause_session(reply.session_id)
    resumed = await keeper.resume_session(reply.session_id)
    await keeper.pause_session(reply.session_id)
    await keeper.chat("Back again", session_id=reply.session_id)

    assert (paused.status, resumed.status) == (SessionStatus.PAUSED, SessionStatus.ACTIVE)
    session = await keeper.session(reply.session_id)
    assert (session.status, session.version) == (SessionStatus.ACTIVE, 5)


async def test_a_paused_session_expires_like_any_other(keeper: Turnkeeper, clock: SteppedClock) -> None:
    reply = await keeper.chat("Hello", agent="parrot")
    await keeper.pause_session(reply.session_id)
    clock.step(DAY)

    assert (await keeper.session(reply.session_id)).status is SessionStatus.EXPIRED


async def test_a_forbidden_change_of_status_is_refused(keeper: Turnkeeper) -> None:
    reply = await keeper.chat("Hello", agent="parrot")

    with pytest.raises(InvalidTransition):
        await keeper.resume_session(reply.session_id)
    await keeper.close_session(reply.session_id)
    for change in (keeper.pause_session, keeper.resume_session):
        with pytest.raises(InvalidTransition):
            await change(reply.session_id)
    with pytest.raises(SessionClosed):
        await keeper.chat("Hello?", session_id=reply.session_id)


async def test_nobody_else_pauses_or_resumes_a_session(keeper: Turnkeeper) -> None:
    reply = await keeper.chat("Hello", agent="parrot")

    with pytest.raises(SessionNotFound):
        await keeper.pause_session(reply.session_id, principal=STRANGER)


async def test_a_finished_session_goes_on_in_a_new_one(keeper: Turnkeeper) -> None:
    first = await keeper.chat("The ferry takes cars.", agent="parrot")
    await keeper.units.import_text(first.session_id, "The harbour opens at six.")
    await keeper.close_session(first.session_id)

    session = await keeper.create_session(from_session_id=first.session_id)
    reply = await keeper.chat("And now?", session_id=session.id)

    assert (session.agent, session.from_session_id, session.turns) == ("parrot", first.session_id, 0)
    assert (reply.text, reply.turn) == ("2: And now?", 1)
    said = [message.content for message in await keeper.messages(session.id)]
    assert said == ["The ferry takes cars.", "0: The ferry takes cars.", "And now?", "2: And now?"]
    known = [kept.unit.claim for _, kept in await keeper.units.list(session.id) if kept.unit]
    assert known == ["The harbour opens at six."]
    assert len(await keeper.messages(first.session_id)) == 2


async def test_what_a_continued_session_learns_stays_out_of_the_finished_one(keeper: Turnkeeper) -> None:
    first = await keeper.chat("Hello", agent="parrot")
    await keeper.units.import_text(first.session_id, "The port is 80.")
    await keeper.close_session(first.session_id)
    session = await keeper.create_session(from_session_id=first.session_id)

    await keeper.units.import_text(session.id, "The port is 81.")

    old = [(kept.unit.claim, kept.status) for _, kept in await keeper.units.list(first.session_id) if kept.unit]
    new = [(kept.unit.claim, kept.status) for _, kept in await keeper.units.list(session.id) if kept.unit]
    assert old == [("The port is 80.", "committed")]
    assert new == [("The port is 80.", "superseded"), ("The port is 81.", "committed")]


async def test_only_a_finished_session_of_ones_own_is_continued(keeper: Turnkeeper) -> None:
    first = await keeper.chat("Hello", agent="parrot")

    with pytest.raises(SessionNotOver):
        await keeper.create_session(from_session_id=first.session_id)
    await keeper.close_session(first.session_id)
    with pytest.raises(SessionNotFound):
        await keeper.create_session(from_session_id=first.session_id, principal=STRANGER)


async def test_a_reset_leaves_nothing_of_the_session_that_was_continued(keeper: Turnkeeper) -> None:
    first = await keeper.chat("Hello", agent="parrot")
    await keeper.units.import_text(first.session_id, "The port is 80.")
    await keeper.close_session(first.session_id)
    session = await keeper.create_session(from_session_id=first.session_id)

    await keeper.reset(session.id)

    assert (await keeper.chat("Who am I?", session_id=session.id)).text == "0: Who am I?"
    assert await keeper.units.list(session.id) == []
