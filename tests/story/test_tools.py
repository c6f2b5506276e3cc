"""Tools: what an agent may have done for it, and what it is told when it may not."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from turnkeeper import AgentTurn, Settings, Turnkeeper
from turnkeeper.errors import ScopeDenied
from turnkeeper.model.feed import FeedType
from turnkeeper.model.policy import Ceilings, Policy
from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.session import Session
from turnkeeper.ports.tools import KnowledgeBaseRef, ToolCall

LETTER = "The warranty of the kettle lasts three years.\n"


class Weather:
    """A tool that counts how often it was really asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, city: str) -> dict[str, Any]:
        """Tell the weather of a city."""
        self.asked.append(city)
        return {"city": city, "sky": "clear"}


async def feed_of(keeper: Turnkeeper, session: Session) -> Sequence[tuple[str, dict[str, Any]]]:
    entries = await keeper._store.feed.read(session.tenant, session.id, after=0, limit=200)  # type: ignore[arg-type]
    return [(entry.type.value, dict(entry.data)) for entry in entries]


async def test_a_tool_is_a_typed_function_and_its_call_is_recorded(keeper: Turnkeeper) -> None:
    weather = Weather()
    keeper.tool("weather.city.read")(weather.__call__)

    @keeper.agent("guide")
    async def guide(turn: AgentTurn) -> str:
        offered = await turn.tools()
        result = await turn.call("weather.city.read", city="Lund")
        return f"{[spec.name for spec in offered]} {result.status} {result.data['sky']}"

    reply = await keeper.chat("How is it?", agent="guide")

    session = await keeper.session(reply.session_id)
    told = [
        (type, said["tool"], said.get("outcome")) for type, said in await feed_of(keeper, session) if "tool" in said
    ]
    assert reply.text == "['weather.city.read'] ok clear"
    assert weather.asked == ["Lund"]
    assert told == [
        (FeedType.TOOL_STARTED, "weather.city.read", None),
        (FeedType.TOOL_FINISHED, "weather.city.read", "ok"),
    ]
    assert "tool:call-001" in {node.id for node in reply.explanation.graph.nodes}


async def test_a_tool_in_a_thread_is_called_like_any_other(keeper: Turnkeeper) -> None:
    @keeper.tool("sums.two.add")
    def add(one: int, other: int) -> int:
        return one + other

    @keeper.agent("slow")
    def slow(turn: AgentTurn) -> str:
        return str(turn.call("sums.two.add", one=2, other=3).data)

    assert (await keeper.chat("Add", agent="slow")).text == "5"


async def test_nyqst_52_a_tool_that_the_agent_does_not_have_is_neither_offered_nor_called(keeper: Turnkeeper) -> None:
    weather = Weather()
    keeper.tool("weather.city.read")(weather.__call__)

    @keeper.agent("poor", tools=["mail.*"])
    async def poor(turn: AgentTurn) -> str:
        known = await turn.call("weather.city.read", city="Lund")
        unknown = await turn.call("no.such.tool")
        clumsy = await turn.call("weather.city.read", town=5)
        assert (known.message, known.code) == (unknown.message, unknown.code) == (clumsy.message, clumsy.code)
        return f"{await turn.tools()} {known.status} {known.code}"

    reply = await keeper.chat("How is it?", agent="poor")

    assert reply.text == "() denied tool_not_permitted"
    assert weather.asked == []
    assert "denied.tool_not_permitted" in reply.warnings
    assert await keeper.tools_of(reply.session_id) == ()


async def test_arguments_that_do_not_fit_are_told_to_the_agent(keeper: Turnkeeper) -> None:
    weather = Weather()
    keeper.tool("weather.city.read")(weather.__call__)

    @keeper.agent("clumsy")
    async def clumsy(turn: AgentTurn) -> str:
        result = await turn.call("weather.city.read", city=5)
        return f"{result.status} {result.code} {result.message}"

    reply = await keeper.chat("How is it?", agent="clumsy")

    assert reply.text.startswith("denied invalid_arguments")
    assert "$.city" in reply.text
    assert weather.asked == []


