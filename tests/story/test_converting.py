"""A session changes hands, and nobody who talks in it can tell."""

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from tests.scale import rounds
from tests.story.packed import desk
from turnkeeper import AgentTurn, Principal, Role, Settings, Turnkeeper
from turnkeeper.errors import (
    AgentMemoryLost,
    DuplicateRequest,
    EnvelopeInvalid,
    PackNotFound,
    RunEnded,
    ScopeDenied,
    SessionBusy,
    SessionClosed,
)
from turnkeeper.model.ids import SessionId, UnitId, UserId
from turnkeeper.model.principal import LOCAL
from turnkeeper.model.recall import UnitQuery
from turnkeeper.model.reply import Reply
from turnkeeper.model.unit import Unit, UnitRole

NUMBERS = itertools.count()
BEN = Principal(tenant=LOCAL.tenant, user=UserId("ben"))


def a_note(text: str) -> Unit:
    return Unit(
        id=UnitId("staged::unit-000"),
        source_id="session",
        chunk_id="session::staged",
        role=UnitRole.DESCRIPTION,
        topic="note",
        claim=f"The note says {text}.",
        slot=f"note {text}",
    )


class Witness:
    """An agent that leaves something in every place where a session keeps something, and notes all that it finds."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    async def __call__(self, turn: AgentTurn) -> str:
        context = turn.context
        found = await turn.memory.search(UnitQuery(words="note says", limit=9))
        self.seen.append(
            {
                "turn": (context.turn, context.epoch),
                "history": [(each.seq, each.turn, each.epoch, each.role, each.content) for each in context.history],
                "state": dict(turn.state),
                "params": dict(context.params),
                "preferred": context.preferred,
                "packs": context.packs,
                "intent": context.intent,
                "head": turn.head,
                "newest": [(each.id, each.content) for each in await turn.memory.newest(limit=50)],
                "found": [(each.unit.id, each.place) for each in found],
            }
        )
        if "fail" in turn.text:
            raise RuntimeError
        turn.state["count"] = turn.state.get("count", 0) + 1
        turn.notes.ran("solver", f"solver-{turn.number}")
        turn.remember(a_note(turn.text))
        turn.move_head({"at": turn.number})
        return f"heard {turn.text}"


class Client:
    """A client that keeps its session; `handed_over` has turnkeeper keep it instead."""

    def __init__(self, keeper: Turnkeeper, agent: str = "witness") -> None:
        self.keeper, self.agent = keeper, agent
        self.session_id, self.is_ours = "mine", False
        self.carried: Mapping[str, Any] | None = None

    async def say(self, text: str, **asked: Any) -> Reply | None:
        where: dict[str, Any] = {"session_id": self.session_id, "agent": self.agent}
        if not self.is_ours:
            where |= {"custody": "client", "carried": self.carried}
        try:
            reply = await self.keeper.chat(text, **where, **asked)
        except RunEnded:
            return None
        self.carried = reply.carried
        return reply

    async def handed_over(self) -> None:
        session = await self.keeper.adopt_session(self.session_id, self.carried or {}, agent=self.agent)
        self.session_id, self.is_ours = session.id, True

    async def taken_back(self) -> tuple[str, ...]:
        released = await self.keeper.release_session(self.session_id)
        self.carried, self.is_ours = released.carried, False
        return released.warnings


SAID = st.sampled_from(
    [
        "I want to book a table",
        "for four",
        "on friday",
        "no, a voucher",
        "feedback: all fine",
        "when are your hours",
        "fail with feedback",
        "/reset",
        "begin again",
    ]
)
MOVES = st.lists(st.one_of(SAID, st.sampled_from(["over", "back"])), min_size=2, max_size=10)


@hypothesis_settings(
    max_examples=rounds(12, 300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(moves=MOVES)
@example(moves=["I want to book a table", "over", "for four", "back", "on friday", "over"])
async def test_whoever_keeps_a_session_each_turn_finds_what_it_would_have_found(
    keeper: Turnkeeper, moves: list[str]
) -> None:
    plain, moved = Witness(), Witness()
    names = [f"witness-{next(NUMBERS)}" for _ in range(2)]
    for name, witness in zip(names, (plain, moved), strict=True):
        keeper.agent(name)(witness)
    await keeper.packs.push(desk())
    one, other = (Client(keeper, name) for name in names)

    for move in ["Hello feedback", *moves, "feedback at the end"]:
        if move == "over" and not other.is_ours and other.carried is not None:
            await other.handed_over()
        elif move == "back" and other.is_ours:
            await other.taken_back()
        elif move not in ("over", "back"):
            asked = {"pack": "desk", "params": {f"of_{len(move)}": move}}
            first, second = await one.say(move, **asked), await other.say(move, **asked)
            assert (first and first.text, first and first.turn) == (second and second.text, second and second.turn)

    assert moved.seen == plain.seen


async def test_a_session_goes_on_here_under_an_id_of_its_own_and_back_under_the_same(keeper: Turnkeeper) -> None:
    witness = Witness()
    keeper.agent("witness")(witness)
    client = Client(keeper)
    await client.say("one", model="small", level=2)

    await client.handed_over()
    session = await keeper.session(client.session_id)
    await client.say("two")
    warnings = await client.taken_back()
    released = await keeper.session(client.session_id)
    await client.say("three")

    assert (session.id != "mine", session.from_session_id, session.turns, session.revision) == (True, "mine", 1, 1)
    assert (released.status.value, released.closed_reason, warnings) == ("closed", "released", ())
    assert [seen["state"] for seen in witness.seen] == [{}, {"count": 1}, {"count": 2}]
    assert [len(seen["newest"]) for seen in witness.seen] == [0, 1, 2]
    with pytest.raises(SessionClosed):
        await keeper.chat("four", session_id=client.session_id, on_missing="error")


async def test_what_one_agent_remembers_by_itself_is_not_adopted_for_another(keeper: Turnkeeper) -> None:
    witness = Witness()
    for name in ("witness", "another"):
        keeper.agent(name)(witness)
    client = Client(keeper)
    await client.say("one")
    assert client.carried is not None

    for name in ("witness", "another"):
        session = await keeper.adopt_session("mine", client.carried, agent=name)
        await keeper.chat("two", session_id=session.id)

    assert [seen["head"] for seen in witness.seen] == [None, {"at": 1}, None]


async def test_what_is_cut_so_that_it_can_be_carried_is_said(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, carried_bytes=3000) as keeper:
        session_id = (await keeper.chat("x" * 2000)).session_id
        await keeper.chat("y" * 2000, session_id=session_id)

        released = await keeper.release_session(session_id)

    assert released.warnings == ("carried_cut",)


async def test_a_session_in_which_something_is_under_way_is_not_released(keeper: Turnkeeper) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    @keeper.agent("slow")
    async def slow(turn: AgentTurn) -> str:
        begun.set()
        await go.wait()
        return await turn.ask("For how many?") if turn.text == "ask" else "done"

    session_id = (await keeper.chat("Hello")).session_id
    running = asyncio.create_task(keeper.chat("go", session_id=session_id, agent="slow"))
    await begun.wait()

    with pytest.raises(SessionBusy):
        await keeper.release_session(session_id)
    go.set()
    await running
    await keeper.chat("ask", session_id=session_id, agent="slow")
    with pytest.raises(SessionBusy) as waiting:
        await keeper.release_session(session_id)

    assert waiting.value.facts["state"] == "waiting for an answer"
    assert (await keeper.session(session_id)).status.value == "active"


async def test_who_may_not_have_a_session_may_not_release_it(keeper: Turnkeeper) -> None:
    session_id = (await keeper.chat("Hello", principal=BEN)).session_id
    bound = replace(BEN, role=Role.AGENT, session_id=SessionId(session_id))

    with pytest.raises(ScopeDenied):
        await keeper.release_session(session_id, principal=bound)
    await keeper.release_session(session_id, principal=BEN)


async def test_who_has_lost_the_state_of_a_released_session_is_given_it_again(keeper: Turnkeeper) -> None:
    session_id, closed = [(await keeper.chat(text)).session_id for text in ("remember milk", "remember oats")]
    await keeper.close_session(closed)

    first, at_once = await asyncio.gather(*(keeper.release_session(session_id) for _ in range(2)))
    again = await keeper.release_session(session_id)
    told = [event.what for event in await keeper.session_events(session_id)]

    assert first.carried == at_once.carried == again.carried
    assert first.session == at_once.session == again.session
    assert told.count("closed") == 1
    with pytest.raises(SessionClosed):
        await keeper.release_session(closed)


async def test_a_session_that_is_longer_than_what_can_be_carried_of_it_says_so(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, history_messages=4) as keeper:
        short, long = [(await keeper.chat("one")).session_id for _ in range(2)]
        for session_id in (short, long, long):
            await keeper.chat("and on", session_id=session_id)

        released = [await keeper.release_session(session_id) for session_id in (short, long)]

    assert [each.warnings for each in released] == [(), ("carried_cut",)]
    assert [[line["seq"] for line in each.carried["history"]] for each in released] == [[1, 2, 3, 4], [3, 4, 5, 6]]


async def test_the_same_request_adopts_once(keeper: Turnkeeper) -> None:
    first = await keeper.chat("one", custody="client", session_id="mine")
    assert first.carried is not None

    made = [await keeper.adopt_session("mine", first.carried, request_id="adopt-1") for _ in range(2)]

    assert made[0].id == made[1].id
    with pytest.raises(DuplicateRequest):
        await keeper.adopt_session("other", first.carried, request_id="adopt-1")


async def test_pins_that_nobody_can_open_and_states_of_nobody_are_not_adopted(keeper: Turnkeeper) -> None:
    first = await keeper.chat("one", custody="client", session_id="mine")
    assert first.carried is not None
    pin = {"id": "desk", "version": "9.9.9", "hash": "0" * 64}
    before = len(await keeper.sessions())

    with pytest.raises(PackNotFound):
        await keeper.adopt_session("mine", {**first.carried, "packs": [pin]})
    with pytest.raises(EnvelopeInvalid):
        await keeper.adopt_session("mine", {"version": 2})

    assert len(await keeper.sessions()) == before


async def test_what_a_graph_remembers_moves_with_the_session_and_that_of_others_does_not(keeper: Turnkeeper) -> None:
    async def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{len(state['messages'])} heard")]}

    graph = StateGraph(MessagesState)
    graph.add_node("speak", speak)
    graph.add_edge(START, "speak")
    keeper.add_graph("graph", graph)
    client = Client(keeper, "graph")
    said = []

    for move in ("say", "say", "over", "say", "back", "say", "over", "say"):
        if move == "say":
            reply = await client.say("and on")
            said.append(reply and reply.text)
        else:
            await (client.handed_over() if move == "over" else client.taken_back())

    assert said == ["1 heard", "3 heard", "5 heard", "7 heard", "9 heard"]
    await client.taken_back()
    assert client.carried is not None
    with pytest.raises(AgentMemoryLost):
        await keeper.adopt_session(client.session_id, client.carried, agent="graph", principal=BEN)


@pytest.mark.parametrize("last", ["two", "/reset"])
async def test_an_adopted_session_can_be_forked_read_and_continued_like_every_other(
    keeper: Turnkeeper, last: str
) -> None:
    witness = Witness()
    keeper.agent("witness")(witness)
    client = Client(keeper)
    await client.say("one")
    await client.say(last)
    await client.handed_over()
    session = await keeper.session(client.session_id)

    then = await keeper.state_at(session.id, session.turns)
    fork = await keeper.fork_session(session.id)
    for _ in range(2):
        await keeper.chat("in the fork", session_id=fork.id)
    seen_in_the_fork = witness.seen[-1]
    await keeper.close_session(session.id)
    continued = await keeper.create_session(from_session_id=session.id)
    await keeper.chat("in what follows", session_id=continued.id)

    had = 4 if last == "two" else 0
    assert (then.last_seq, len(then.messages)) == (session.last_seq, had)
    assert (len(seen_in_the_fork["history"]), len(witness.seen[-1]["history"])) == (had + 2, had)
