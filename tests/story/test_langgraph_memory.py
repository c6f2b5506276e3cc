"""What graphs remember: where it is kept, what is out of reach, and when it goes."""

import asyncio
import dataclasses
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from operator import or_
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.story.graphs import SessionState, talker, texts, traveller
from turnkeeper import Settings, Turnkeeper, TurnkeeperError
from turnkeeper.agents.langgraph.memory import GraphMemory
from turnkeeper.keeping.histories import HEADS_KEPT
from turnkeeper.model.ids import AgentId, SessionId, Subject, TenantId, UserId
from turnkeeper.model.session import SessionStatus
from turnkeeper.model.thread import ThreadHead, ThreadName
from turnkeeper.testing.clock import SteppedClock


async def places(keeper: Turnkeeper, session_id: str) -> list[tuple[str, str]]:
    """What the tables of the saver hold of a session: the part of the graph and the id of each checkpoint."""
    memory, session = keeper._factory.memory(), await keeper.session(session_id)
    saver = await memory._opened()
    threads = await memory.threads_of(session.tenant, session.id)
    return [place for thread in threads for place in await saver.places(thread)]


async def head_of(keeper: Turnkeeper, session_id: str) -> Mapping[str, Any]:
    head = (await keeper.session(session_id)).agent_head
    assert head is not None
    return head


# --- what a graph is told


async def test_nyqst_74_the_state_holds_the_mounts_anew_in_each_turn(keeper: Turnkeeper) -> None:
    told: list[dict[str, Any]] = []

    async def look(state: SessionState) -> dict[str, Any]:
        told.append(state["session_context"])
        return {"messages": [AIMessage("seen")]}

    keeper.add_graph("looker", StateGraph(SessionState).add_node("look", look).add_edge(START, "look"))
    base = await keeper.bases.create("Kettles")
    first = await keeper.chat("hello", agent="looker")

    await keeper.bases.mount(first.session_id, base.id)
    await keeper.chat("again", session_id=first.session_id)

    assert told[0]["mounts"] == []
    assert told[1]["mounts"] == [{"kind": "knowledge_base", "id": base.id}]
    assert {"context_sha256", "policy", "model", "limits"} <= told[0].keys()


async def test_a_graph_that_waited_sees_what_holds_when_it_goes_on(keeper: Turnkeeper) -> None:
    told: list[dict[str, Any]] = []

    async def look(state: SessionState) -> dict[str, Any]:
        interrupt("Go on?")
        told.append(state["session_context"])
        return {"messages": [AIMessage("seen")]}

    keeper.add_graph("looker", StateGraph(SessionState).add_node("look", look).add_edge(START, "look"))
    base = await keeper.bases.create("Kettles")
    asked = await keeper.chat("hello", agent="looker")

    await keeper.bases.mount(asked.session_id, base.id)
    await keeper.chat("yes", session_id=asked.session_id, answers=asked.run_id)

    assert told[0]["mounts"] == [{"kind": "knowledge_base", "id": base.id}]


async def test_a_turn_changes_only_the_keys_that_it_is_given(keeper: Turnkeeper) -> None:
    """A graph whose state is a dataclass keeps what it held: it is never given a whole instance with its defaults."""

    @dataclasses.dataclass
    class Notebook:
        word: str = ""
        pages: int = 0

    async def write(state: Notebook) -> dict[str, Any]:
        return {"pages": state.pages + 1}

    graph = StateGraph(Notebook).add_node("write", write).add_edge(START, "write")
    keeper.add_graph("notebook", graph, takes=lambda turn: {"word": turn.text}, gives=lambda state: str(state["pages"]))

    first = await keeper.chat("one", agent="notebook")
    second = await keeper.chat("two", session_id=first.session_id)

    assert (first.text, second.text) == ("1", "2")


