"""A server in the loop of a test, and what answers there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import uvicorn

from turnkeeper import AgentTurn, Turnkeeper
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import Identity, StaticIdentities, single_identity
from turnkeeper.server.listen import ProblemProtocol, bind, url_of

TOKEN = "token-of-local"


def set_up(keeper: Turnkeeper) -> None:
    """Agents for every kind of end."""

    @keeper.agent("parrot")
    async def parrot(turn: AgentTurn) -> str:
        turn.state["heard"] = [*turn.state.get("heard", []), turn.text]
        return f"You said: {turn.text}"

    @keeper.agent("poet")
    async def poet(turn: AgentTurn) -> AsyncIterator[str]:
        for number in range(int(turn.params.get("pieces", 4))):
            # Each its own delta: what is said at once is told at once.
            yield f"{turn.text} {number:03d} " + "é." * 1_100
            await asyncio.sleep(0)

    @keeper.agent("asking")
    async def asking(turn: AgentTurn) -> str:
        return f"A table for {await turn.ask('For how many?')}."

    @keeper.agent("failing")
    async def failing(turn: AgentTurn) -> str:
        raise RuntimeError("secret words")

    @keeper.agent("waiting")
    async def waiting(turn: AgentTurn) -> str:
        await asyncio.Event().wait()
        return "never"

    @keeper.tool("connector.crm.write")
    def write(line: str) -> str:
        """Write a line to the customer's file."""
        return f"wrote {len(line)}"

    @keeper.agent("clerk")
    async def clerk(turn: AgentTurn) -> str:
        await turn.once("stamp", lambda: "stamped")
        result = await turn.call("connector.crm.write", line=turn.text)
        return f"{result.status} {result.code or result.data}"


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for the tests."""
        yield


@contextlib.asynccontextmanager
async def served(keeper: Turnkeeper, *more: Identity) -> AsyncIterator[str]:
    """The address of a server on this keeper, on a free port of this machine."""
    app = create_app(keeper, StaticIdentities([single_identity(TOKEN), *more]))
    bound = bind("127.0.0.1", 0)
    config = uvicorn.Config(
        app, http=ProblemProtocol, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    while not server.started:  # noqa: ASYNC110  # it has no event for that
        await asyncio.sleep(0)
    try:
        yield url_of(bound)
    finally:
        app.state.closing.begin()
        server.should_exit = server.force_exit = True
        await serving
        bound.close()
