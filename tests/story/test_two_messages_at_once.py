"""What becomes of a message that arrives while another one is being answered."""

import asyncio

import pytest

from tests.eventually import eventually
from turnkeeper import Turnkeeper, TurnkeeperError
from turnkeeper.model.run import RunStatus
from turnkeeper.testing.agents import HeldAgent


async def _held(keeper: Turnkeeper, agent: HeldAgent, text: str = "first") -> tuple[str, "asyncio.Task[object]"]:
    """A session in which a message is being answered."""
    keeper.agent("held")(agent)
    session = await keeper.create_session(agent="held")
    answering = asyncio.create_task(keeper.chat(text, session_id=session.id))
    await agent.begun.get()
    return session.id, answering


async def _contents(keeper: Turnkeeper, session_id: str) -> list[str]:
    return [message.content for message in await keeper.messages(session_id)]


async def _shown(keeper: Turnkeeper, session_id: str) -> str:
    """Wait until the first piece of output can be seen."""
    async for frame in keeper.follow_session(session_id, after=0):
        if frame.type == "output.delta":
            return str(frame.data["text"])
    raise AssertionError


async def test_enqueue_answers_one_after_the_other(keeper: Turnkeeper) -> None:
    agent = HeldAgent()
    session_id, first = await _held(keeper, agent)

    second = asyncio.create_task(keeper.chat("second", session_id=session_id))
    await _queued(keeper, session_id)
    agent.let_go()
    await asyncio.gather(first, second)

    assert await _contents(keeper, session_id) == ["first", "[first]", "second", "[second]"]


async def _queued(keeper: Turnkeeper, session_id: str) -> None:
    async for frame in keeper.follow_session(session_id, after=1):
        if frame.type == "run.accepted":
            return


async def test_reject_refuses_and_says_who_is_in_the_way(keeper: Turnkeeper) -> None:
    agent = HeldAgent()
    session_id, first = await _held(keeper, agent)
    running = (await keeper.runs(session_id))[0]

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("second", session_id=session_id, double_text="reject")

    agent.let_go()
    await first
    assert caught.value.code == "session_busy"
    assert caught.value.facts["holder"] == running.id
    assert caught.value.facts["since"] is not None
    assert await _contents(keeper, session_id) == ["first", "[first]"]


async def test_rollback_leaves_nothing_of_the_first_but_its_run(keeper: Turnkeeper) -> None:
    agent = HeldAgent(first="I was about to say")
    session_id, first = await _held(keeper, agent)
    await _shown(keeper, session_id)

    second = asyncio.create_task(keeper.chat("second", session_id=session_id, double_text="rollback"))
    await agent.begun.get()
    agent.let_go()
    await second

    with pytest.raises(TurnkeeperError) as caught:
        await first
    assert caught.value.code == "run_superseded"
    assert agent.stopped == 1
    assert await _contents(keeper, session_id) == ["second", "I was about to say[second]"]
    runs = await keeper.runs(session_id)
    assert [run.status for run in runs] == [RunStatus.COMPLETED, RunStatus.SUPERSEDED]
    assert runs[1].superseded_by == runs[0].id
    explanation = await keeper.explanation(runs[1].id)
    assert explanation is not None
    assert not explanation.partial


async def test_interrupt_keeps_what_the_listener_heard(keeper: Turnkeeper) -> None:
    agent = HeldAgent(first="I was about to say")
    session_id, first = await _held(keeper, agent)
    await _shown(keeper, session_id)

    second = asyncio.create_task(keeper.chat("second", session_id=session_id, double_text="interrupt"))
    await agent.begun.get()
    agent.let_go()
    await asyncio.gather(first, second)

    assert await _contents(keeper, session_id) == [
        "first",
        "I was about to say",
        "second",
        "I was about to say[second]",
    ]
    assert first.result().finish == "interrupted"  # type: ignore[attr-defined]
    assert first.result().text == "I was about to say"  # type: ignore[attr-defined]
    assert (await keeper.session(session_id)).revision == 2


async def test_merge_answers_both_messages_as_one_turn(keeper: Turnkeeper) -> None:
    agent = HeldAgent()
    session_id, first = await _held(keeper, agent)

    second = asyncio.create_task(keeper.chat("second", session_id=session_id, double_text="merge"))
    await agent.begun.get()
    agent.let_go()
    replies = await asyncio.gather(first, second)

    assert await _contents(keeper, session_id) == ["first", "second", "[first\nsecond]"]
    assert {reply.text for reply in replies} == {"[first\nsecond]"}  # type: ignore[attr-defined]
    assert (await keeper.session(session_id)).turns == 1
    assert replies[1].merged is True