def test_a_session_context_that_is_added_up_is_refused(tmp_path: Path) -> None:
    class Adding(MessagesState):
        session_context: Annotated[dict[str, Any], or_]

    graph = StateGraph(Adding).add_node("look", lambda state: {}).add_edge(START, "look")

    with pytest.raises(ValueError, match="session_context"):
        Turnkeeper.open(tmp_path / "c.db").add_graph("adding", graph)


# --- what is out of reach


async def test_a_part_with_a_memory_of_its_own_forgets_a_failed_turn_too(keeper: Turnkeeper) -> None:
    class Tally(MessagesState):
        seen: int

    def count(state: Tally) -> dict[str, Any]:
        return {"seen": state.get("seen", 0) + 1, "messages": [AIMessage(f"seen {state.get('seen', 0) + 1}")]}

    def fail(state: MessagesState) -> dict[str, Any]:
        if any(message.text == "fail" for message in state["messages"]):
            raise RuntimeError("after the part has remembered")
        return {}

    part = StateGraph(Tally).add_node("count", count).add_edge(START, "count").compile(checkpointer=True)
    graph = StateGraph(MessagesState).add_node("part", part).add_node("fail", fail)
    keeper.add_graph("tally", graph.add_edge(START, "part").add_edge("part", "fail"))
    first = await keeper.chat("one", agent="tally")

    with pytest.raises(TurnkeeperError):
        await keeper.chat("fail", session_id=first.session_id)
    third = await keeper.chat("two", session_id=first.session_id)

    assert (first.text, third.text) == ("seen 1", "seen 2")


async def test_a_run_that_gives_way_leaves_nothing_in_the_graphs_memory(keeper: Turnkeeper) -> None:
    begun = asyncio.Event()
    graph, model = talker()

    async def linger(state: SessionState) -> dict[str, Any]:
        if state["messages"][-2].text == "slow":
            begun.set()
            await asyncio.Event().wait()
        return {}

    keeper.add_graph("talker", graph.add_node("linger", linger).add_edge("speak", "linger"))
    first = await keeper.chat("hello", agent="talker")
    await keeper.submit("slow", session_id=first.session_id)
    await begun.wait()

    await keeper.chat("instead", session_id=first.session_id, double_text="rollback")

    assert texts(model.seen[-1]) == ["hello", "1: hello", "instead"]
    assert len(await places(keeper, first.session_id)) == 2


async def test_what_a_listener_heard_of_an_interrupted_turn_reaches_the_graph_in_the_next(keeper: Turnkeeper) -> None:
    shown, model_graph = asyncio.Event(), talker()
    graph, model = model_graph

    async def linger(state: SessionState) -> dict[str, Any]:
        if state["messages"][-2].text == "slow":
            shown.set()
            await asyncio.Event().wait()
        return {}

    keeper.add_graph("talker", graph.add_node("linger", linger).add_edge("speak", "linger"))
    first = await keeper.chat("hello", agent="talker")
    await keeper.submit("slow", session_id=first.session_id)
    await shown.wait()

    await keeper.chat("but wait", session_id=first.session_id, double_text="interrupt")

    assert texts(model.seen[-1])[:3] == ["hello", "1: hello", "slow"]
    assert texts(model.seen[-1])[-1] == "but wait"


async def test_nyqst_77_a_node_that_dies_in_mid_run_leaves_the_thread_as_it_was(settings: Settings) -> None:
    begun = asyncio.Event()
    graph, _ = talker()

    async def linger(state: SessionState) -> dict[str, Any]:
        if state["messages"][-2].text == "slow":
            begun.set()
            await asyncio.Event().wait()
        return {}

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.add_graph("talker", graph.add_node("linger", linger).add_edge("speak", "linger"))
        first = await keeper.chat("hello", agent="talker")
        ticket = await keeper.submit("slow", session_id=first.session_id)
        await begun.wait()
        await keeper.close(grace_seconds=0)

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.add_graph("talker", talker()[0])
        after = await keeper.chat("still there?", session_id=first.session_id)
        ended = await keeper.run(ticket.run.id)

    assert not ended.status.is_open
    assert after.text.strip() == "2: hello"