async def test_a_tool_that_fails_is_a_result_and_its_words_stay_inside(keeper: Turnkeeper) -> None:
    @keeper.tool("bank.balance.read")
    async def balance() -> int:
        raise RuntimeError("the password is hunter2")

    @keeper.agent("teller")
    async def teller(turn: AgentTurn) -> str:
        result = await turn.call("bank.balance.read")
        return f"{result.status} {result.code} {result.message}"

    reply = await keeper.chat("How much?", agent="teller")

    assert reply.text == "failed tool_failed The tool failed with RuntimeError."


async def test_a_tool_that_needs_more_than_the_run_may_do_is_denied_by_policy(settings: Settings) -> None:
    async def say(keeper: Turnkeeper) -> str:
        @keeper.tool("mail.letter.send", safety_mode="network")
        async def send(to: str) -> str:
            return f"sent to {to}"

        @keeper.agent("clerk")
        async def clerk(turn: AgentTurn) -> str:
            offered = [spec.name for spec in await turn.tools()]
            result = await turn.call("mail.letter.send", to="ada")
            return f"{offered} {result.status} {result.code}"

        return (await keeper.chat("Write", agent="clerk")).text

    async with Turnkeeper.open(settings=settings) as careful:
        assert await say(careful) == "[] denied policy_denied"
    far = Policy(everywhere=Ceilings(safety_mode=SafetyMode.NETWORK))
    async with Turnkeeper.open(settings=settings, policy=far) as trusting:
        assert await say(trusting) == "['mail.letter.send'] ok None"


async def test_nyqst_45_46_47_a_tool_without_any_check_of_its_own_reaches_only_what_is_mounted(
    keeper: Turnkeeper,
) -> None:
    reached: list[str] = []

    @keeper.tool("kb.words.search")
    async def careless(call: ToolCall, base: KnowledgeBaseRef, words: str) -> list[str]:
        reached.append(base)
        return [found.unit.content for found in await call.search(base, words)]

    @keeper.tool("kb.any.search")
    async def sly(call: ToolCall, named: str, words: str) -> list[str]:
        """Hides what it reaches for from the types of its parameters."""
        return [found.unit.content for found in await call.search(named, words)]

    mounted = await keeper.bases.create("Kettles")
    await keeper.bases.add_source(mounted.id, "letter.txt", LETTER)
    unmounted = await keeper.bases.create("Secrets")
    await keeper.bases.add_source(unmounted.id, "secret.txt", "The warranty is void on Mondays.\n")

    @keeper.agent("reader")
    async def reader(turn: AgentTurn) -> str:
        lines = []
        for base in (mounted.id, unmounted.id, "kb_nowhere"):
            for tool, name in (("kb.words.search", "base"), ("kb.any.search", "named")):
                result = await turn.call_with(tool, {name: base, "words": "warranty"})
                lines.append(f"{result.status}:{result.code or len(result.data)}:{result.message or ''}")
        return "\n".join(lines)

    session = await keeper.create_session(agent="reader")
    await keeper.bases.mount(session.id, mounted.id)
    reply = await keeper.chat("Look", session_id=session.id)

    lines = reply.text.splitlines()
    assert [line.split(":")[0:2] for line in lines[:2]] == [["ok", "1"], ["ok", "1"]]
    assert set(lines[2:]) == {"denied:out_of_scope:This session has no such resource. Use one that is mounted to it."}
    assert reached == [mounted.id]
    assert [said["code"] for type, said in await feed_of(keeper, session) if type == FeedType.SCOPE_DENIED] == [
        "out_of_scope"
    ] * 2
    assert reply.status == "completed"


async def test_nyqst_51_what_is_unmounted_in_the_middle_of_a_turn_is_out_of_reach_at_once(keeper: Turnkeeper) -> None:
    @keeper.tool("kb.words.search")
    async def search(call: ToolCall, base: KnowledgeBaseRef) -> int:
        return len(await call.search(base, "warranty"))

    base = await keeper.bases.create("Kettles")
    await keeper.bases.add_source(base.id, "letter.txt", LETTER)

    @keeper.agent("reader")
    async def reader(turn: AgentTurn) -> str:
        before = await turn.call("kb.words.search", base=base.id)
        await keeper.bases.unmount(turn.session_id, base.id)
        after = await turn.call("kb.words.search", base=base.id)
        return f"{before.status} {after.status} {[spec.name for spec in await turn.tools()]}"

    session = await keeper.create_session(agent="reader")
    await keeper.bases.mount(session.id, base.id)

    assert (await keeper.chat("Look", session_id=session.id)).text == "ok denied []"


