"""Where the memory of an agent stands that keeps one of its own: it moves with the turn, or not at all."""

import pytest

from turnkeeper import AgentTurn, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.model.run import RunStatus
from turnkeeper.ports.agent import Suspended


async def counter(turn: AgentTurn) -> str:
    """Its memory is the place it has come to; it says where it stood, and what it had been told."""
    stood = turn.head["at"] if turn.head else 0
    if turn.text == "ask" and turn.position is None:
        raise Suspended("Go on?", position={"at": stood + 100})
    if turn.position is not None:
        answer = turn.next_answer().answer
        turn.move_head({"at": turn.position["at"]})
        return f"from {turn.position['at']} with {answer}"
    turn.move_head({"at": stood + 1})
    if turn.text == "fail":
        raise RuntimeError("after it moved")
    return f"from {stood}"


async def test_the_head_of_a_turn_is_where_the_next_one_begins(keeper: Turnkeeper) -> None:
    keeper.agent("counter")(counter)

    first = await keeper.chat("hello", agent="counter")
    second = await keeper.chat("again", session_id=first.session_id)

    assert (first.text, second.text) == ("from 0", "from 1")
    assert (await keeper.session(first.session_id)).agent_head == {"at": 2}


async def test_a_turn_that_fails_leaves_the_head_where_it_was(keeper: Turnkeeper) -> None:
    keeper.agent("counter")(counter)
    first = await keeper.chat("hello", agent="counter")

    with pytest.raises(TurnkeeperError):
        await keeper.chat("fail", session_id=first.session_id)

    assert (await keeper.chat("again", session_id=first.session_id)).text == "from 1"


async def test_a_reset_clears_the_head(keeper: Turnkeeper) -> None:
    keeper.agent("counter")(counter)
    first = await keeper.chat("hello", agent="counter")

    await keeper.reset(first.session_id)

    assert (await keeper.session(first.session_id)).agent_head is None
    assert (await keeper.chat("again", session_id=first.session_id)).text == "from 0"


async def test_a_run_that_waits_goes_on_from_where_it_stood_also_on_another_node(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("counter")(counter)
        asked = await keeper.chat("ask", agent="counter")
        await keeper.chat("meanwhile", session_id=asked.session_id)

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("counter")(counter)
        done = await keeper.chat("yes", session_id=asked.session_id, answers=asked.run_id)
        session = await keeper.session(asked.session_id)

    assert asked.status is RunStatus.WAITING
    assert (done.text, session.agent_head) == ("from 100 with yes", {"at": 100})


async def test_a_client_that_keeps_its_session_carries_the_head(keeper: Turnkeeper) -> None:
    keeper.agent("counter")(counter)

    first = await keeper.chat("hello", agent="counter", custody="client", session_id="mine")
    second = await keeper.chat("again", agent="counter", custody="client", session_id="mine", carried=first.carried)

    assert (first.text, second.text) == ("from 0", "from 1")


async def test_a_head_that_is_not_json_fails_the_turn(keeper: Turnkeeper) -> None:
    @keeper.agent("odd")
    async def odd(turn: AgentTurn) -> str:
        turn.move_head({"at": object()})
        return "done"

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("hello", agent="odd")

    assert caught.value.code == "agent_failed"