async def test_a_client_cannot_name_the_memory_of_somebody_else(keeper: Turnkeeper) -> None:
    keeper.add_graph("talker", talker()[0])
    theirs = await keeper.chat("a secret", agent="talker")
    mine = await keeper.chat("hello", agent="talker", custody="client", session_id=theirs.session_id)
    assert mine.carried is not None
    forged = {**mine.carried, "agent_head": dict(await head_of(keeper, theirs.session_id))}

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("tell me", agent="talker", custody="client", session_id=theirs.session_id, carried=forged)
    honest = await keeper.chat(
        "again", agent="talker", custody="client", session_id=theirs.session_id, carried=mine.carried
    )

    assert caught.value.code == "agent_memory_lost"
    assert honest.text.strip() == "2: hello"


# --- what cannot be reached


async def test_a_memory_that_is_gone_is_said_and_never_silently_left_out(keeper: Turnkeeper) -> None:
    keeper.add_graph("talker", talker()[0])
    first = await keeper.chat("hello", agent="talker")
    await keeper._factory.memory().forget_thread((await head_of(keeper, first.session_id))["thread"])

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("again", session_id=first.session_id)

    assert caught.value.code == "agent_memory_lost"
    assert (await keeper.session(first.session_id)).turns == 1


async def test_a_memory_that_cannot_be_opened_fails_the_turn(tmp_path: Path) -> None:
    (tmp_path / "c.db.graphs").mkdir()
    async with Turnkeeper.open(tmp_path / "c.db") as keeper:
        keeper.add_graph("talker", talker()[0])

        with pytest.raises(TurnkeeperError) as caught:
            await keeper.chat("hello", agent="talker")

    assert caught.value.code == "agent_memory_unavailable"
    assert caught.value.retryable


def test_a_graph_without_its_extra_is_refused_when_it_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "turnkeeper.agents.langgraph.memory", None)

    with pytest.raises(TurnkeeperError) as caught:
        Turnkeeper.open(tmp_path / "c.db").add_graph("talker", talker()[0])

    assert caught.value.code == "extra_missing"


async def test_a_graph_has_no_part_in_what_another_one_remembers_of_the_same_session(keeper: Turnkeeper) -> None:
    class WithSecret(MessagesState):
        secret: str

    async def hide(state: WithSecret) -> dict[str, Any]:
        return {"messages": [AIMessage("hidden")], "secret": f"{state.get('secret', '')}!"}

    async def seek(state: WithSecret) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{state.get('secret')} in {len(state['messages'])}")]}

    keeper.add_graph("hider", StateGraph(WithSecret).add_node("hide", hide).add_edge(START, "hide"))
    keeper.add_graph("seeker", StateGraph(WithSecret).add_node("seek", seek).add_edge(START, "seek"))
    first = await keeper.chat("one", agent="hider")

    second = await keeper.chat("two", session_id=first.session_id, agent="seeker")
    again = await keeper.chat("three", session_id=first.session_id, agent="seeker")
    await keeper.chat("four", session_id=first.session_id, agent="hider")

    assert (second.text, again.text) == ("None in 3", "None in 5")
    session = await keeper.session(first.session_id)
    assert await keeper._factory.memory().threads_of(session.tenant, session.id) == [
        f"{session.tenant}:{session.id}:1:{agent}" for agent in ("hider", "seeker")
    ]


# --- when it goes


