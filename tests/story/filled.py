"""A database in which every table has something, put there by the keeper itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from tests.story.envelopes import HELPDESK
from turnkeeper import AgentTurn, Principal, Role, Settings, Turnkeeper, UserId
from turnkeeper.errors import TurnkeeperError
from turnkeeper.model.binding import BindingTerms, ReplyKind, ReplyPath, Strangers
from turnkeeper.model.definition import AgentTraits, ModelTraits
from turnkeeper.model.gate import GateKind, GateRule
from turnkeeper.model.ids import UnitId
from turnkeeper.model.layer import LayerTerms
from turnkeeper.model.policy import Policy
from turnkeeper.model.principal import LOCAL
from turnkeeper.model.unit import Unit, UnitRole
from turnkeeper.ports.channels import Raw

OPERATOR = replace(LOCAL, is_operator=True, role=Role.OWNER)
BEN = Principal(tenant=LOCAL.tenant, user=UserId("ben"))
GATE = GateRule(action="connector.crm.write", kind=GateKind.APPROVE, required_role=Role.ADMIN)
MAIL = (
    b"From: ann@example.org\r\nTo: desk@example.net\r\nMessage-ID: <1@example.org>\r\nSubject: A table\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n\r\nA table f\xc3\xbcr zwei\r\n"
)


def a_note(text: str) -> Unit:
    """The second in a session takes the place of the first."""
    return Unit(
        id=UnitId("staged::unit-000"),
        source_id="session",
        chunk_id="session::staged",
        role=UnitRole.DESCRIPTION,
        topic="note",
        claim=f"The note is {text}.",
        slot="note",
    )


class Filled:
    """What tests look at again, and the run that is still under way."""

    def __init__(self) -> None:
        self.session_id = ""
        self.may_finish = asyncio.Event()
        self.has_begun = asyncio.Event()


@asynccontextmanager
async def a_filled_keeper(settings: Settings, *, turns: int) -> AsyncIterator[tuple[Turnkeeper, Filled]]:
    """At its end a run is under way that goes on as soon as it may."""
    wanted = replace(settings, device_memory="kept", smtp_url="smtp://127.0.0.1:1", mail_from="desk@example.net")
    filled = Filled()
    async with Turnkeeper.open(settings=wanted, policy=Policy(gates=(GATE,))) as keeper:
        _register(keeper, filled)
        await _organise(keeper)
        await _talk(keeper, filled, turns)
        await _come_from_elsewhere(keeper)
        under_way = asyncio.create_task(keeper.chat("Take your time", agent="slow"))
        await filled.has_begun.wait()
        try:
            yield keeper, filled
        finally:
            filled.may_finish.set()
            await asyncio.gather(under_way, return_exceptions=True)


def _register(keeper: Turnkeeper, filled: Filled) -> None:
    @keeper.tool("connector.crm.write", safety_mode="read_only")
    async def write(line: str) -> int:
        """Write a line to the customer's file."""
        return len(line)

    @keeper.agent("clerk")
    async def clerk(turn: AgentTurn) -> str:
        return str((await turn.call("connector.crm.write", line=turn.text)).status)

    @keeper.agent("author")
    async def author(turn: AgentTurn) -> str:
        await turn.once("booked", dict, at="pier 7")
        turn.remember(a_note(turn.text))
        text = await turn.substrate.emit(turn.text.encode(), path="note.txt")
        await turn.substrate.publish({"note.txt": text}, message=turn.text)
        return "written"

    @keeper.agent("broken")
    async def broken(turn: AgentTurn) -> str:
        raise RuntimeError("it broke")

    @keeper.agent("slow")
    async def slow(turn: AgentTurn) -> AsyncIterator[str]:
        yield "I take my time. " * 200
        await turn.ask("Really?") if turn.text == "Ask me" else None
        filled.has_begun.set()
        await filled.may_finish.wait()
        yield "Done."

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"heard {state['messages'][-1].text}")]}

    keeper.add_graph("graph", StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer"))


async def _organise(keeper: Turnkeeper) -> None:
    await keeper.tenants.create(
        "Ours", id=LOCAL.tenant, terms=LayerTerms(quotas={"runs_monthly": 1_000_000}), principal=OPERATOR
    )
    project = await keeper.projects.create("Harbour")
    await keeper.users.create("ben", name="Ben")
    await keeper.definitions.put_agent("author", AgentTraits(capabilities=("write",)))
    await keeper.definitions.put_model("deep", ModelTraits(chat_model="deep-thought"))
    await keeper.packs.push(HELPDESK)
    await keeper.packs.override("helpdesk", "STICKY_INTENT", "false")
    base = await keeper.bases.create("Handbook")
    await keeper.bases.add_source(base.id, "harbour.md", "The ferry takes cars. The ferry leaves at nine.")
    session = await keeper.current_session("research", project_id=project.id)
    await keeper.bases.mount(session.id, base.id)
    await keeper.scoping.save_layout(session.id, {"tab": "chat"})
    await keeper.artifacts.keep(b"\x00\x01 bytes \xff", name="bytes.bin")
    await keeper.pointers.create("corpus")
    await keeper.limits.admit(LOCAL.tenant)
    await keeper.seals.rotate()
    await keeper.keys.create("nightly")


async def _talk(keeper: Turnkeeper, filled: Filled, turns: int) -> None:
    first = await keeper.chat("My dog is called Rex — “so” sagt’s 🐕", agent="symbolic", request_id="only-once")
    filled.session_id = first.session_id
    await asyncio.gather(*(_converse(keeper, number, turns // 10) for number in range(10)))
    await keeper.chat("Call back", agent="clerk")
    await keeper.chat("Ask me", agent="slow")
    written = await keeper.chat("A note", agent="author")
    await keeper.chat("Another note", session_id=written.session_id, agent="author")
    await keeper.chat("Remember this", session_id=written.session_id, agent="graph")
    await keeper.fork_session(written.session_id, at_turn=1)
    await keeper.reset(written.session_id)
    for refused in (keeper.chat("Break", agent="broken"), keeper.chat("Hello", session_id="sess_unknown", agent="?")):
        try:
            await refused
        except TurnkeeperError:
            continue
    await keeper.chat("Mine", custody="client", session_id="mine", freshness="strict", agent="echo")
    await keeper.chat("On the shelf", custody="device", agent="echo")
    gone = await keeper.chat("Forget me", agent="echo", principal=BEN)
    await keeper.erase_session(gone.session_id)


async def _converse(keeper: Turnkeeper, number: int, turns: int) -> None:
    session_id = None
    for turn in range(turns):
        text = f"The boat of pier {number} costs {turn} euros."
        reply = await keeper.chat(text, session_id=session_id, agent="symbolic" if turn % 50 == 0 else "echo")
        session_id = reply.session_id


async def _come_from_elsewhere(keeper: Turnkeeper) -> None:
    terms = BindingTerms(name="mail", strangers=Strangers.GUEST, reply=ReplyPath(kind=ReplyKind.SMTP))
    binding = await keeper.bindings.create("email", terms)
    delivered = await keeper.channels.deliver("email", binding.id, Raw(body=MAIL, media_type="message/rfc822"))
    assert delivered.ticket is not None
    await keeper.reply_to(delivered.ticket)
