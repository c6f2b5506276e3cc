"""The same request twice is answered once."""

import asyncio

import pytest

from turnkeeper import AgentTurn, Principal, Turnkeeper, TurnkeeperError
from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.testing.agents import HeldAgent


async def test_a_repeated_request_gets_the_first_answer(keeper: Turnkeeper) -> None:
    first = await keeper.chat("hello", request_id="req-1")

    second = await keeper.chat("hello", request_id="req-1")

    assert (second.run_id, second.text, second.turn) == (first.run_id, first.text, first.turn)
    assert len(await keeper.messages(first.session_id)) == 2


async def test_a_repeated_request_attaches_to_the_run_that_is_on(keeper: Turnkeeper, other_keeper: Turnkeeper) -> None:
    agent = HeldAgent()
    keeper.agent("held")(agent)
    session = await keeper.create_session(agent="held")
    first = await keeper.submit("hello", session_id=session.id, request_id="req-1")
    await agent.begun.get()

    second = await other_keeper.submit("hello", session_id=session.id, request_id="req-1")
    agent.let_go()
    replies = await asyncio.gather(keeper.reply_to(first), other_keeper.reply_to(second))

    assert second.attached
    assert replies[0].run_id == replies[1].run_id
    assert (await keeper.session(session.id)).turns == 1


async def test_a_request_id_with_another_body_is_refused(keeper: Turnkeeper) -> None:
    first = await keeper.chat("hello", request_id="req-1")

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("goodbye", request_id="req-1")

    assert caught.value.code == "duplicate_request"
    assert len(await keeper.messages(first.session_id)) == 2


async def test_request_ids_of_two_users_have_nothing_to_do_with_each_other(keeper: Turnkeeper) -> None:
    ada, ben = (Principal(tenant=TenantId("acme"), user=UserId(name)) for name in ("ada", "ben"))

    first = await keeper.chat("hello", request_id="req-1", principal=ada)
    second = await keeper.chat("hello", request_id="req-1", principal=ben)

    assert first.run_id != second.run_id


async def test_after_a_retryable_end_the_same_request_is_tried_again(keeper: Turnkeeper) -> None:
    slow = [True]

    @keeper.agent("moody", run_seconds=0.5)
    async def moody(turn: AgentTurn) -> str:
        if slow:
            slow.clear()
            await asyncio.Event().wait()
        return "fine"

    session = await keeper.create_session(agent="moody")
    with pytest.raises(TurnkeeperError):
        await keeper.chat("hello", session_id=session.id, request_id="req-1")

    second = await keeper.chat("hello", session_id=session.id, request_id="req-1")

    assert second.text == "fine"
    assert (await keeper.session(session.id)).turns == 1


async def test_a_request_that_failed_for_good_gets_the_same_refusal(keeper: Turnkeeper) -> None:
    @keeper.agent("broken")
    async def broken(turn: AgentTurn) -> str:
        raise RuntimeError

    session = await keeper.create_session(agent="broken")

    for _ in range(2):
        with pytest.raises(TurnkeeperError) as caught:
            await keeper.chat("hello", session_id=session.id, request_id="req-1")
        assert caught.value.code == "agent_failed"

    assert len(await keeper.runs(session.id)) == 1
