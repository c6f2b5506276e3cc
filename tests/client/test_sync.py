"""The same verbs without await: one implementation, in a thread of its own."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.client.conftest import QUICK
from tests.client.house import TOKEN
from turnkeeper import errors
from turnkeeper.client import MemoryKeep, SyncTurnkeeper


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "turnkeeper-client"]


async def beside(url: str, program: Callable[[Any], Any]) -> Any:
    """What a program without a loop does with the server."""

    def run() -> Any:
        with SyncTurnkeeper.open(url, token=TOKEN, retries=QUICK) as keeper:
            return program(keeper)

    return await asyncio.to_thread(run)


async def test_a_program_talks_without_a_loop(url: str) -> None:
    def program(keeper: Any) -> tuple[Any, ...]:
        reply = keeper.chat("milk", agent="parrot")
        saying = keeper.say("ode", agent="poet", session_id=reply.session_id)
        pieces = list(saying)
        frames = list(keeper.stream("ode", agent="poet"))
        return reply, pieces, saying.text, saying.reply(), frames, keeper.packs.list(), keeper.url

    reply, pieces, text, said, frames, packs, address = await beside(url, program)

    assert reply.text == "You said: milk"
    assert "".join(pieces) == text == said.text
    assert frames[-1].type == "run.completed"
    assert (list(packs), address) == ([], url)
    assert threads() == []


async def test_lists_go_on_to_their_end(url: str) -> None:
    def program(keeper: Any) -> tuple[list[str], list[str], int | None]:
        made = sorted(keeper.create_session(agent="parrot").id for _ in range(5))
        page = keeper.sessions(limit=2)
        return made, [session.id for session in page.every()], page.total

    made, every, total = await beside(url, program)

    assert every == made[::-1]
    assert total == 5


async def test_errors_are_raised_where_they_are_waited_for(url: str) -> None:
    with pytest.raises(errors.SessionNotFound):
        await beside(url, lambda keeper: keeper.session("sess_nobody"))

    assert threads() == []


async def test_who_stops_listening_lets_go(url: str) -> None:
    def program(keeper: Any) -> str:
        frames = keeper.stream("ode", agent="poet")
        first = next(frames)
        frames.close()
        return str(first.type)

    assert await beside(url, program) == "run.accepted"


async def test_what_outlives_its_keeper_ends_quietly(url: str) -> None:
    def program(keeper: Any) -> Any:
        frames = keeper.stream("ode", agent="poet")
        next(frames)
        return frames

    left, asked = await beside(url, program), await beside(url, program)

    left.close()  # As the interpreter does when nobody holds it any more.
    with pytest.raises(RuntimeError, match="open it first"):
        next(asked)


async def test_a_session_is_carried_without_a_loop(url: str) -> None:
    def program(keeper: Any) -> Any:
        mine = keeper.carried("mine", MemoryKeep(), agent="parrot")
        mine.chat("one")
        return mine.chat("two").turn

    assert await beside(url, program) == 2


def test_an_interrupt_ends_the_waiting_and_what_is_waited_for() -> None:
    ended: list[bool] = []

    class Endless:
        async def wait(self) -> None:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

    keeper = SyncTurnkeeper.open("http://nobody")
    keeper._thing.wait = Endless().wait
    with pytest.raises(KeyboardInterrupt):
        keeper.wait()
    keeper.close()
    keeper.close()

    assert ended == [True]
    assert threads() == []


def test_what_is_closed_says_so() -> None:
    keeper = SyncTurnkeeper.open("http://nobody")
    keeper.close()

    with pytest.raises(RuntimeError, match="open it first"):
        keeper.session("s")
