"""Our own agents answer on the bus, each round a Run of theirs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.bus.house import House, a_house, a_settings, remember
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
        house.begin("hello", {"session_id": "other", "persona_id": "endless"})
        await house.person.until(lambda: len(house.person.of("endless:answer")) == 2)

        stopped = await house.say("stop", dispatch.context["session"])
        await house.hears_end(place, count=2)

        ends = {each.utterance_id: each for each in house.person.of(topics.HANDLED)}
        stop = next(each for each in stopped.frames if each.type == "endless:stop")
        assert ends.keys() == {dispatch.utterance_id, stop.utterance_id}
        runs = {id: await run_of(house, end.data["run_id"]) for id, end in ends.items()}
        assert runs[dispatch.utterance_id].status is RunStatus.CANCELLED
        assert runs[stop.utterance_id].agent == "bus"


async def test_a_conversation_of_the_wrong_type_is_left_out(house: House) -> None:
    wrong: tuple[Any, ...] = (5, "x", [], {}, None)
    for conversation in wrong:
        heard = await house.say("hello", {"session_id": "n1", "turnkeeper": conversation})

        assert heard.spoken == ["1/1: hello"]


async def test_a_conversation_that_cannot_be_read_is_refused_and_stays_as_it_came(house: House) -> None:
    first = await house.say("hello", {"session_id": "n1"})
    conversation = first.session["turnkeeper"]
    newer = {**conversation, "version": 99, "new_part": [1]}
    cut = {name: value for name, value in conversation.items() if name != "history"}
    large = {**conversation, "state": {"x": "x" * 300_000}}
    for broken in (newer, cut, large, {"junk": 1}):
        heard = await house.say("and now", {**first.session, "turnkeeper": broken})

        assert heard.topics[-2:] == [topics.ERROR, topics.HANDLED]
        assert heard.session["turnkeeper"] == broken


async def test_a_conversation_goes_on_with_another_agent(tmp_path: Path) -> None:
    async with a_house(a_settings(tmp_path), agents={"cook": remember}) as house:
        session = {"session_id": "n1", "persona_id": "rita"}
        first = await house.say("one", session)
        second = await house.say("two", {**first.session, "persona_id": "cook"})
        third = await house.say("three", {**second.session, "persona_id": "rita"})

    assert second.spoken == ["2/2: one | two"]
    assert third.spoken == ["3/3: one | two | three"]


async def test_nothing_that_comes_over_the_bus_undoes_the_conversation_of_the_device(house: House) -> None:
    heard = await house.say("one")
    assert all("turnkeeper" not in each.context["session"] for each in heard.frames[1:])
    old = house.keeper.device.read(house.orchestrator.principal)["turnkeeper"]
    await house.say("two")
    for conversation in (old, {"junk": 1}):
        await house.say("say hello", {"turnkeeper": conversation})
        await house.tell(topics.SYNC, {"session": {"turnkeeper": conversation}})

    assert (await house.say("three")).spoken == ["3/3: one | two | three"]


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
    assert conversation_for(conversation, "otto") == {"agent_head": None, "turns": 2}
    assert conversation_for("junk", "otto") is None


async def test_a_global_stop_reaches_every_run_of_agents_in_this_session(tmp_path: Path) -> None:
    async with a_house(a_settings(tmp_path), agents={"endless": endless}) as house:
        session = {"session_id": "n1", "persona_id": "endless"}
        place = house.begin("hello", session)
        for _ in range(2):
            house.begin("hello", session)
        await house.person.until(lambda: len(house.person.of("endless:answer")) == 3)

        # The client knows of nothing that is on, so nobody in particular is meant.
        stopped = await house.say("stop", session)
        await house.hears_end(place, count=4)

        assert "stop:global_stop" in stopped.topics
        ended = [each.data["run_id"] for each in house.person.of(topics.HANDLED) if each.skill_id == "endless"]
        assert len(ended) == 3
        for run_id in ended:
            assert (await run_of(house, run_id)).status is RunStatus.CANCELLED
