"""A session that the client keeps: sealed, sent with each turn, and kept before the reply is given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from pathlib import Path

import pytest

from tests.client.conftest import STUBBORN
from tests.client.cutting import a_wire
from tests.client.house import TOKEN
from turnkeeper import AgentTurn, Turnkeeper, errors
from turnkeeper.client import FileKeep, MemoryKeep, SessionKeep, SqliteKeep
from turnkeeper.client import Turnkeeper as RemoteTurnkeeper


@pytest.fixture(params=["memory", "file", "sqlite"])
def keep(request: pytest.FixtureRequest, tmp_path: Path) -> SessionKeep:
    if request.param == "memory":
        return MemoryKeep()
    return FileKeep(tmp_path / "mine.json") if request.param == "file" else SqliteKeep(tmp_path / "mine.db")


async def test_it_goes_on_from_what_was_kept(keep: SessionKeep, remote: RemoteTurnkeeper, engine: Turnkeeper) -> None:
    mine = remote.carried("mine", keep, agent="parrot")
    await mine.chat("milk")

    later = remote.carried("mine", keep)
    reply = await later.chat("oats")

    assert (reply.turn, reply.session_id) == (2, "mine")
    kept = keep.load("mine")
    assert kept is not None
    assert kept["carried"] == reply.carried
    assert "milk" not in str(kept)
    with pytest.raises(errors.SessionNotFound):
        await engine.session("mine")


async def test_what_is_heard_to_its_end_is_kept(remote: RemoteTurnkeeper) -> None:
    keep = MemoryKeep()
    mine = remote.carried("mine", keep, agent="poet")
    saying = mine.say("ode")
    pieces = [piece async for piece in saying]

    reply = await saying.reply()

    assert "".join(pieces) == reply.text
    assert (await mine.chat("again")).turn == 2


async def test_two_that_are_said_at_once_come_one_after_the_other(remote: RemoteTurnkeeper) -> None:
    mine = remote.carried("mine", MemoryKeep(), agent="parrot")
    sayings = [mine.say("one"), mine.say("two"), mine.say("three")]

    await asyncio.gather(_heard(sayings[0]), sayings[1].reply(), _heard(sayings[2]))

    assert {(await saying.reply()).turn for saying in sayings} == {1, 2, 3}
    assert (await mine.chat("four")).turn == 4


async def _heard(saying: AsyncIterable[str]) -> str:
    return "".join([piece async for piece in saying])


async def test_a_reply_that_is_only_waited_for_is_kept(remote: RemoteTurnkeeper) -> None:
    mine = remote.carried("mine", MemoryKeep(), agent="parrot")

    reply = await mine.say("one").reply()

    assert reply.text == "You said: one"
    assert (await mine.chat("two")).turn == 2


async def test_a_reply_may_be_waited_for_while_it_is_heard(remote: RemoteTurnkeeper) -> None:
    mine = remote.carried("mine", MemoryKeep(), agent="poet")
    saying = mine.say("ode")

    async for piece in saying:
        assert (await saying.reply()).text.startswith(piece)
        break

    assert (await mine.chat("again")).turn == 2


async def test_the_agent_that_was_asked_is_asked_again(keep: SessionKeep, remote: RemoteTurnkeeper) -> None:
    await remote.carried("mine", keep, agent="parrot").chat("one")
    await remote.carried("mine", keep).say("two").reply()

    reply = await remote.carried("mine", keep).chat("three")

    assert reply.text == "You said: three"
    assert (keep.load("mine") or {})["agent"] == "parrot"


async def test_a_reset_stands_also_when_the_run_fails_after_it(engine: Turnkeeper, remote: RemoteTurnkeeper) -> None:
    @engine.agent("moody")
    async def moody(turn: AgentTurn) -> str:
        if turn.text == "fail":
            raise RuntimeError
        return f"{len(turn.history)} before"

    mine = remote.carried("mine", MemoryKeep(), agent="moody")
    await mine.chat("one")

    with pytest.raises(errors.RunEnded) as failed:
        await mine.chat("fail", reset=True)

    assert failed.value.code == "agent_failed"
    assert (await mine.chat("two")).text == "0 before"


async def test_it_is_adopted_by_the_server_and_released_again(remote: RemoteTurnkeeper) -> None:
    keep = MemoryKeep()
    mine = remote.carried("mine", keep, agent="parrot")
    await mine.chat("milk")

    session = await mine.adopt(title="Kept there")
    await remote.chat("oats", session_id=session.id)
    back = remote.carried(session.id, keep)
    await back.release()
    reply = await back.chat("rice")

    assert (session.title, session.turns, reply.turn) == ("Kept there", 1, 3)
    with pytest.raises(errors.SessionClosed):
        await remote.chat("late", session_id=session.id, on_missing="error")


async def test_no_cut_loses_what_it_carries(engine: Turnkeeper, url: str) -> None:
    async with (
        a_wire(url, cuts=20, most_bytes=12_000, seed=3) as wire,
        RemoteTurnkeeper.open(wire.url, token=TOKEN, retries=STUBBORN) as keeper,
    ):
        mine = keeper.carried("mine", MemoryKeep(), agent="poet")
        for turn in range(1, 9):
            saying = mine.say("ode")
            pieces = [piece async for piece in saying]
            reply = await saying.reply()

            assert ("".join(pieces), reply.turn) == (reply.text, turn)
    assert wire.made >= 20
