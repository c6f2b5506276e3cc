"""A stream that is cut again and again tells the same as one that is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from tests.client.conftest import STUBBORN
from tests.client.cutting import a_wire
from tests.client.house import TOKEN
from tests.scale import rounds
from turnkeeper import AgentTurn, Turnkeeper
from turnkeeper.client import Turnkeeper as RemoteTurnkeeper
from turnkeeper.ledger.feed import Frame
from turnkeeper.ledger.saying import Spoken

CUTS = rounds(100, 2_000)
PIECES = 12


class Paced:
    """An agent that says the next piece once the one before was heard, so that its run lasts as long as the reading."""

    def __init__(self, keeper: Turnkeeper) -> None:
        self.heard = asyncio.Semaphore(0)

        @keeper.agent("paced")
        async def paced(turn: AgentTurn) -> AsyncIterator[str]:
            for number in range(PIECES):
                yield f"{turn.text} {number:03d} " + "né. " * 520
                await self.heard.acquire()


def told(frames: list[Frame]) -> list[tuple[Any, ...]]:
    """What the frames say, without ids and moments that no two turns share."""
    own = {"message_seq", "created", "turn", "queue_no"}
    return [
        (frame.type, {name: value for name, value in frame.data.items() if name not in own | {"deltas"}})
        for frame in frames
    ]


async def a_turn(keeper: RemoteTurnkeeper, paced: Paced, session_id: str) -> tuple[list[Frame], str]:
    frames, spoken = [], Spoken()
    async with aclosing(keeper.stream("verse", agent="paced", session_id=session_id)) as stream:
        async for frame in stream:
            frames.append(frame)
            if spoken.heard(frame):
                paced.heard.release()
    return frames, spoken.text


async def test_a_stream_survives_a_hundred_cuts_at_random_bytes(engine: Turnkeeper, url: str) -> None:
    paced = Paced(engine)
    async with RemoteTurnkeeper.open(url, token=TOKEN) as keeper:
        whole = await keeper.create_session(agent="paced")
        uncut, text = await a_turn(keeper, paced, whole.id)
    turns = 0
    async with (
        a_wire(url, cuts=CUTS, most_bytes=9_000, seed=7) as wire,
        RemoteTurnkeeper.open(wire.url, token=TOKEN, retries=STUBBORN) as keeper,
    ):
        torn = (await engine.create_session(agent="paced")).id
        while wire.made < CUTS:
            paced.heard = asyncio.Semaphore(0)
            frames, heard = await a_turn(keeper, paced, torn)
            turns += 1

            assert told(frames) == told(uncut)
            assert [frame.no for frame in frames] == list(range(frames[0].no, frames[0].no + len(frames)))
            assert heard == text

    said = [(message.role, message.content) for message in await engine.messages(torn, limit=10_000)]
    assert said == [("user", "verse"), ("assistant", text)] * turns
    assert len(await engine.runs(torn, limit=10_000)) == turns
    assert wire.made >= CUTS


async def test_who_comes_back_after_the_end_has_the_whole_text_all_the_same(engine: Turnkeeper, url: str) -> None:
    for seed in range(12):
        async with (
            a_wire(url, cuts=3, most_bytes=6_000, seed=seed) as wire,
            RemoteTurnkeeper.open(wire.url, token=TOKEN, retries=STUBBORN) as keeper,
        ):
            saying = keeper.say("ode", agent="poet")
            pieces = [piece async for piece in saying]
            reply = await saying.reply()

        assert "".join(pieces) == saying.text == reply.text
        assert [message.content for message in await engine.messages(reply.session_id)] == ["ode", reply.text]
