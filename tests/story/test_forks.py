"""Going on from an earlier turn in a session of its own, and reading a session as it was."""

import pytest

from turnkeeper import AgentTurn, Turnkeeper, TurnkeeperError
from turnkeeper.model.ids import UnitId
from turnkeeper.model.session import SessionStatus
from turnkeeper.model.unit import Unit, UnitRole, UnitStatus


async def noter(turn: AgentTurn) -> str:
    """Counts in its state, and notes what it is told to note, one note in the place of another."""
    turn.state["count"] = turn.state.get("count", 0) + 1
    turn.move_head({"at": turn.number})
    if turn.text.startswith("note "):
        turn.remember(a_note(turn.text.removeprefix("note ")))
    return f"{turn.state['count']} after {len(turn.history)}"


def a_note(text: str) -> Unit:
    return Unit(
        id=UnitId("staged::unit-000"),
        source_id="session",
        chunk_id="session::staged",
        role=UnitRole.DESCRIPTION,
        topic="note",
        claim=f"The note is {text}.",
        slot="note",
    )


async def told(keeper: Turnkeeper, *messages: str) -> str:
    keeper.agent("noter")(noter)
    session = await keeper.create_session(agent="noter")
    for message in messages:
        await keeper.chat(message, session_id=session.id)
    return session.id


async def lines(keeper: Turnkeeper, session_id: str) -> list[str]:
    return [message.content for message in await keeper.messages(session_id)]


async def notes(keeper: Turnkeeper, session_id: str) -> list[str | None]:
    found = await keeper.units.list(session_id)
    return [kept.unit.claim for _, kept in found if kept.unit and kept.status is UnitStatus.COMMITTED]


async def test_a_fork_shares_the_history_up_to_its_turn_and_goes_its_own_way(keeper: Turnkeeper) -> None:
    parent = await told(keeper, "one", "two", "three")

    fork = await keeper.fork_session(parent, at_turn=2)
    reply = await keeper.chat("another three", session_id=fork.id)

    assert (fork.status, fork.turns, reply.turn, reply.text) == (SessionStatus.ACTIVE, 2, 3, "3 after 4")
    assert fork.fork is not None
    assert (fork.fork.session_id, fork.fork.turn, fork.fork.seq) == (parent, 2, 4)
    assert await lines(keeper, fork.id) == ["one", "1 after 0", "two", "2 after 2", "another three", "3 after 4"]
    assert (await lines(keeper, parent))[-2:] == ["three", "3 after 4"]
    assert [message.seq for message in await keeper.messages(fork.id)] == [1, 2, 3, 4, 5, 6]


async def test_a_fork_of_a_fork_reads_through_all_of_them_page_by_page(keeper: Turnkeeper) -> None:
    parent = await told(keeper, "one", "two", "three")
    fork = await keeper.fork_session(parent, at_turn=2)
    await keeper.chat("b three", session_id=fork.id)

    later = await keeper.fork_session(fork.id)
    earlier = await keeper.fork_session(fork.id, at_turn=1)
    last = await keeper.chat("c four", session_id=later.id)
    side = await keeper.chat("d two", session_id=earlier.id)

    assert (last.text, side.text) == ("4 after 6", "2 after 2")
    assert (await lines(keeper, later.id))[::2] == ["one", "two", "b three", "c four"]
    assert (await lines(keeper, earlier.id))[::2] == ["one", "d two"]
    page = await keeper.messages(later.id, after=3, limit=3)
    assert [message.content for message in page] == ["2 after 2", "b three", "3 after 4"]


async def test_a_fork_has_the_state_units_and_head_of_its_turn_and_not_what_came_later(keeper: Turnkeeper) -> None:
    parent = await told(keeper, "note red", "two", "note blue")

    fork = await keeper.fork_session(parent, at_turn=2)

    assert await notes(keeper, fork.id) == ["The note is red."]
    assert await notes(keeper, parent) == ["The note is blue."]
    assert fork.agent_head == {"at": 2}
    await keeper.chat("note green", session_id=fork.id)
    assert await notes(keeper, fork.id) == ["The note is green."]
    assert await notes(keeper, parent) == ["The note is blue."]


async def test_what_was_forgotten_does_not_come_back_in_a_fork(keeper: Turnkeeper) -> None:
    parent = await told(keeper, "note red", "two")
    ((_, kept),) = await keeper.units.list(parent)
    await keeper.units.forget(parent, kept.id)

    fork = await keeper.fork_session(parent, at_turn=1)

    assert await notes(keeper, fork.id) == []
    assert (await keeper.state_at(parent, 1)).units == ()


async def test_a_fork_at_a_turn_before_a_reset_is_of_that_epoch(keeper: Turnkeeper) -> None:
    parent = await told(keeper, "one", "two")
    await keeper.reset(parent)
    await keeper.chat("afresh", session_id=parent)

    before = await keeper.fork_session(parent, at_turn=2)
    after = await keeper.fork_session(parent)
    replies = [await keeper.chat("go on", session_id=each.id) for each in (before, after)]

    assert [reply.text for reply in replies] == ["3 after 4", "2 after 2"]
    assert (before.epoch.number, after.epoch.number) == (1, 2)


async def test_a_state_is_what_the_session_was_then(keeper: Turnkeeper) -> None:
    session_id = await told(keeper, "note red", "note blue", "three")

    then = await keeper.state_at(session_id, 1)
    now = await keeper.state_at(session_id, 3)

    assert [message.content for message in then.messages] == ["note red", "1 after 0"]
    assert [unit.claim for unit in then.units] == ["The note is red."]
    assert (then.state, then.agent_head) == ({"count": 1}, {"at": 1})
    assert [unit.claim for unit in now.units] == ["The note is blue."]
    assert now.state == {"count": 3}


async def test_a_turn_that_is_not_there_has_no_state_and_no_fork(keeper: Turnkeeper) -> None:
    session_id = await told(keeper, "one")

    with pytest.raises(TurnkeeperError) as state:
        await keeper.state_at(session_id, 2)
    with pytest.raises(TurnkeeperError) as fork:
        await keeper.fork_session(session_id, at_turn=7)

    assert (state.value.code, fork.value.code) == ("turn_not_found", "turn_not_found")


async def test_a_closed_session_can_be_forked_and_stays_closed(keeper: Turnkeeper) -> None:
    parent = await told(keeper, "one")
    await keeper.close_session(parent)

    fork = await keeper.fork_session(parent)
    reply = await keeper.chat("two", session_id=fork.id)

    assert reply.text == "2 after 2"
    assert (await keeper.session(parent)).status is SessionStatus.CLOSED