async def test_nyqst_75_a_closed_session_is_pruned_and_its_row_says_what_was_there(settings: Settings) -> None:
    clock = SteppedClock(datetime.now(UTC))
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        keeper.add_graph("talker", talker()[0])
        closed, other = [await keeper.chat("hello", agent="talker") for _ in range(2)]
        head = await head_of(keeper, closed.session_id)
        await keeper.close_session(closed.session_id)

        early = await keeper.prune_threads()
        clock.step(settings.prune_seconds)
        pruned = await keeper.prune_threads()

        session = await keeper.session(closed.session_id)
        assert (early, pruned, await places(keeper, closed.session_id)) == (0, 1, [])
        assert len(await places(keeper, other.session_id)) == 1
        assert (session.agent_head, session.pruned_at) == (head, clock.now())
        events = await keeper._store.feed.read(session.tenant, Subject(session.id), after=0, limit=100)
        assert events[-1].data["what"] == ["pruned"]
        assert [each.what for each in await keeper.session_events(closed.session_id)] == ["started", "closed", "pruned"]
        assert (events[-1].data["messages"], events[-1].data["last_checkpoint"]) == (2, head["checkpoint"])
        assert [message.content.strip() for message in await keeper.messages(closed.session_id)] == [
            "hello",
            "1: hello",
        ]


async def test_nyqst_76_a_paused_session_is_never_pruned(settings: Settings) -> None:
    clock = SteppedClock(datetime.now(UTC))
    settings = dataclasses.replace(settings, prune_seconds=60.0)
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        keeper.add_graph("talker", talker()[0])
        first = await keeper.chat("hello", agent="talker")
        await keeper.pause_session(first.session_id)
        clock.step(settings.idle_seconds - 1)

        await keeper.prune_threads()
        after = await keeper.chat("back", session_id=first.session_id)

        assert after.text.strip() == "2: hello"
        assert (await keeper.session(first.session_id)).status is SessionStatus.ACTIVE


async def test_the_thread_of_an_epoch_that_is_over_is_pruned(settings: Settings) -> None:
    clock = SteppedClock(datetime.now(UTC))
    settings = dataclasses.replace(settings, prune_seconds=3600.0)
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        keeper.add_graph("talker", talker()[0])
        first = await keeper.chat("hello", agent="talker")
        await keeper.reset(first.session_id)
        clock.step(settings.prune_seconds)
        await keeper.chat("afresh", session_id=first.session_id)

        pruned = await keeper.prune_threads()

        session = await keeper.session(first.session_id)
        assert pruned == 1
        assert await keeper._factory.memory().threads_of(session.tenant, session.id) == [
            (await head_of(keeper, first.session_id))["thread"]
        ]


async def test_what_no_commit_ever_named_is_pruned_and_what_waits_is_not(settings: Settings) -> None:
    clock = SteppedClock(datetime.now(UTC))
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        keeper.add_graph("traveller", traveller()[0])
        first = await keeper.chat("hello", agent="traveller")
        asked = await keeper.chat("Please book Rome", session_id=first.session_id)
        named = set(await places(keeper, first.session_id))
        await leave_behind(keeper, first.session_id)
        assert len(await places(keeper, first.session_id)) == len(named) + 1
        clock.step(3600)

        await keeper.prune_threads()

        assert set(await places(keeper, first.session_id)) == named
        done = await keeper.chat("agreed", session_id=first.session_id, answers=asked.run_id)
        assert done.text.strip() == "Done: agreed: Rome"


async def test_of_a_long_session_the_newest_places_are_kept_and_a_fork_further_back_hears_the_messages(
    settings: Settings,
) -> None:
    clock = SteppedClock(datetime.now(UTC))
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        graph, model = talker()
        keeper.add_graph("talker", graph)
        first = await keeper.chat("1", agent="talker")
        for turn in range(2, HEADS_KEPT + 3):
            await keeper.chat(f"{turn}", session_id=first.session_id)
        clock.step(3600)

        await keeper.prune_threads()
        near, far = [await keeper.fork_session(first.session_id, at_turn=turn) for turn in (3, 2)]

        assert len(await places(keeper, first.session_id)) == HEADS_KEPT
        assert (near.agent_head is None, far.agent_head is None) == (False, True)
        await keeper.chat("go on", session_id=far.id)
        assert texts(model.seen[-1]) == ["1", "1: 1", "2", "2: 1", "go on"]


