"""A LangGraph graph as the agent of sessions."""

import asyncio
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from tests.story.graphs import ScriptedModel, SessionState, talker, texts, traveller
from turnkeeper import Settings, Turnkeeper, TurnkeeperError
from turnkeeper.agents.langgraph.listening import Voices
from turnkeeper.keeping import histories
from turnkeeper.model.definition import AgentTraits
from turnkeeper.model.feed import FeedType
from turnkeeper.model.run import RunStatus
from turnkeeper.testing.clock import SteppedClock


async def test_nyqst_70_the_thread_is_there_after_the_first_turn_and_the_same_after_the_tenth(
    keeper: Turnkeeper,
) -> None:
    graph, _ = talker()
    keeper.add_graph("talker", graph)
    session = await keeper.create_session(agent="talker")
    threads = []

    for number in range(10):
        await keeper.chat(f"message {number}", session_id=session.id)
        head = (await keeper.session(session.id)).agent_head
        threads.append(head and head["thread"])

    assert session.agent_head is None
    assert threads == [f"{session.tenant}:{session.id}:1:talker"] * 10


async def test_nyqst_71_two_first_turns_at_once_on_two_nodes_agree_on_one_thread(
    keeper: Turnkeeper, other_keeper: Turnkeeper
) -> None:
    for each in (keeper, other_keeper):
        each.add_graph("talker", talker()[0])
    session = await keeper.create_session(agent="talker")

    replies = await asyncio.gather(
        keeper.chat("one", session_id=session.id), other_keeper.chat("two", session_id=session.id)
    )

    assert sorted(reply.text.split(":")[0] for reply in replies) == ["1", "2"]
    assert await threads_of(keeper, session.id) == [f"{session.tenant}:{session.id}:1:talker"]


async def threads_of(keeper: Turnkeeper, session_id: str) -> list[str]:
    session = await keeper.session(session_id)
    return list(await keeper._factory.memory().threads_of(session.tenant, session.id))


async def test_nyqst_72_the_model_is_given_the_first_exchange_in_the_second_turn(keeper: Turnkeeper) -> None:
    graph, model = talker()
    keeper.add_graph("talker", graph.compile())

    first = await keeper.chat("My name is Ada", agent="talker")
    second = await keeper.chat("Who am I?", session_id=first.session_id)

    assert (first.text.strip(), second.text.strip()) == ("1: My name is Ada", "2: My name is Ada")
    assert texts(model.seen[-1]) == ["My name is Ada", "1: My name is Ada", "Who am I?"]


