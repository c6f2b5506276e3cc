"""The tools of a session inside a graph: permitted, denied, and waiting for a person."""

import pytest
from langchain_core.messages import AIMessage

from tests.story.graphs import clerk
from turnkeeper import Settings, Turnkeeper
from turnkeeper.model.run import RunStatus


def with_tools(keeper: Turnkeeper, *, with_tool_node: bool = False) -> tuple[list[str], list[list[str]]]:
    """A keeper with a tool that anyone may use, and one that a person must approve."""
    written: list[str] = []

    @keeper.tool("notes.line.count")
    async def count(line: str) -> str:
        return f"{len(line)} letters"

    @keeper.tool("connector.crm.write")
    async def write(line: str) -> str:
        written.append(line)
        return f"wrote {line}"

    graph, _, offered = clerk(with_tool_node=with_tool_node)
    keeper.add_graph("clerk", graph, tools=["notes.*", "connector.*"])
    return written, offered


async def decided(keeper: Turnkeeper, run_id: str, *, approve: bool) -> str:
    """The answer of a run once a person has decided what it waits for."""
    (approval,) = await keeper.approvals.list(status="pending")
    await keeper.approvals.decide(approval.id, approve=approve)
    run = await keeper.run(run_id)
    async for _ in keeper.follow(run):
        pass
    reply = await keeper.reply_of(await keeper.run(run_id))
    assert reply is not None
    return reply.text.strip()


@pytest.mark.parametrize("with_tool_node", [False, True])
async def test_a_graph_calls_the_tools_of_its_session(keeper: Turnkeeper, with_tool_node: bool) -> None:
    _, offered = with_tools(keeper, with_tool_node=with_tool_node)

    reply = await keeper.chat('call notes.line.count {"line": "hello"}', agent="clerk")

    run = await keeper.run(reply.run_id)
    frames = [frame async for frame in keeper.follow(run)]
    assert reply.text.strip() == "5 letters"
    assert offered[0] == ["connector-crm-write", "notes-line-count"]
    assert [frame.type.value for frame in frames if "tool" in frame.type.value] == ["tool.started", "tool.finished"]


async def test_a_tool_that_the_session_does_not_permit_is_denied_also_when_the_model_names_it(
    keeper: Turnkeeper,
) -> None:
    with_tools(keeper)

    @keeper.tool("secret.drawer.open")
    async def open_drawer() -> str:
        raise AssertionError("nobody may come here")

    reply = await keeper.chat("call secret.drawer.open {}", agent="clerk")

    assert reply.text.strip() == "tool_not_permitted"


async def test_a_gated_call_waits_for_approval_and_goes_on_after_a_restart(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        first, _ = with_tools(keeper)
        asked = await keeper.chat('call connector.crm.write {"line": "hello"}', agent="clerk")

    async with Turnkeeper.open(settings=settings) as keeper:
        written, _ = with_tools(keeper)
        text = await decided(keeper, asked.run_id, approve=True)
        after = await keeper.chat("thanks", session_id=asked.session_id)

    assert (asked.status, first) == (RunStatus.WAITING, [])
    assert (text, written) == ("wrote hello", ["hello"])
    assert after.text.strip() == "Nothing to do"


async def test_a_gated_call_that_is_rejected_is_a_result_that_the_model_reads(keeper: Turnkeeper) -> None:
    written, _ = with_tools(keeper)
    asked = await keeper.chat('call connector.crm.write {"line": "hello"}', agent="clerk")

    text = await decided(keeper, asked.run_id, approve=False)

    assert (text, written) == ("approval_required", [])


async def test_calls_beside_a_gated_one_are_done_once(keeper: Turnkeeper) -> None:
    written, _ = with_tools(keeper)
    message = 'call notes.line.count {"line": "four"} call connector.crm.write {"line": "a"} '
    asked = await keeper.chat(message + 'call connector.crm.write {"line": "b"}', agent="clerk")

    (approval,) = await keeper.approvals.list(status="pending")
    await keeper.approvals.decide(approval.id, approve=True)
    async for frame in keeper.follow(await keeper.run(asked.run_id)):
        if frame.type.value == "run.waiting" and len(await keeper.approvals.list(status="pending")) == 1:
            break
    text = await decided(keeper, asked.run_id, approve=False)

    assert text == "4 letters, wrote a, approval_required"
    assert written == ["a"]


async def test_nothing_in_the_state_of_a_graph_widens_what_it_may_do(keeper: Turnkeeper) -> None:
    with_tools(keeper)
    graph, model, _ = clerk()
    tampered = {"session_id": "sess_other", "mounts": [{"kind": "pointer", "id": "all"}], "policy": "exploratory"}

    async def tamper(state: object) -> dict[str, object]:
        return {"session_context": tampered}

    graph.add_node("tamper", tamper)
    graph.add_edge("__start__", "tamper")
    keeper.add_graph("tampering", graph, tools=["connector.*"])
    model.script = lambda messages: (
        AIMessage("", tool_calls=[{"name": "connector-crm-write", "args": {"line": "x"}, "id": "call-1"}])
        if messages[-1].type == "human"
        else AIMessage("done")
    )

    asked = await keeper.chat("hello", agent="tampering")

    assert asked.status is RunStatus.WAITING
