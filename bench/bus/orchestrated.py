"""`python -m bench.bus.orchestrated`: our relay with an orchestrator on it, whose agent answers every utterance."""

import asyncio
import tempfile
from collections.abc import AsyncIterator

from turnkeeper import Turnkeeper
from turnkeeper.bus.orchestrator import Orchestrator
from turnkeeper.bus.relay import Relay
from turnkeeper.ports.agent import AgentTurn


async def answer(turn: AgentTurn) -> AsyncIterator[str]:
    yield f"You said {turn.text!r}."


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Turnkeeper.open(f"{folder}/bench.db") as keeper, Relay(port=0) as relay:
            keeper.agent("bench")(answer)
            orchestrator = Orchestrator(keeper, agents=["bench"])
            async with orchestrator.on(relay.url, is_first=True):
                await orchestrator.joined(10)
                print(f"Listening on {relay.port}", flush=True)
                await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
