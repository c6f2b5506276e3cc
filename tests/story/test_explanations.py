"""Why a run came out as it did: told of every end, bounded, page by page and one by one."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.eventually import eventually
from turnkeeper import AgentTurn, Principal, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.ledger.mermaid import as_mermaid
from turnkeeper.ledger.tree import as_tree
from turnkeeper.model.explanation import ExplainedRun, Explanation
from turnkeeper.model.graph import EdgeType, NodeType
from turnkeeper.model.ids import RunId, TenantId, UserId
from turnkeeper.model.policy import Ceilings, Policy
from turnkeeper.model.run import RunStatus
from turnkeeper.stores.explained import NOT_WRITABLE, written

ROOT = Path(__file__).parents[2]


class Recorder:
    """An agent that tells of its doing, and then does what it is told."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, turn: AgentTurn) -> str:
        notes = turn.notes
        notes.begin("frame-0", NodeType.FRAME, "frame 0", frame_id="frame-0", input=turn.text)
        notes.begin("plugin-1", NodeType.PLUGIN, "gs-tried", frame_id="frame-0", input=turn.text)
        notes.edge(EdgeType.CONTAINS, "frame-0", "plugin-1")
        notes.edge(EdgeType.USES, "branch-that-never-began", "plugin-1")
        notes.ran("gs-plugin", "gs-tried")
        self.begun.set()
        match turn.text:
            case "fail":
                raise RuntimeError("secret words")
            case "wait":
                await self.go.wait()
            case "do not stop":
                while not self.go.is_set():
                    with suppress(asyncio.CancelledError):
                        await self.go.wait()
            case "ask":
                return await turn.ask("For how many?")
        notes.end("plugin-1", "success", output="an answer")
        notes.end("frame-0", "succeeded")
        notes.answered("answered", document={"answer": "an answer"}, level=1)
        return f"[{turn.text}]"


@pytest.fixture
def recorder(keeper: Turnkeeper) -> Recorder:
    agent = Recorder()
    keeper.agent("recorder", run_seconds=30.0)(agent)
    return agent


async def explained(keeper: Turnkeeper, run_id: RunId) -> Explanation:
    told = (await keeper.explained(run_id)).explanation
    assert as_mermaid(told.graph).startswith("flowchart TD\n")
    assert len(as_tree(told.graph).splitlines()) >= len(told.graph.nodes)
    return told


def steps_of(told: Explanation) -> dict[str, str]:
    return {node.label: node.status for node in told.graph.nodes if node.type is NodeType.STEP}


def recorded_in(told: Explanation) -> dict[str, str]:
    return {node.id: node.status for node in told.graph.nodes if node.type is not NodeType.STEP}


# --- every end has a graph


async def test_the_graph_of_an_answer_joins_the_steps_with_what_the_agent_did(
    keeper: Turnkeeper, recorder: Recorder
) -> None:
    reply = await keeper.chat("hello", agent="recorder")

    told = await explained(keeper, reply.run_id)

    assert list(steps_of(told)) == [
        "intake",
        "open_session",
        "reset",
        "hold_intent",
        "materialize",
        "hand_off",
        "commit",
    ]
    assert set(steps_of(told).values()) == {"ok"}
    assert recorded_in(told) == {"frame-0": "succeeded", "plugin-1": "success"}
    hung = [edge for edge in told.graph.edges if edge.target == "frame-0"]
    assert [(edge.type, edge.source) for edge in hung] == [(EdgeType.CONTAINS, "step-5")]
    assert told.graph.root_frame_id == "frame-0"
    assert told.graph == reply.explanation.graph


