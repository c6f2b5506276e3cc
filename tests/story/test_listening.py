"""What an agent hears of what its sessions know: as staged while the turn runs, and again once it is kept."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from turnkeeper import AgentTurn, Turnkeeper
from turnkeeper.errors import RunEnded
from turnkeeper.model.ids import AgentId, UnitId
from turnkeeper.model.unit import Unit, UnitRole
from turnkeeper.ports.agent import AgentPolicy
from turnkeeper.ports.plugins import KnowledgeEvent, KnowledgeEventType


class Gossip:
    """Remembers what it is told, and writes down what it hears. It may fail to listen."""

    id = AgentId("gossip")
    policy = AgentPolicy()

    def __init__(self, *, is_deaf: bool = False) -> None:
        self.heard_of: list[tuple[KnowledgeEventType, list[str]]] = []
        self._arrived = asyncio.Condition()
        self._is_deaf = is_deaf

    async def has_heard(self, count: int) -> None:
        async with asyncio.timeout(30), self._arrived:
            await self._arrived.wait_for(lambda: len(self.heard_of) >= count)

    async def answer(self, turn: AgentTurn) -> AsyncGenerator[str, None]:
        unit = Unit(
            id=UnitId("staged::unit-000"),
            source_id="session",
            chunk_id="session::staged",
            role=UnitRole.DESCRIPTION,
            topic="news",
            claim=turn.text,
        )
        turn.remember(unit)
        if turn.text == "fail":
            raise RuntimeError
        yield "Really?"

    async def heard(self, event: KnowledgeEvent) -> None:
        async with self._arrived:
            self.heard_of.append((event.type, [unit.id for unit in event.units]))
            self._arrived.notify_all()
        if self._is_deaf:
            raise RuntimeError


async def test_fact_4_an_agent_hears_of_units_once_they_are_kept(keeper: Turnkeeper) -> None:
    gossip = Gossip()
    keeper.add_agent(gossip)

    reply = await keeper.chat("The ferry is late.", agent="gossip")
    await gossip.has_heard(2)

    assert gossip.heard_of == [
        (KnowledgeEventType.SESSION_CREATED, []),
        (KnowledgeEventType.UNITS_COMMITTED, ["session::t0001::unit-000"]),
    ]
    assert len(await keeper.units.list(reply.session_id)) == 1


async def test_an_agent_never_hears_of_units_that_were_not_kept(keeper: Turnkeeper) -> None:
    gossip = Gossip()
    keeper.add_agent(gossip)
    session = await keeper.create_session(agent="gossip")

    with pytest.raises(RunEnded):
        await keeper.chat("fail", session_id=session.id)
    await keeper.chat("The ferry is late.", session_id=session.id)
    await keeper.chat("The ferry is late.", session_id=session.id)
    await keeper.close_session(session.id)

    assert [type for type, _ in gossip.heard_of] == [
        KnowledgeEventType.SESSION_CREATED,
        KnowledgeEventType.UNITS_COMMITTED,
    ]


async def test_fact_8_an_agent_hears_of_what_was_imported_and_mounted(keeper: Turnkeeper) -> None:
    gossip = Gossip()
    keeper.add_agent(gossip)
    session = await keeper.create_session(agent="gossip")
    base = await keeper.bases.create("Handbook")

    await keeper.units.import_text(session.id, "The ferry is late.")
    await keeper.bases.mount(session.id, base.id)
    await gossip.has_heard(3)

    assert {type for type, _ in gossip.heard_of} == {
        KnowledgeEventType.SESSION_CREATED,
        KnowledgeEventType.UNITS_COMMITTED,
        KnowledgeEventType.BASE_MOUNTED,
    }


async def test_fault_13_what_was_kept_stays_kept_when_a_listener_fails(keeper: Turnkeeper) -> None:
    gossip = Gossip(is_deaf=True)
    keeper.add_agent(gossip)

    reply = await keeper.chat("The ferry is late.", agent="gossip")
    await gossip.has_heard(2)

    assert reply.turn == 1
    assert (await keeper.chat("And again", session_id=reply.session_id)).turn == 2
