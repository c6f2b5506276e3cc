"""Agents that the test servers are started with.

A gate is a file: the agent says that it got there, and waits for it.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from turnkeeper import AgentTurn, Judgement, Phase, Turnkeeper, Verdict

PIECE = 2_100
"""More than a delta holds, so that every piece of the streamer is one of its own."""


async def gated(turn: AgentTurn) -> str:
    """Answers once its gate is open."""
    await _pass(turn)
    return f"Passed with {turn.text!r}."


async def streamer(turn: AgentTurn) -> AsyncIterator[str]:
    """Says as many pieces of a size as it is asked for, and waits at its gate before the last one."""
    pieces, size = int(turn.params.get("pieces", 3)), int(turn.params.get("size", PIECE))
    for number in range(pieces):
        if number == pieces - 1:
            await _pass(turn)
        yield f"{number:04d}" + "." * (size - 4)


async def endless(turn: AgentTurn) -> AsyncIterator[str]:
    """Begins to speak, and never comes to its end."""
    yield "and so on "
    await asyncio.Event().wait()


async def failing(turn: AgentTurn) -> str:
    raise RuntimeError(f"secret words of {turn.text}")


async def doing(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
    """Does something to the world, and judges it."""
    yield await turn.once("stamp", lambda: f"Stamped {turn.text}.")
    yield Verdict(phase=Phase.SCORE, value=Judgement.ACCEPT, step="stamp")
    if turn.text == "escalate":
        yield Verdict(phase=Phase.SCORE, value=Judgement.ESCALATE, kind="cost", reasons=("It is dear.",))
    if turn.text == "reject":
        yield Verdict(phase=Phase.VERIFY, value=Judgement.REJECT, kind="loop_guard", reasons=("Again?",))


async def asking(turn: AgentTurn) -> str:
    return f"A table for {await turn.ask('For how many?')}."


async def _pass(turn: AgentTurn) -> None:
    gate = turn.params.get("gate")
    if gate is None:
        return
    Path(f"{gate}.reached").touch()
    while not Path(gate).exists():  # noqa: ASYNC110  # opened by another process
        await asyncio.sleep(0.005)


def set_up(keeper: Turnkeeper) -> None:
    """Tools, and an agent that uses them: what `--setup` is for."""

    @keeper.tool("connector.crm.write")
    def write(line: str) -> str:
        """Write a line to the customer's file."""
        return f"wrote {len(line)}"

    @keeper.agent("clerk")
    async def clerk(turn: AgentTurn) -> str:
        result = await turn.call("connector.crm.write", line=turn.text)
        return f"{result.status} {result.code or result.data}"
