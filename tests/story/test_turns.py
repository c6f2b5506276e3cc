"""A newcomer's first hour with turnkeeper."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from turnkeeper import AgentTurn, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.model.feed import FeedType
from turnkeeper.model.run import RunStatus


async def test_a_conversation_keeps_its_state_across_turns_and_restarts(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        first = await keeper.chat("remember the gate code is 4711")

    async with Turnkeeper.open(settings=settings) as keeper:
        second = await keeper.chat("what did I say?", session_id=first.session_id)

    assert first.created
    assert not second.created
    assert second.turn == 2
    assert "the gate code is 4711" in second.text


async def test_eight_messages_at_once_become_eight_turns_in_order(keeper: Turnkeeper) -> None:
    @keeper.agent("counter")
    async def counter(turn: AgentTurn) -> str:
        turn.state["count"] = turn.state.get("count", 0) + 1
        return f"{turn.text} was number {turn.state['count']}"

    session = await keeper.create_session(agent="counter")

    replies = await asyncio.gather(*(keeper.chat(f"message {n}", session_id=session.id) for n in range(8)))

    assert sorted(reply.turn or 0 for reply in replies) == list(range(1, 9))
    assert all(reply.text.endswith(f"was number {reply.turn}") for reply in replies)
    messages = await keeper.messages(session.id)
    assert [message.seq for message in messages] == list(range(1, 17))
    assert [message.role.value for message in messages] == ["user", "assistant"] * 8
    assert (await keeper.session(session.id)).revision == 8


async def test_eight_messages_at_once_on_two_nodes_become_eight_turns_in_order(
    keeper: Turnkeeper, other_keeper: Turnkeeper
) -> None:
    async def counter(turn: AgentTurn) -> str:
        turn.state["count"] = turn.state.get("count", 0) + 1
        return f"number {turn.state['count']}"

    keeper.agent("counter")(counter)
    other_keeper.agent("counter")(counter)
    session = await keeper.create_session(agent="counter")

    replies = await asyncio.gather(
        *(node.chat(f"message {n}", session_id=session.id) for n in range(4) for node in (keeper, other_keeper))
    )

    assert sorted(reply.turn or 0 for reply in replies) == list(range(1, 9))
    assert all(reply.text == f"number {reply.turn}" for reply in replies)
    assert (await keeper.session(session.id)).revision == 8


async def _async_generator(turn: AgentTurn) -> AsyncIterator[str]:
    yield "a "
    yield turn.text


async def _coroutine(turn: AgentTurn) -> str:
    return f"a {turn.text}"


def _generator(turn: AgentTurn) -> Iterator[str]:
    yield "a "
    yield turn.text


def _function(turn: AgentTurn) -> str:
    return f"a {turn.text}"


@pytest.mark.parametrize("function", [_async_generator, _coroutine, _generator, _function])
async def test_an_agent_may_be_any_kind_of_function(keeper: Turnkeeper, function: object) -> None:
    keeper.agent("any")(function)  # type: ignore[type-var]

    reply = await keeper.chat("walk", agent="any")

    assert reply.text == "a walk"


async def test_a_failed_turn_leaves_the_conversation_as_it_was(keeper: Turnkeeper) -> None:
    @keeper.agent("clumsy")
    async def clumsy(turn: AgentTurn) -> str:
        turn.state["touched"] = True
        if "boom" in turn.text:
            raise RuntimeError("secret words of a user")
        return "fine"

    first = await keeper.chat("hello", agent="clumsy")

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("boom", session_id=first.session_id)

    assert caught.value.code == "agent_failed"
    assert "secret" not in str(caught.value)
    assert [message.content for message in await keeper.messages(first.session_id)] == ["hello", "fine"]
    failed = (await keeper.runs(first.session_id))[0]
    assert failed.status is RunStatus.FAILED
    assert failed.input.events[0].text == "boom"
    explanation = await keeper.explanation(failed.id)
    assert explanation is not None
    assert explanation.error is not None
    assert explanation.error.stage == "hand_off"
    assert [stage.name for stage in explanation.stages][-1] == "hand_off"


async def test_an_answer_streams_in_numbered_frames_and_only_its_end_is_true(keeper: Turnkeeper) -> None:
    @keeper.agent("talker")
    async def talker(turn: AgentTurn) -> AsyncIterator[str]:
        for _ in range(3):
            yield "x" * 3000

    ticket = await keeper.submit("go", agent="talker")

    frames = [frame async for frame in keeper.follow(ticket.run)]

    assert frames[0].type is FeedType.RUN_ACCEPTED
    assert frames[-1].type is FeedType.RUN_COMPLETED
    assert frames[-1].data["text"] == "x" * 9000
    assert [frame.prev for frame in frames[1:]] == [frame.no for frame in frames[:-1]]


async def test_a_reset_puts_everything_said_before_out_of_reach(keeper: Turnkeeper) -> None:
    first = await keeper.chat("remember the gate code is 4711")

    await keeper.reset(first.session_id)

    asked = await keeper.chat("what did I say?", session_id=first.session_id)
    assert "not asked me" in asked.text
    session = await keeper.session(first.session_id)
    assert (session.epoch.number, session.turns, session.revision) == (2, 2, 3)
    assert len(await keeper.messages(first.session_id)) == 4


async def test_a_reset_stands_when_the_message_that_came_with_it_fails(keeper: Turnkeeper) -> None:
    @keeper.agent("clumsy")
    async def clumsy(turn: AgentTurn) -> str:
        if "boom" in turn.text:
            raise RuntimeError
        turn.state["said"] = turn.text
        return "fine"

    first = await keeper.chat("hello", agent="clumsy")

    with pytest.raises(TurnkeeperError):
        await keeper.chat("boom", session_id=first.session_id, reset=True)

    session = await keeper.session(first.session_id)
    assert (session.epoch.number, session.turns, session.revision) == (2, 1, 2)


async def test_a_closed_session_takes_no_more_messages_and_stays_readable(keeper: Turnkeeper) -> None:
    first = await keeper.chat("hello")

    await keeper.close_session(first.session_id)

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("more", session_id=first.session_id)
    assert caught.value.code == "session_closed"
    assert len(await keeper.messages(first.session_id)) == 2


async def test_an_unknown_session_is_replaced_or_refused_as_the_caller_wishes(keeper: Turnkeeper) -> None:
    replaced = await keeper.chat("hello", session_id="sess_nowhere")

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("hello", session_id="sess_nowhere", on_missing="error")

    assert replaced.created
    assert (replaced.replaced_session_id, replaced.replaced_reason) == ("sess_nowhere", "not_found")
    assert caught.value.code == "session_not_found"


async def test_a_client_that_keeps_its_session_gets_all_of_it_back(
    keeper: Turnkeeper, other_keeper: Turnkeeper
) -> None:
    first = await keeper.chat("remember the gate code is 4711", custody="client", session_id="mine")

    second = await other_keeper.chat("what did I say?", custody="client", session_id="mine", carried=first.carried)
    forked = await keeper.chat("what did I say?", custody="client", session_id="mine")

    assert "4711" in second.text
    assert second.turn == 2
    assert "not asked me" in forked.text
    with pytest.raises(TurnkeeperError):
        await keeper.session("mine")


async def test_a_client_may_reset_the_session_it_keeps(keeper: Turnkeeper) -> None:
    first = await keeper.chat("remember the gate code is 4711", custody="client", session_id="mine")

    second = await keeper.chat(
        "what did I say?", custody="client", session_id="mine", carried=first.carried, reset=True
    )

    assert "not asked me" in second.text
    assert second.carried is not None
    assert second.carried["epoch"]["number"] == 2


async def test_a_run_that_takes_too_long_is_stopped_and_changes_nothing(keeper: Turnkeeper) -> None:
    stopped = asyncio.Event()

    @keeper.agent("sleeper", run_seconds=0.5)
    async def sleeper(turn: AgentTurn) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    session = await keeper.create_session(agent="sleeper")

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("hello", session_id=session.id)

    assert caught.value.code == "run_timed_out"
    assert stopped.is_set()
    assert (await keeper.session(session.id)).revision == 0
    assert (await keeper.runs(session.id))[0].status is RunStatus.TIMED_OUT


async def test_the_audit_of_all_this_can_be_proved(keeper: Turnkeeper) -> None:
    first = await keeper.chat("hello")
    await keeper.reset(first.session_id)
    with pytest.raises(TurnkeeperError):
        await keeper.chat("", session_id=first.session_id)
    await keeper.close_session(first.session_id)

    verdict = await keeper.verify_audit()

    assert verdict.holds
    assert verdict.entries == 5