async def test_nyqst_57_arguments_that_name_another_session_or_tenant_change_nothing(keeper: Turnkeeper) -> None:
    @keeper.tool("who.am.i")
    async def who(call: ToolCall, session_id: str = "", tenant: str = "") -> dict[str, str]:
        return {"session": call.session_id, "tenant": call.tenant, "user": call.user}

    @keeper.agent("tricked")
    async def tricked(turn: AgentTurn) -> str:
        result = await turn.call("who.am.i", session_id="sess_other", tenant="globex")
        assert result.data == {"session": turn.session_id, "tenant": "default", "user": "local"}
        return "still me"

    assert (await keeper.chat("You are now in sess_other", agent="tricked")).text == "still me"


async def test_a_tool_that_was_called_is_not_called_again_when_the_run_comes_by_a_second_time(
    keeper: Turnkeeper,
) -> None:
    weather = Weather()
    keeper.tool("weather.city.read")(weather.__call__)

    @keeper.agent("guide")
    async def guide(turn: AgentTurn) -> str:
        result = await turn.call("weather.city.read", city="Lund")
        answer = await turn.ask("Is that fine?")
        return f"{result.data['sky']} and {answer}"

    asked = await keeper.chat("How is it?", agent="guide")
    reply = await keeper.chat("yes", session_id=asked.session_id, answers=asked.run_id)

    assert reply.text == "clear and yes"
    assert weather.asked == ["Lund"]


async def test_what_a_tool_does_through_its_call_raises_where_it_is_denied(keeper: Turnkeeper) -> None:
    raised: list[str] = []

    @keeper.tool("kb.any.search")
    async def sly(call: ToolCall) -> int:
        try:
            await call.search("kb_nowhere", "warranty")
        except ScopeDenied as denied:
            raised.append(denied.denial)
            raise
        return 0

    @keeper.agent("reader")
    async def reader(turn: AgentTurn) -> str:
        return (await turn.call("kb.any.search")).code or ""

    assert (await keeper.chat("Look", agent="reader")).text == "out_of_scope"
    assert raised == ["out_of_scope"]


async def test_a_thread_that_goes_on_after_its_session_was_closed_calls_no_tool(keeper: Turnkeeper) -> None:
    weather, closed, began, over = Weather(), threading.Event(), asyncio.Event(), asyncio.Event()
    keeper.tool("weather.city.read")(weather.__call__)
    loop = asyncio.get_running_loop()

    @keeper.agent("stubborn")
    def stubborn(turn: AgentTurn) -> str:
        loop.call_soon_threadsafe(began.set)
        closed.wait()
        try:
            return str(turn.call("weather.city.read", city="Lund").status)
        finally:
            loop.call_soon_threadsafe(over.set)

    session = await keeper.create_session(agent="stubborn")
    ticket = await keeper.submit("How is it?", session_id=session.id)
    await began.wait()
    await keeper.close_session(session.id)
    closed.set()
    await over.wait()

    assert weather.asked == []
    assert (await keeper.session(session.id)).turns == 0
    assert not (await keeper.run(ticket.run.id)).turn


async def test_a_denial_is_told_once_however_often_the_run_comes_by(keeper: Turnkeeper) -> None:
    @keeper.agent("asking")
    async def asking(turn: AgentTurn) -> str:
        denied = await turn.call("no.such.tool")
        return f"{denied.code} {await turn.ask('Go on?')}"

    asked = await keeper.chat("Try", agent="asking")
    reply = await keeper.chat("yes", session_id=asked.session_id, answers=asked.run_id)

    feed = await feed_of(keeper, await keeper.session(asked.session_id))
    assert reply.text == "tool_not_permitted yes"
    assert [type for type, _ in feed].count(FeedType.SCOPE_DENIED) == 1


@pytest.mark.parametrize("name", ["Weather", "weather report"])
async def test_a_tool_with_an_odd_name_is_a_mistake_at_once(name: str) -> None:
    with pytest.raises(ValueError, match="small letters"):
        Turnkeeper.open("nowhere.db").tool(name)(lambda: 1)
