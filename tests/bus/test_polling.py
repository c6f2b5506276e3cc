"""A poll is over when it is known enough, and hears nobody after that."""

import asyncio

from turnkeeper.bus.message import Message
from turnkeeper.bus.polling import Polls


async def test_a_poll_ends_as_soon_as_it_is_known_enough() -> None:
    polls = Polls(lambda topic, data: None)
    asked = asyncio.ensure_future(
        polls("ping", {}, answers="pong", seconds=1_000.0, is_enough=lambda came: len(came) == 2)
    )
    await asyncio.sleep(0)

    assert polls.answered(Message(type="pong", data={"n": 1}))
    assert not polls.answered(Message(type="other"))
    assert polls.answered(Message(type="pong", data={"n": 2}))
    async with asyncio.timeout(20):
        came = await asked

    assert [each.data["n"] for each in came] == [1, 2]
    assert not polls.answered(Message(type="pong", data={"n": 3}))