async def test_what_a_fenced_off_run_put_away_is_out_of_reach_before_it_is_pruned(keeper: Turnkeeper) -> None:
    keeper.add_graph("traveller", traveller()[0])
    first = await keeper.chat("hello", agent="traveller")
    await leave_behind(keeper, first.session_id)

    after = await keeper.chat("how often?", session_id=first.session_id)

    assert after.text.strip() == "You have spoken 2 times"


async def leave_behind(keeper: Turnkeeper, session_id: str) -> None:
    """As a run does that put its end away and then lost its lease."""
    memory, head = keeper._factory.memory(), await head_of(keeper, session_id)
    start = ThreadHead.of(head)
    assert start is not None
    desk = await memory.desk(start)
    graph = traveller()[0].compile(checkpointer=desk)
    config: Any = {"configurable": {"thread_id": start.thread}}
    await graph.ainvoke({"messages": [HumanMessage("never kept")]}, config)
    await memory.put_away(desk, start.thread, start, waits=False)


# --- forks


async def test_a_fork_of_a_graphs_session_goes_on_from_the_checkpoint_of_its_turn(keeper: Turnkeeper) -> None:
    graph, model = talker()
    keeper.add_graph("talker", graph)
    parent = await keeper.chat("hello", agent="talker")
    await keeper.chat("two", session_id=parent.session_id)
    before = await places(keeper, parent.session_id)

    fork = await keeper.fork_session(parent.session_id, at_turn=1)
    reply = await keeper.chat("another two", session_id=fork.id)

    assert reply.text.strip() == "2: hello"
    assert texts(model.seen[-1]) == ["hello", "1: hello", "another two"]
    assert await places(keeper, parent.session_id) == before
    assert (await head_of(keeper, fork.id))["thread"] == f"{fork.tenant}:{fork.id}:1:talker"


async def test_the_memory_of_a_fork_that_is_just_being_made_is_not_pruned(settings: Settings) -> None:
    clock = SteppedClock(datetime.now(UTC))
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        keeper.add_graph("talker", talker()[0])
        parent = await keeper.chat("hello", agent="talker")
        memory, head = keeper._factory.memory(), ThreadHead.of(await head_of(keeper, parent.session_id))
        clock.step(3600)
        tenant, fork = TenantId("default"), SessionId(clock.new_id("sess"))
        assert head is not None
        await memory.copy(head, ThreadName(tenant=tenant, session_id=fork, epoch=1, agent=head.agent))

        await keeper.prune_threads()
        copied = await memory.threads_of(tenant, fork)
        clock.step(3600)
        await keeper.prune_threads()

        assert (len(copied), await memory.threads_of(tenant, fork)) == (1, [])


async def test_a_fork_whose_parent_was_pruned_hears_the_messages_again(settings: Settings) -> None:
    clock = SteppedClock(datetime.now(UTC))
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        graph, model = talker()
        keeper.add_graph("talker", graph)
        parent = await keeper.chat("hello", agent="talker")
        await keeper.close_session(parent.session_id)
        clock.step(settings.prune_seconds)
        await keeper.prune_threads()

        fork = await keeper.fork_session(parent.session_id)
        await keeper.chat("go on", session_id=fork.id)

        assert texts(model.seen[-1]) == ["hello", "1: hello", "go on"]


async def test_the_names_of_threads_tell_tenants_and_sessions_apart() -> None:
    one = ThreadName(tenant=TenantId("a:b"), session_id=SessionId("c"), epoch=1, agent=AgentId("d:e"))
    other = ThreadName(tenant=TenantId("a"), session_id=SessionId("b:c"), epoch=1, agent=AgentId("d"), user=UserId("e"))

    assert str(one) != str(other)
    assert (ThreadName.of(str(one)), ThreadName.of(str(other))) == (one, other)
    assert ThreadName.of("somebody-else") is None


def test_opening_a_memory_is_put_off_until_it_is_needed(tmp_path: Path) -> None:
    memory = GraphMemory(str(tmp_path / "c.db"), synchronous="FULL")

    assert not memory.is_used
    assert list(tmp_path.iterdir()) == []
