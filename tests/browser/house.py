"""A house to look at: agents for every kind of end, and gates that a test opens when it has looked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import Page, expect

from tests.client.house import TOKEN as TOKEN
from tests.client.house import served
from turnkeeper import AgentTurn, Role, Settings, Turnkeeper
from turnkeeper.model.gate import GateKind, GateRule
from turnkeeper.model.policy import Policy

POLICY = Policy(gates=(GateRule(action="connector.crm.write", kind=GateKind.APPROVE, required_role=Role.MEMBER),))
"""Writing to the customer's file is asked for first."""


@dataclass
class Gates:
    """An agent waits at a gate until the test opens it; the test waits until the agent is there."""

    _open: dict[str, asyncio.Event] = field(default_factory=dict)
    _reached: dict[str, asyncio.Event] = field(default_factory=dict)

    def open(self, name: str) -> None:
        self._open.setdefault(name, asyncio.Event()).set()

    async def reached(self, name: str) -> None:
        await self._reached.setdefault(name, asyncio.Event()).wait()

    async def pass_through(self, name: str) -> None:
        self._reached.setdefault(name, asyncio.Event()).set()
        await self._open.setdefault(name, asyncio.Event()).wait()


@dataclass
class House:
    """What a test of the console is given: the keeper itself, its address, and the gates of its agents."""

    keeper: Turnkeeper
    url: str
    gates: Gates


@asynccontextmanager
async def a_house(folder: Path) -> AsyncIterator[House]:
    gates, database = Gates(), str(folder / "conversations.db")
    settings = Settings(database=database, default_agent="parrot", message_chars=200_000)
    async with Turnkeeper.open(settings=settings, policy=POLICY) as keeper:
        _register(keeper, gates)
        async with served(keeper) as url:
            yield House(keeper=keeper, url=url, gates=gates)


def _register(keeper: Turnkeeper, gates: Gates) -> None:
    @keeper.agent("parrot")
    async def parrot(turn: AgentTurn) -> str:
        return f"You said: {turn.text}"

    @keeper.agent("markdown")
    async def markdown(turn: AgentTurn) -> str:
        """Says back what it is told, bare: whatever stands in it reaches the page."""
        return turn.text

    @keeper.agent("storyteller")
    async def storyteller(turn: AgentTurn) -> AsyncIterator[str]:
        """Tells the first half, waits at the gate "half", then the rest."""
        yield "Once upon a time "
        await gates.pass_through("half")
        yield "there was a lighthouse."

    @keeper.agent("thinker")
    async def thinker(turn: AgentTurn) -> str:
        """Says nothing before the gate "thought" is open."""
        await gates.pass_through("thought")
        return f"Thought about: {turn.text}"

    @keeper.agent("failing")
    async def failing(turn: AgentTurn) -> str:
        raise RuntimeError("The weather station does not answer.")

    @keeper.agent("asking")
    async def asking(turn: AgentTurn) -> str:
        return f"A table for {await turn.ask('For how many?')}."

    @keeper.tool("connector.crm.write")
    def write(line: str) -> str:
        """Write a line to the customer's file."""
        return f"wrote {len(line)}"

    @keeper.agent("clerk")
    async def clerk(turn: AgentTurn) -> str:
        result = await turn.call("connector.crm.write", line=turn.text)
        return f"{result.status} {result.code or result.data}"


async def come_in(page: Page, url: str, path: str = "/", *, token: str = TOKEN) -> None:
    """Opens an address by the link that the server prints, and waits until the page is drawn."""
    await page.goto(f"{url}/console{path}#token={token}")
    await settled(page)


async def settled(page: Page) -> None:
    """A page is drawn when it has a heading and nothing on it is on its way; a live stream goes on for ever."""
    await page.locator("main h1").first.wait_for()
    await expect(page.locator("[data-loading]")).to_have_count(0)