async def test_fault_8_fact_6_a_failed_turn_names_what_really_ran_and_leaves_the_message_log_alone(
    keeper: Turnkeeper, recorder: Recorder
) -> None:
    first = await keeper.chat("hello", agent="recorder", level=0)
    before = await keeper.session(first.session_id)
    with pytest.raises(TurnkeeperError):
        await keeper.chat("fail", session_id=first.session_id, plugins={"gs-plugin": "gs-wanted"}, level=2)

    newest = (await keeper.explanations(first.session_id))[0]

    told = newest.explanation
    assert (told.status, told.answer_status, told.turn, told.level) == (RunStatus.FAILED, "failed", None, 2)
    assert told.plugins == {"gs-plugin": "gs-tried"}
    assert told.error is not None
    assert (told.error.code, newest.asked, newest.preview) == ("agent_failed", "fail", told.error.message)
    assert steps_of(told)["hand_off"] == "failed"
    assert recorded_in(told) == {"frame-0": "unfinished", "plugin-1": "unfinished"}
    assert "secret" not in f"{told}{told.graph}"
    assert [message.content for message in await keeper.messages(first.session_id)] == ["hello", "[hello]"]
    assert (await keeper.session(first.session_id)).preferences == before.preferences


async def test_a_run_that_took_too_long_is_explained(keeper: Turnkeeper) -> None:
    keeper.agent("slow", run_seconds=0.3)(Recorder())
    ticket = await keeper.submit("wait", agent="slow")
    with pytest.raises(TurnkeeperError):
        await keeper.reply_to(ticket)

    told = await explained(keeper, ticket.run.id)

    assert (told.status, told.answer_status) == (RunStatus.TIMED_OUT, "failed")
    assert steps_of(told)["hand_off"] == "failed"
    assert recorded_in(told) == {"frame-0": "unfinished", "plugin-1": "unfinished"}


async def test_a_cancelled_run_is_explained(keeper: Turnkeeper, recorder: Recorder) -> None:
    ticket = await keeper.submit("wait", agent="recorder")
    await recorder.begun.wait()
    await keeper.cancel(ticket.run.id)
    with pytest.raises(TurnkeeperError):
        await keeper.reply_to(ticket)

    told = await explained(keeper, ticket.run.id)

    assert (told.status, told.error) == (RunStatus.CANCELLED, None)
    assert (steps_of(told)["materialize"], steps_of(told)["hand_off"]) == ("ok", "stopped")
    assert recorded_in(told) == {"frame-0": "unfinished", "plugin-1": "unfinished"}


async def test_a_superseded_run_is_explained(keeper: Turnkeeper, recorder: Recorder) -> None:
    ticket = await keeper.submit("wait", agent="recorder")
    await recorder.begun.wait()
    await keeper.chat("instead", session_id=ticket.run.session_id, double_text="rollback")

    told = await explained(keeper, ticket.run.id)

    assert told.status is RunStatus.SUPERSEDED
    assert steps_of(told)["hand_off"] == "stopped"
    assert "plugin-1" in recorded_in(told)


async def test_an_abandoned_run_is_explained_by_its_feed(settings: Settings) -> None:
    recorder = Recorder()
    async with Turnkeeper.open(settings=settings, lease_seconds=0.6, renew_seconds=0.1) as keeper:
        keeper.agent("deaf", run_seconds=0.2)(recorder)
        ticket = await keeper.submit("do not stop", agent="deaf")
        await recorder.begun.wait()
        await keeper.chat("next", session_id=ticket.run.session_id)

        told = await explained(keeper, ticket.run.id)
        recorder.go.set()

    assert (told.status, told.partial) == (RunStatus.ABANDONED, True)
    assert steps_of(told) == {"run.accepted": "stopped"}


async def test_a_run_that_is_handed_over_is_explained(settings: Settings) -> None:
    recorder = Recorder()
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("recorder")(recorder)
        ticket = await keeper.submit("wait", agent="recorder")
        await recorder.begun.wait()
        await keeper.close(grace_seconds=0)

    async with Turnkeeper.open(settings=settings).looking_in() as keeper:
        told = await explained(keeper, ticket.run.id)

    assert told.status is RunStatus.ABANDONED
    assert steps_of(told)["hand_off"] == "stopped"


