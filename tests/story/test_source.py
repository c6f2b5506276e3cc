"""Facts and faults of the source that a whole turn shows; those of its parts are tested beside the parts."""

import asyncio
from pathlib import Path

import pytest

from tests.contract.backends import TABLES, Backend, PostgresBackend, SqliteBackend
from turnkeeper import Settings, Turnkeeper
from turnkeeper.model.unit import UnitStatus

PAGE_UNIT = """@k1 ku atomic "session::turn::unit-000"
@k2 set $k1 sourceId session
@k3 set $k1 chunkId session::turn
@k4 set $k1 role Constraint
@k5 set $k1 topic "deployment environment"
@k6 set $k1 claim "The system must run on CPU only."
@k7 set $k1 utilityActs [verify]
@k8 set $k1 phaseScopes [kb-plugin gs-plugin]
"""


async def known_in(keeper: Turnkeeper, session_id: str) -> list[str]:
    listed = await keeper.units.list(session_id)
    return [kept.unit.content for _, kept in listed if kept.unit and kept.status is UnitStatus.COMMITTED]


async def test_fact_5_guidance_lasts_for_its_turn_or_for_the_session_as_it_was_said(keeper: Turnkeeper) -> None:
    once = await keeper.chat("Answer this one in French.", agent="symbolic")
    lasting = await keeper.chat("From now on, answer in JSON.", session_id=once.session_id)

    assert once.explanation.units["dropped"][0]["reason"] == "turn"
    assert len(lasting.explanation.units["added"]) == 1
    assert await known_in(keeper, once.session_id) == ["From now on, answer in JSON."]


async def test_fault_5_the_unit_of_the_page_is_kept_and_is_evidence_too(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="symbolic")
    await keeper.units.import_text(session.id, PAGE_UNIT, format="units")

    reply = await keeper.chat("What must the system run on?", session_id=session.id)

    assert await known_in(keeper, session.id) == ["The system must run on CPU only."]
    assert "CPU only" in reply.text


async def test_fault_11_what_was_said_is_known_after_a_restart(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        session_id = (await keeper.chat("The ferry leaves at six.", agent="symbolic")).session_id
    async with Turnkeeper.open(settings=settings) as keeper:
        reply = await keeper.chat("When does the ferry leave?", session_id=session_id)

    assert "six" in reply.text


async def test_fault_12_two_messages_at_once_are_two_turns_and_lose_nothing(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="symbolic")

    replies = await asyncio.gather(
        keeper.chat("The ferry leaves at six.", session_id=session.id),
        keeper.chat("The harbour has two cranes.", session_id=session.id),
    )

    assert sorted(reply.turn or 0 for reply in replies) == [1, 2]
    assert sorted(await known_in(keeper, session.id)) == ["The ferry leaves at six.", "The harbour has two cranes."]
    assert len(await keeper.messages(session.id)) == 4


async def test_fault_15_a_message_that_is_sent_again_is_one_turn(keeper: Turnkeeper) -> None:
    first = await keeper.chat("The ferry leaves at six.", agent="symbolic", request_id="one")
    again = await keeper.chat("The ferry leaves at six.", agent="symbolic", request_id="one")

    assert (first.run_id, first.session_id) == (again.run_id, again.session_id)
    assert len(await keeper.messages(first.session_id)) == 2


@pytest.fixture
def backend(address: str) -> Backend:
    return PostgresBackend(address) if "://" in address else SqliteBackend(Path(address))


async def test_fault_16_a_late_turn_writes_as_many_rows_as_an_early_one(keeper: Turnkeeper, backend: Backend) -> None:
    async def rows() -> int:
        return sum([len(await backend.execute(f"SELECT 1 FROM {table}")) for table in TABLES if table != "nodes"])

    session_id = (await keeper.chat("Fact 0 is true.", agent="symbolic")).session_id
    written = []
    for number in range(1, 31):
        before = await rows()
        await keeper.chat(f"The lamp number {number} is green.", session_id=session_id)
        written.append(await rows() - before)

    assert len(set(written)) == 1


async def test_fault_28_a_message_has_an_id_a_moment_and_its_turn(keeper: Turnkeeper) -> None:
    reply = await keeper.chat("The ferry leaves at six.", agent="symbolic")

    said = await keeper.messages(reply.session_id)

    assert [(message.seq, message.turn, message.role.value) for message in said] == [
        (1, 1, "user"),
        (2, 1, "assistant"),
    ]
    assert len({message.id for message in said}) == 2
    assert all(message.created_at.tzinfo is not None for message in said)
