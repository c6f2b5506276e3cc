"""A run that waits for a person."""

import asyncio

import pytest

from tests.eventually import eventually
from turnkeeper import AgentTurn, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.model.run import RunStatus


async def booker(turn: AgentTurn) -> str:
    if turn.text != "book":
        return f"By the way: {turn.text}"
    guests = await turn.ask("For how many?")
    time = await turn.ask(f"{guests} guests. At what time?")
    turn.state["booked"] = f"{guests} at {time}"
    return f"Booked: {guests} at {time}."


async def test_a_question_is_answered_later_and_the_run_goes_on_from_there(keeper: Turnkeeper) -> None:
    keeper.agent("booker")(booker)

    asked = await keeper.chat("book", agent="booker")
    again = await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id)
    done = await keeper.chat("eight", session_id=asked.session_id, answers=asked.run_id)

    assert (asked.status, asked.text) == (RunStatus.WAITING, "For how many?")
    assert again.text == "four guests. At what time?"
    assert (done.text, done.turn, done.run_id) == ("Booked: four at eight.", 1, asked.run_id)
    assert [message.content for message in await keeper.messages(asked.session_id)] == [
        "book",
        "For how many?",
        "four",
        "four guests. At what time?",
        "eight",
        "Booked: four at eight.",
    ]
    assert (await keeper.session(asked.session_id)).revision == 1


async def test_a_waiting_run_holds_nothing_and_other_messages_are_ordinary_turns(keeper: Turnkeeper) -> None:
    keeper.agent("booker")(booker)
    asked = await keeper.chat("book", agent="booker")

    aside = await keeper.chat("it rains", session_id=asked.session_id)
    await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id)
    done = await keeper.chat("eight", session_id=asked.session_id, answers=asked.run_id)

    assert (aside.turn, aside.text) == (1, "By the way: it rains")
    assert done.turn == 2


async def test_a_waiting_run_survives_a_restart_and_is_answered_on_another_node(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("booker")(booker)
        asked = await keeper.chat("book", agent="booker")

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("booker")(booker)
        await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id)
        done = await keeper.chat("eight", session_id=asked.session_id, answers=asked.run_id)

    assert done.text == "Booked: four at eight."


async def test_a_reset_cancels_what_waits(keeper: Turnkeeper) -> None:
    keeper.agent("booker")(booker)
    asked = await keeper.chat("book", agent="booker")

    await keeper.reset(asked.session_id)

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id)
    assert caught.value.code == "run_not_waiting"
    assert (await keeper.run(asked.run_id)).status is RunStatus.CANCELLED


async def test_of_two_answers_at_once_one_counts(keeper: Turnkeeper) -> None:
    @keeper.agent("asks-once")
    async def asks_once(turn: AgentTurn) -> str:
        return f"{await turn.ask('For how many?')} it is."

    asked = await keeper.chat("book", agent="asks-once")

    answers = await asyncio.gather(
        *(keeper.chat(text, session_id=asked.session_id, answers=asked.run_id) for text in ("four", "five")),
        return_exceptions=True,
    )

    refused = [answer for answer in answers if isinstance(answer, TurnkeeperError)]
    assert len(refused) == 1
    assert refused[0].code == "run_not_waiting"


async def test_a_sync_agent_asks_and_is_answered(keeper: Turnkeeper) -> None:
    @keeper.agent("sync-booker")
    def sync_booker(turn: AgentTurn) -> str:
        return f"A table for {turn.ask('For how many?')}."

    asked = await keeper.chat("book", agent="sync-booker")
    done = await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id)

    assert done.text == "A table for four."


async def test_answers_are_kept_when_a_run_that_may_be_tried_again_is_handed_over(settings: Settings) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow_booker(turn: AgentTurn) -> str:
        guests = await turn.ask("For how many?")
        begun.set()
        await go.wait()
        return f"Booked for {guests}."

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("slow-booker", retry_safe=True)(slow_booker)
        asked = await keeper.chat("book", agent="slow-booker")
        await keeper.submit("four", session_id=asked.session_id, answers=asked.run_id)
        await begun.wait()
        await keeper.close(grace_seconds=0)
    go.set()

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("slow-booker", retry_safe=True)(slow_booker)
        await eventually(lambda: _has_turns(keeper, asked.session_id, 1))

        assert [message.content for message in await keeper.messages(asked.session_id)] == [
            "book",
            "For how many?",
            "four",
            "Booked for four.",
        ]
        retried, handed_over = await keeper.runs(asked.session_id)
        assert (handed_over.id, handed_over.status) == (asked.run_id, RunStatus.ABANDONED)
        assert (retried.retry_of, retried.status) == (asked.run_id, RunStatus.COMPLETED)


async def _has_turns(keeper: Turnkeeper, session_id: str, turns: int) -> bool:
    return (await keeper.session(session_id)).turns == turns


async def test_answers_are_kept_when_a_run_that_may_be_tried_again_asks_once_more(settings: Settings) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow_booker(turn: AgentTurn) -> str:
        guests = await turn.ask("For how many?")
        begun.set()
        await go.wait()
        time = await turn.ask(f"{guests} guests. At what time?")
        return f"Booked: {guests} at {time}."

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("slow-booker", retry_safe=True)(slow_booker)
        asked = await keeper.chat("book", agent="slow-booker")
        await keeper.submit("four", session_id=asked.session_id, answers=asked.run_id)
        await begun.wait()
        await keeper.close(grace_seconds=0)
    go.set()

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("slow-booker", retry_safe=True)(slow_booker)
        await eventually(lambda: _newest_is(keeper, asked.session_id, RunStatus.WAITING))
        retried = (await keeper.runs(asked.session_id))[0]

        done = await keeper.chat("eight", session_id=asked.session_id, answers=retried.id)

        assert done.text == "Booked: four at eight."


async def _newest_is(keeper: Turnkeeper, session_id: str, status: RunStatus) -> bool:
    return (await keeper.runs(session_id))[0].status is status
