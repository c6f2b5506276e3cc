"""A house with more in it than a screen holds: a long session, a long list, a large graph."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.client.house import TOKEN as TOKEN
from tests.client.house import served
from turnkeeper import AgentTurn, Settings, Turnkeeper
from turnkeeper.model.graph import EdgeType, NodeType

AT_ONCE = 64
ANSWER = """You said **{text}**. A list, as people like them:

- the ferry leaves at six,
- the pier opens at five, see [the harbour](https://example.org/harbour),
- a ticket costs `12.50`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    messages: int = 5_000
    sessions: int = 10_000
    nodes: int = 300


QUICK = Sizes(messages=200, sessions=300, nodes=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Full:
    """Where to look."""

    url: str
    long_session: str
    graph_session: str
    graph_run: str


@asynccontextmanager
async def a_full_house(folder: Path, sizes: Sizes) -> AsyncIterator[Full]:
    settings = Settings(database=str(folder / "conversations.db"), default_agent="writer")
    async with Turnkeeper.open(settings=settings) as keeper:
        _register(keeper, sizes)
        reply = await keeper.chat("Think hard", agent="thinker")
        long = await _talk(keeper, sizes.messages // 2)
        await _begin(keeper, sizes.sessions)
        async with served(keeper) as url:
            yield Full(url=url, long_session=long, graph_session=reply.session_id, graph_run=reply.run_id)


def _register(keeper: Turnkeeper, sizes: Sizes) -> None:
    @keeper.agent("writer")
    async def writer(turn: AgentTurn) -> str:
        return ANSWER.format(text=turn.text)

    @keeper.agent("thinker")
    async def thinker(turn: AgentTurn) -> str:
        """A tree of frames, each with plugins that produce something."""
        # The steps of the pipeline are nodes of the same graph.
        for number in range(sizes.nodes - 10):
            id, parent = f"node-{number:03d}", f"node-{(number - 1) // 3:03d}"
            kind = NodeType.FRAME if number < sizes.nodes // 3 else NodeType.PLUGIN
            turn.notes.begin(id, kind, f"Part {number}", input=f"question {number}")
            if number:
                turn.notes.edge(EdgeType.CONTAINS, parent, id)
            turn.notes.end(id, "success", output=f"answer {number} " * 10)
        return "Thought."


async def _talk(keeper: Turnkeeper, turns: int) -> str:
    session = await keeper.create_session(title="A long talk")
    for turn in range(turns):
        await keeper.chat(f"What about number {turn}?", session_id=session.id)
    return session.id


async def _begin(keeper: Turnkeeper, sessions: int) -> None:
    for first in range(0, sessions, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, sessions))
        await asyncio.gather(*(keeper.create_session(title=f"Topic {number}") for number in numbers))