async def test_a_waiting_run_is_explained_as_far_as_it_came(keeper: Turnkeeper, recorder: Recorder) -> None:
    asked = await keeper.chat("ask", agent="recorder")

    told = await keeper.explained(asked.run_id)

    assert (told.explanation.status, told.explanation.partial) == (RunStatus.WAITING, True)
    assert steps_of(told.explanation) == {"run.accepted": "ok", "run.waiting": "waiting"}
    assert (told.asked, told.preview) == ("ask", "For how many?")
    assert steps_of(asked.explanation)["hand_off"] == "waiting"


async def test_an_agent_that_tells_what_no_json_can_hold_is_answered_all_the_same(keeper: Turnkeeper) -> None:
    @keeper.agent("odd")
    async def odd(turn: AgentTurn) -> str:
        turn.notes.begin("plugin-1", NodeType.PLUGIN, "half a letter \ud800", metadata={"object": object()})
        return "fine"

    reply = await keeper.chat("hello", agent="odd")

    told = await explained(keeper, reply.run_id)
    assert reply.text == "fine"
    assert (told.warnings, recorded_in(told)) == ((NOT_WRITABLE,), {})


async def test_a_command_is_explained_with_what_it_said(keeper: Turnkeeper, recorder: Recorder) -> None:
    first = await keeper.chat("hello", agent="recorder")
    reset = await keeper.reset(first.session_id)

    told = await keeper.explained(reset.run_id)

    assert (told.preview, told.explanation.status) == (reset.text, RunStatus.COMPLETED)
    assert [node.label for node in told.explanation.graph.nodes if node.type is NodeType.DECISION] == [
        "CONVERSATION_RESET"
    ]


# --- one id, rising turns, bounded, in pages


async def test_fault_9_one_run_id_is_in_the_reply_the_feed_and_the_explanation(
    keeper: Turnkeeper, recorder: Recorder
) -> None:
    ticket = await keeper.submit("hello", agent="recorder")
    reply = await keeper.reply_to(ticket)

    frames = [frame async for frame in keeper.follow(ticket.run)]
    listed = await keeper.summaries(reply.session_id)

    told = {reply.run_id, reply.explanation.run_id, *(frame.run_id for frame in frames)}
    assert told | {each.explanation.run_id for each in listed} == {ticket.run.id}


async def test_fault_7_turns_keep_rising_and_explanations_stay_few_however_long_a_session_lasts(
    settings: Settings,
) -> None:
    async with Turnkeeper.open(settings=settings, explanations=5) as keeper:
        session = await keeper.create_session(agent="echo")
        for number in range(40):
            await keeper.chat(f"message {number}", session_id=session.id)

        async def is_trimmed() -> bool:
            return len(await keeper.summaries(session.id, limit=100)) <= 5 + 32

        await eventually(is_trimmed)
        listed = await keeper.summaries(session.id, limit=100)

    turns = [each.explanation.turn for each in listed]
    assert turns == list(range(40, 40 - len(turns), -1))
    assert len(turns) <= 13


async def test_an_explanation_that_was_dropped_is_told_from_the_feed(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, explanations=1) as keeper:
        first = await keeper.chat("hello", agent="echo")
        for number in range(33):
            await keeper.chat(f"message {number}", session_id=first.session_id)

        async def is_dropped() -> bool:
            return await keeper.explanation(first.run_id) is None

        await eventually(is_dropped)
        told = await keeper.explained(first.run_id)

    assert (told.explanation.turn, told.explanation.partial, told.preview) == (1, True, first.text)
    assert list(steps_of(told.explanation)) == ["run.accepted", "run.completed"]


async def test_fault_22_fact_3_explanations_come_newest_first_in_pages_that_hold_no_details(
    keeper: Turnkeeper, recorder: Recorder
) -> None:
    first = await keeper.chat("hello", agent="recorder")
    for text in ("again", "and again"):
        await keeper.chat(text, session_id=first.session_id)

    page = await keeper.summaries(first.session_id, limit=2)
    rest = await keeper.summaries(first.session_id, before=page[-1].explanation.run_id, limit=2)
    in_full = await keeper.explanations(first.session_id, limit=2)

    assert [(each.asked, each.preview) for each in page] == [("and again", "[and again]"), ("again", "[again]")]
    assert [each.asked for each in rest] == ["hello"]
    assert [_in_short(each) for each in in_full] == page
    assert "an answer" not in repr(page)
    assert in_full[0].explanation.document == {"answer": "an answer"}
    assert (await keeper.session(first.session_id)).preferences.plugins == {"gs-plugin": "gs-tried"}


