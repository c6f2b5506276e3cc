"""An orchestrator in a process of its own, on the bus at a URL. Says `ready` once it serves."""

import asyncio
import sys

from tests.bus.house import Skills, remember
from turnkeeper import Settings, Turnkeeper
from turnkeeper.bus.orchestrator import Orchestrator
from turnkeeper.bus.rules import BusRules


async def main(database: str, url: str) -> None:
    settings = Settings(database=database, default_agent="echo")
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("rita")(remember)
        orchestrator = Orchestrator(keeper, agents=["rita"], rules=BusRules(owner_seconds=0.3))
        Skills().install(orchestrator)
        async with orchestrator.on(url):
            await orchestrator.joined(30)
            print("ready", orchestrator.id, flush=True)
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