async def test_nyqst_73_a_restart_between_turns_loses_nothing(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.add_graph("talker", talker()[0])
        first = await keeper.chat("My name is Ada", agent="talker")

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.add_graph("talker", talker()[0])
        second = await keeper.chat("Who am I?", session_id=first.session_id)

    assert second.text.strip() == "2: My name is Ada"


async def test_a_turn_that_fails_after_the_graph_has_written_is_not_remembered(keeper: Turnkeeper) -> None:
    model_graph, model = talker()

    def fail(state: SessionState) -> dict[str, Any]:
        if "fail" in str(state["messages"][-2].text):
            raise RuntimeError("after the model has answered")
        return {}

    graph = model_graph.add_node("fail", fail).add_edge("speak", "fail")
    keeper.add_graph("talker", graph)
    first = await keeper.chat("hello", agent="talker")
    before = await places_of(keeper, first.session_id)

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("please fail", session_id=first.session_id)
    after = await keeper.chat("what do you remember?", session_id=first.session_id)

    assert caught.value.code == "agent_failed"
    assert after.text.strip() == "2: hello"
    assert texts(model.seen[-1]) == ["hello", "1: hello", "what do you remember?"]
    assert len(await places_of(keeper, first.session_id)) == len(before) + 1


async def places_of(keeper: Turnkeeper, session_id: str) -> set[tuple[str, str]]:
    """What is in the tables of the saver."""
    memory = keeper._factory.memory()
    saver = await memory._opened()
    return {place for thread in await threads_of(keeper, session_id) for place in await saver.places(thread)}


async def test_a_reset_begins_a_new_thread(keeper: Turnkeeper) -> None:
    keeper.add_graph("talker", talker()[0])
    first = await keeper.chat("My name is Ada", agent="talker")

    await keeper.reset(first.session_id)
    after = await keeper.chat("Who am I?", session_id=first.session_id)

    head = (await keeper.session(first.session_id)).agent_head
    assert after.text.strip() == "1: Who am I?"
    assert head is not None
    assert head["thread"].endswith(":2:talker")


async def test_tokens_are_shown_as_they_come_and_tool_calls_each_by_its_id(keeper: Turnkeeper) -> None:
    graph, _ = traveller()
    keeper.add_graph("traveller", graph)

    reply = await keeper.chat("Weather in Rome and Oslo?", agent="traveller")

    run = await keeper.run(reply.run_id)
    told = [(frame.type.value, frame.data) async for frame in keeper.follow(run)]
    tools = [(type, data["key"], data["status"]) for type, data in told if type.startswith("tool.")]
    assert reply.text.strip() == "Done: sunny in Rome, sunny in Oslo"
    assert sorted(tools) == [
        ("tool.finished", "call-Oslo", "ok"),
        ("tool.finished", "call-Rome", "ok"),
        ("tool.started", "call-Oslo", "started"),
        ("tool.started", "call-Rome", "started"),
    ]


async def test_an_interrupt_waits_for_a_person_and_goes_on_after_a_restart(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.add_graph("traveller", traveller()[0])
        hello = await keeper.chat("hello", agent="traveller")
        asked = await keeper.chat("Please book Rome", session_id=hello.session_id)

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.add_graph("traveller", traveller()[0])
        done = await keeper.chat("agreed", session_id=asked.session_id, answers=asked.run_id)
        after = await keeper.chat("how often?", session_id=asked.session_id)

    assert (asked.status, asked.text) == (RunStatus.WAITING, "Book a journey to Rome?")
    assert done.text.strip() == "Done: agreed: Rome"
    assert after.text.strip() == "You have spoken 3 times"


async def test_several_interrupts_at_once_are_asked_one_by_one(keeper: Turnkeeper) -> None:
    keeper.add_graph("traveller", traveller()[0])

    asked = await keeper.chat("Please book Rome and Oslo", agent="traveller")
    again = await keeper.chat("yes", session_id=asked.session_id, answers=asked.run_id)
    done = await keeper.chat("no", session_id=asked.session_id, answers=asked.run_id)

    assert {asked.text, again.text} == {"Book a journey to Rome?", "Book a journey to Oslo?"}
    first, second = (text.removeprefix("Book a journey to ").rstrip("?") for text in (asked.text, again.text))
    assert set(done.text.strip().removeprefix("Done: ").split(", ")) == {f"yes: {first}", f"no: {second}"}


async def test_what_was_said_while_a_graph_waited_reaches_it_in_its_next_turn(keeper: Turnkeeper) -> None:
    graph, model = traveller()
    keeper.add_graph("traveller", graph)
    asked = await keeper.chat("Please book Rome", agent="traveller")

    await keeper.chat("it rains", session_id=asked.session_id)
    await keeper.chat("agreed", session_id=asked.session_id, answers=asked.run_id)
    await keeper.chat("so?", session_id=asked.session_id)

    assert [text for text in texts(model.seen[-1]) if text] == [
        "Please book Rome",
        "agreed: Rome",
        "Done: agreed: Rome",
        "it rains",
        "You have spoken 1 times",
        "so?",
    ]


async def test_a_graph_without_messages_answers_with_its_state(keeper: Turnkeeper) -> None:
    class Count(TypedDict):
        word: str
        length: int

    def count(state: Count) -> dict[str, Any]:
        return {"length": len(state["word"])}

    graph = StateGraph(Count).add_node("count", count).add_edge(START, "count")
    keeper.add_graph("counter", graph, takes=lambda turn: {"word": turn.text})

    reply = await keeper.chat("seven", agent="counter")

    assert reply.text == '{"word": "seven", "length": 5}'


async def test_a_graph_can_be_cancelled(keeper: Turnkeeper) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def wait(state: SessionState) -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return {}

    keeper.add_graph("patient", StateGraph(SessionState).add_node("wait", wait).add_edge(START, "wait"))
    ticket = await keeper.submit("hello", agent="patient")
    await begun.wait()

    await keeper.cancel(ticket.run.id)

    await stopped.wait()
    with pytest.raises(TurnkeeperError):
        await keeper.reply_to(ticket)
    assert await threads_of(keeper, ticket.run.session_id) == []


async def test_nodes_that_ask_side_by_side_go_on_together_when_all_is_answered(settings: Settings) -> None:
    ran: list[str] = []

    def asking(name: str) -> Any:
        async def ask(state: SessionState) -> dict[str, Any]:
            answer = interrupt(f"{name}?")
            ran.append(name)
            return {"messages": [AIMessage(f"{name} {answer}")]}

        return ask

    def graph() -> Any:
        inner = StateGraph(SessionState).add_node("deep", asking("inner")).add_edge(START, "deep").compile()
        built = StateGraph(SessionState).add_node("inner", inner).add_node("outer", asking("outer"))
        return built.add_edge(START, "inner").add_edge(START, "outer")

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.add_graph("asker", graph())
        first = await keeper.chat("go", agent="asker")
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.add_graph("asker", graph())
        second = await keeper.chat("yes", session_id=first.session_id, answers=first.run_id)
        assert ran == []
        done = await keeper.chat("no", session_id=first.session_id, answers=first.run_id)

    assert {first.text, second.text} == {"inner?", "outer?"}
    answers = {first.text.rstrip("?"): "yes", second.text.rstrip("?"): "no"}
    assert sorted(done.text.split("\n\n")) == sorted(f"{name} {answer}" for name, answer in answers.items())
    assert sorted(ran) == ["inner", "outer"]


async def test_a_graph_that_is_set_to_stop_before_a_node_waits_there(keeper: Turnkeeper) -> None:
    graph, _ = talker()
    keeper.add_graph("talker", graph.compile(interrupt_before=["speak"]))

    asked = await keeper.chat("hello", agent="talker")
    done = await keeper.chat("yes", session_id=asked.session_id, answers=asked.run_id)

    assert (asked.status, asked.text) == (RunStatus.WAITING, "Stopped before speak. Go on?")
    assert done.text.strip() == "1: hello"


async def test_a_state_that_is_kept_as_changes_is_whole_in_the_next_turn(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def joined(state: list[str], writes: Any) -> list[str]:
        return [*state, *(each for write in writes for each in write)]

    class Lines(TypedDict):
        lines: Annotated[list[str], DeltaChannel(joined)]

    def graph() -> Any:
        built = StateGraph(Lines).add_node("one", lambda state: {"lines": ["-"]})
        return built.add_edge(START, "one")

    said, clock = [], SteppedClock(datetime.now(UTC))
    monkeypatch.setattr(histories, "HEADS_KEPT", 1)
    session_id = None
    for word in ("a", "b", "c"):
        async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
            takes, gives = (lambda turn: {"lines": [turn.text]}), (lambda state: "".join(state["lines"]))
            keeper.add_graph("lines", graph(), takes=takes, gives=gives)
            reply = await keeper.chat(word, agent="lines", session_id=session_id)
            session_id = reply.session_id
            said.append(reply.text)
            clock.step(3600)
            await keeper.prune_threads()

    assert said == ["a-", "a-b-", "a-b-c-"]


async def test_nyqst_78_a_graph_with_a_scripted_model_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*address: object) -> None:
        raise AssertionError(f"somebody wants to reach {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    async with Turnkeeper.open(tmp_path / "c.db") as keeper:
        keeper.add_graph("traveller", traveller()[0])

        reply = await keeper.chat("Weather in Rome?", agent="traveller")

    assert reply.text.strip() == "Done: sunny in Rome"


def test_words_that_are_spoken_at_once_are_not_mixed() -> None:
    voices = Voices()

    shown = [
        voices.say(AIMessageChunk(content="one ", id="a"), {}),
        voices.say(AIMessageChunk(content="eins ", id="b"), {}),
        voices.say(AIMessageChunk(content="two", id="a", chunk_position="last"), {}),
        voices.say(AIMessageChunk(content="zwei", id="b", chunk_position="last"), {}),
        voices.say(HumanMessage("not the assistant"), {}),
        voices.rest(),
    ]

    assert "".join(shown) == "one two\n\neins zwei"
    assert shown[1] == ""


async def test_words_are_shown_while_the_model_still_speaks(keeper: Turnkeeper) -> None:
    go = asyncio.Event()

    class Slow(ScriptedModel):
        async def _astream(self, *given: Any, **more: Any) -> AsyncIterator[ChatGenerationChunk]:
            yield ChatGenerationChunk(message=AIMessageChunk(content="one "))
            await go.wait()
            yield ChatGenerationChunk(message=AIMessageChunk(content="two"))

    model = Slow(script=lambda messages: AIMessage("never"))

    async def speak(state: SessionState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    keeper.add_graph("slow", StateGraph(SessionState).add_node("speak", speak).add_edge(START, "speak"))
    ticket = await keeper.submit("hello", agent="slow")

    async for frame in keeper.follow(ticket.run):
        if frame.type is FeedType.OUTPUT_DELTA and not go.is_set():
            assert frame.data["text"] == "one "
            go.set()

    assert (await keeper.reply_to(ticket)).text == "one two"


async def test_nyqst_58_the_nodes_of_a_graph_count_as_steps(keeper: Turnkeeper) -> None:
    def again(state: MessagesState) -> Command[str]:
        return Command(goto="again", update={"messages": [AIMessage("and again ")]})

    builder = StateGraph(MessagesState)
    builder.add_node("again", again, destinations=("again",))
    builder.add_edge(START, "again")
    keeper.add_graph("endless", builder, recursion_limit=50)
    await keeper.definitions.put_agent("endless", AgentTraits(limits={"max_steps": 5}))
    session = await keeper.create_session(agent="endless")

    with pytest.raises(TurnkeeperError) as refused:
        await keeper.chat("Go", session_id=session.id)

    assert refused.value.code == "limit_exceeded"
