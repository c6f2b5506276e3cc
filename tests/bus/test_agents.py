"""Our own agents answer on the bus, each round a Run of theirs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.bus.house import House, a_house, a_settings
from turnkeeper.bus import topics
from turnkeeper.bus.agents import conversation_for
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.ports.agent import AgentTurn


async def otto(turn: AgentTurn) -> AsyncIterator[str]:
    yield f"Otto heard {turn.text}"


async def failing(turn: AgentTurn) -> AsyncIterator[str]:
    raise RuntimeError("out of order")
    yield ""


async def asking(turn: AgentTurn) -> AsyncIterator[str]:
    name = await turn.ask("what is your name?")
    yield f"hello {name}"


async def endless(turn: AgentTurn) -> AsyncIterator[str]:
    await asyncio.Event().wait()
    yield ""


async def run_of(house: House, run_id: str) -> Run:
    return await house.keeper.run(run_id, principal=house.orchestrator.principal)


async def test_a_session_chooses_its_agent_by_its_persona(tmp_path: Path) -> None:
    async with a_house(a_settings(tmp_path), agents={"otto": otto}) as house:
        chosen = await house.say("hello", {"session_id": "n1", "persona_id": "otto"})
        unknown = await house.say("hello", {"session_id": "n1", "persona_id": "nobody"})
        denied = await house.say("hello", {"session_id": "n1", "persona_id": "otto", "blacklisted_skills": ["otto"]})

    assert chosen.spoken == ["Otto heard hello"]
    assert unknown.dispatch.type == "rita:answer"
    assert denied.topics[1:] == [topics.UNMATCHED, topics.HANDLED]


@pytest.mark.parametrize("id", ["n1", "default"])
async def test_an_agent_that_fails_leaves_the_conversation_as_it_was(tmp_path: Path, id: str) -> None:
    async with a_house(a_settings(tmp_path), agents={"failing": failing}) as house:
        first = await house.say("hello", {"session_id": id})
        failed = await house.say("and now", {**first.session, "persona_id": "failing"})
        third = await house.say("again", {**failed.session, "persona_id": "rita"})
        run = await run_of(house, failed.one(topics.HANDLED).data["run_id"])

    assert failed.one(topics.ERROR).data["skill_id"] == "failing"
    assert "out of order" not in failed.one(topics.ERROR).data["exception"]
    assert run.status is RunStatus.FAILED
    assert third.spoken == ["2/2: hello | again"]


async def test_what_an_agent_asks_is_spoken_and_nothing_waits(tmp_path: Path) -> None:
    async with a_house(a_settings(tmp_path), agents={"asking": asking}) as house:
        heard = await house.say("hello", {"session_id": "n1", "persona_id": "asking"})
        run = await run_of(house, heard.one(topics.HANDLED).data["run_id"])

    assert heard.spoken == ["what is your name?"]
    assert heard.one(topics.SPEAK).data["listen"] is True
    assert heard.session["response_mode"]["skill_id"] == "asking"
    assert run.status is RunStatus.CANCELLED


@pytest.mark.parametrize("id", ["n1", "default"])
async def test_stop_ends_the_run_of_an_agent_in_this_session_alone(tmp_path: Path, id: str) -> None:
    async with a_house(a_settings(tmp_path), agents={"endless": endless}) as house:
        session = {"session_id": id, "persona_id": "endless"}
        place = house.begin("hello", session)
        dispatch = await house.hears("endless:answer", place)
        other = house.begin("hello", {"session_id": "other", "persona_id": "endless"})
        await house.person.until(lambda: len(house.person.of("endless:answer")) == 2)

        stopped = await house.say("stop", dispatch.context["session"])
        both = await house.hears_end(place, count=2)

        assert stopped.dispatch.type == "endless:stop"
        ended = [each for each in both.frames if each.type == topics.HANDLED]
        assert {each.context["session"]["session_id"] for each in ended} == {id}
        assert (await run_of(house, ended[-1].data["run_id"])).status is RunStatus.CANCELLED
        assert other < len(house.person.heard)


async def test_a_conversation_that_is_malformed_is_left_out(house: House) -> None:
    junk: tuple[Any, ...] = (5, "x", [], {}, {"version": 99}, {"history": [1]}, {"turns": -1, "version": 2})
    for conversation in junk:
        heard = await house.say("hello", {"session_id": "n1", "turnkeeper": conversation})

        assert heard.spoken == ["1/1: hello"]


async def test_a_form_goes_on_with_the_next_utterance(tmp_path: Path) -> None:
    """Who lacks an answer asks for it, and what is said next goes there, whatever else would take it."""
    for id in ("n1", "default"):
        folder = tmp_path / id
        folder.mkdir()
        settings = a_settings(folder)
        async with a_house(settings, packs={"counter": "table-booking"}, agents={"counter": otto}) as house:
            session: dict[str, Any] = {"session_id": id, "persona_id": "counter"}
            asked = await house.say("I want to book a table", session)
            assert asked.session["response_mode"]["skill_id"] == "counter"

            answered = await house.say("say four people", asked.session if id == "n1" else None)

            assert answered.dispatch.type == "counter:response"
            run = await run_of(house, answered.one(topics.HANDLED).data["run_id"])
            assert run.status is RunStatus.COMPLETED
            assert "party_size" not in answered.spoken[0]


def test_where_another_agents_own_memory_stands_is_of_no_use() -> None:
    conversation = {"agent": "rita", "agent_head": {"checkpoint": "c1"}, "turns": 2}

    assert conversation_for(conversation, "rita") == {"agent_head": {"checkpoint": "c1"}, "turns": 2}
    assert conversation_for(conversation, "otto") == {"turns": 2}
    assert conversation_for("junk", "otto") is None
