"""A session that the client keeps: sealed, sent with each turn, and kept before the reply is given."""

from __future__ import annotations

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