# --- pictures


async def test_the_chart_in_the_manual_is_that_of_a_real_run(keeper: Turnkeeper) -> None:
    told = await keeper.chat("The depot is in Narva. We have seven vans.", agent="symbolic")
    reply = await keeper.chat("Where is the depot?", session_id=told.session_id)

    page = (ROOT / "docs" / "guides" / "explanations.md").read_text(encoding="utf-8")
    drawn = page.partition("```mermaid\n")[2].partition("\n```")[0]

    assert _without_spans(drawn) == _without_spans(as_mermaid(reply.explanation.graph))


# --- how much is kept


async def test_the_explanation_of_a_trivial_turn_is_small(keeper: Turnkeeper) -> None:
    @keeper.agent("plain")
    async def plain(turn: AgentTurn) -> str:
        return "ok"

    reply = await keeper.chat("hello", agent="plain")

    told = await keeper.explanation(reply.run_id)
    assert told is not None
    assert (told.notes, told.document, told.details, told.units) == (None, None, {}, {})
    assert len(written(told)) <= 600


async def test_with_summaries_only_no_words_of_the_inside_are_kept(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, explanation_detail="summary") as keeper:
        keeper.agent("recorder")(Recorder())
        reply = await keeper.chat("hello", agent="recorder")
        told = await explained(keeper, reply.run_id)

    assert recorded_in(told) == {"frame-0": "succeeded", "plugin-1": "success"}
    assert (told.answer_status, told.level, told.plugins) == ("answered", 1, {"gs-plugin": "gs-tried"})
    assert all(node.input is None and node.output is None for node in told.graph.nodes)
    assert told.document is None


def _without_spans(chart: str) -> str:
    """How long something took is different each time."""
    return re.sub(r" · [0-9.]+ m?s", "", chart)


def _in_short(told: ExplainedRun[Explanation]) -> object:
    return ExplainedRun(explanation=told.explanation.summary, asked=told.asked, preview=told.preview)


async def test_what_was_decided_before_a_message_came_here_is_told_first(keeper: Turnkeeper) -> None:
    decided: list[dict[str, Any]] = [{"name": "BUS_MATCHED", "data": {"by": "fallback"}}, {"name": "BUS_DISPATCHED"}]

    keeper.agent("recorder")(Recorder())

    for end, message in (("completed", "hello"), ("failed", "fail")):
        ticket = await keeper.submit(message, channel="bus", agent="recorder", before=decided)
        with suppress(TurnkeeperError):
            await keeper.reply_to(ticket)
        explanation = await keeper.explanation(ticket.run.id)

        assert explanation is not None
        assert explanation.status == end
        told = [(stage.name, dict(stage.data)) for stage in explanation.stages[:3]]
        assert told == [("intake", {}), ("BUS_MATCHED", {"by": "fallback"}), ("BUS_DISPATCHED", {})]
        assert [stage.is_decision for stage in explanation.stages[:4]] == [False, True, True, False]


async def test_the_bus_is_a_channel_with_ceilings_and_counters_of_its_own(settings: Settings) -> None:
    policy = Policy(channels={"bus": Ceilings(grants=frozenset({"read"}))})
    ada = Principal(tenant=TenantId("acme"), user=UserId("ada"), grants=frozenset({"read", "write"}))
    async with Turnkeeper.open(settings=settings, policy=policy) as keeper:
        ticket = await keeper.submit("hello", channel="bus", principal=ada)
        await keeper.reply_to(ticket)

        counted = keeper.telemetry.exposition().decode()

    assert ticket.run.input.grants == ("read",)
    assert 'channel="bus"' in counted