async def test_after_the_first_output_a_merge_becomes_an_enqueue_and_says_so(keeper: Turnkeeper) -> None:
    agent = HeldAgent(first="Well, ")
    session_id, first = await _held(keeper, agent)
    await _shown(keeper, session_id)

    second = asyncio.create_task(keeper.chat("second", session_id=session_id, double_text="merge"))
    await _not_merged(keeper, session_id)
    agent.let_go()
    replies = await asyncio.gather(first, second)

    assert await _contents(keeper, session_id) == ["first", "Well, [first]", "second", "Well, [second]"]
    assert replies[1].merged is False


async def _not_merged(keeper: Turnkeeper, session_id: str) -> None:
    async def said() -> bool:
        return [run.merged for run in await keeper.runs(session_id)] == [False, None]

    await eventually(said)


@pytest.mark.parametrize("way", ["rollback", "interrupt", "merge"])
async def test_a_newcomer_on_another_node_takes_over(keeper: Turnkeeper, other_keeper: Turnkeeper, way: str) -> None:
    here, there = HeldAgent(), HeldAgent()
    other_keeper.agent("held")(there)
    session_id, first = await _held(keeper, here)

    second = asyncio.create_task(other_keeper.chat("second", session_id=session_id, double_text=way))
    await eventually(lambda: _is_stopped(here))
    here.let_go()
    there.let_go()

    assert (await second).turn == {"rollback": 1, "interrupt": 2, "merge": 1}[way]
    await asyncio.wait([first])
    first.exception()


async def _is_stopped(agent: HeldAgent) -> bool:
    return agent.stopped == 1


async def test_an_agent_may_rule_out_ways_of_double_texting(keeper: Turnkeeper) -> None:
    @keeper.agent("careful", allows=["enqueue", "reject"])
    async def careful(turn: object) -> str:
        return "done"

    session = await keeper.create_session(agent="careful")

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("stop!", session_id=session.id, double_text="interrupt")

    assert caught.value.code == "double_text_not_allowed"
    assert await keeper.runs(session.id) == []


async def test_a_full_queue_refuses_and_keeps_what_it_has(settings: object) -> None:
    agent = HeldAgent()
    async with Turnkeeper.open(settings=settings, queue_limit=2) as keeper:  # type: ignore[arg-type]
        session_id, first = await _held(keeper, agent)
        waiting = [await keeper.submit(f"waiting {n}", session_id=session_id) for n in range(2)]

        with pytest.raises(TurnkeeperError) as caught:
            await keeper.submit("one too many", session_id=session_id)

        agent.let_go()
        await asyncio.gather(first, *(keeper.reply_to(ticket) for ticket in waiting))
        assert caught.value.code == "queue_full"
        assert (await keeper.session(session_id)).turns == 3


async def test_a_message_that_waits_too_long_is_ended_and_the_next_one_works(settings: object) -> None:
    agent = HeldAgent()
    async with Turnkeeper.open(settings=settings, queue_seconds=0.0) as keeper:  # type: ignore[arg-type]
        session_id, first = await _held(keeper, agent)
        late = await keeper.submit("late", session_id=session_id)
        agent.let_go()
        await first

        with pytest.raises(TurnkeeperError) as caught:
            await keeper.reply_to(late)

        assert caught.value.code == "waited_too_long"
        assert (await keeper.chat("next", session_id=session_id)).turn == 2


async def test_a_run_is_cancelled_wherever_it_is(keeper: Turnkeeper, other_keeper: Turnkeeper) -> None:
    agent = HeldAgent()
    session_id, first = await _held(keeper, agent)
    queued = await keeper.submit("queued", session_id=session_id)
    running = (await keeper.runs(session_id))[1]

    assert (await other_keeper.cancel(queued.run.id)).status is RunStatus.CANCELLED
    await other_keeper.cancel(running.id)

    with pytest.raises(TurnkeeperError) as caught:
        await first
    assert caught.value.code == "run_cancelled"
    assert agent.stopped == 1
    agent.let_go()
    assert (await keeper.chat("next", session_id=session_id)).turn == 1
