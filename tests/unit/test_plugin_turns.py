"""A turn of the agent `symbolic`: which plugins run, in which order, what they may spend, and what is told of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.symbolic import (
    Detector,
    Judge,
    Knowledge,
    ScriptedExtractor,
    ScriptedPlanner,
    Solver,
    Talk,
    answer,
    descriptor,
    guidance,
    no_idea,
    unit,
)
from turnkeeper.errors import (
    AnswerRejected,
    BudgetExceeded,
    FrameDepthExceeded,
    PluginNotFound,
    PluginStageExhausted,
)
from turnkeeper.model.budget import BudgetLimits
from turnkeeper.model.graph import EdgeType, NodeType
from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit
from turnkeeper.model.unit import PhaseScope
from turnkeeper.ports.plugins import (
    CostClass,
    Depth,
    Detection,
    DetectionStatus,
    Judgement,
    KnowledgeEvent,
    KnowledgeEventType,
    Plan,
    PlannerHints,
    PlanPhase,
    PluginCall,
    PluginKind,
    Retrieval,
    RetrievalStatus,
    Solution,
    SolveStatus,
    Statement,
    Task,
)

ASKING = Detection(asked=("What is the port?",))
PORT = unit("The port is 80.", "port", slot="port")
FOUND = FoundUnit(unit=PORT, place=SESSION_PLACE, score=1.0)
ENOUGH = Retrieval(status=RetrievalStatus.SUCCESS, evidence=(FOUND,))
TOO_LITTLE = Retrieval(status=RetrievalStatus.INSUFFICIENT)
ACCEPTED, REJECTED = Judgement(accepted=True), Judgement(accepted=False, reason="it is not polite")


def pinned(kind: PluginKind, plugin: str) -> Preferences:
    return Preferences(plugins={kind: plugin})


def broken() -> RuntimeError:
    return RuntimeError("the words of a user")


# --- choosing


async def test_an_unknown_plugin_is_refused_before_anything_ran() -> None:
    talk = Talk()

    with pytest.raises(PluginNotFound) as refused:
        await talk.say("What is the port?", pinned(PluginKind.GOAL_SOLVER, "gs-gone"))

    assert (refused.value.code, refused.value.http_status) == ("plugin_not_found", 422)
    assert "Known are: gs-symbolic." in refused.value.detail
    assert talk.last is not None
    assert talk.last.notes.graph() is None


async def test_a_preferred_plugin_that_is_gone_is_a_warning_and_another_one_runs() -> None:
    talk = Talk(preferred=pinned(PluginKind.GOAL_SOLVER, "gs-gone"))

    told = await talk.say("What is the port?")

    assert told.notes.warnings == {"preferred_plugin_unknown": {"gs-plugin": "gs-gone"}}
    assert told.notes.plugins[PluginKind.GOAL_SOLVER] == "gs-symbolic"


async def test_fact_1_what_was_chosen_runs_and_is_told_so_that_it_becomes_the_preference() -> None:
    talk = Talk(plugins=[Solver("gs-mine", answer("Mine."))])

    told = await talk.say("What is the port?", pinned(PluginKind.GOAL_SOLVER, "gs-mine"))
    talk.preferred = Preferences(plugins=told.notes.plugins)
    again = await talk.say("What is the port?")

    assert told.text == again.text == "Mine."
    assert again.notes.plugins == {
        PluginKind.SEED_DETECTOR: "sd-symbolic",
        PluginKind.KNOWLEDGE: "kb-fast",
        PluginKind.GOAL_SOLVER: "gs-mine",
        PluginKind.PLANNER: "planner-default",
    }


async def test_fact_2_without_a_choice_the_default_order_decides() -> None:
    told = await Talk(known=[PORT]).say("What is the port?")

    assert [plugin for plugin, _ in told.executions()] == [
        "sd-symbolic",
        "planner-default",
        "kb-fast",
        "planner-default",
        "gs-symbolic",
    ]


async def test_a_pinned_plugin_that_fails_has_no_stand_in() -> None:
    talk = Talk(plugins=[Solver("gs-mine", broken())])

    with pytest.raises(PluginStageExhausted, match=r"gs-mine \(raised RuntimeError\)"):
        await talk.say("What is the port?", pinned(PluginKind.GOAL_SOLVER, "gs-mine"))


async def test_the_level_of_the_request_comes_before_that_of_the_session() -> None:
    talk = Talk(preferred=Preferences(level=1))

    told = [await talk.say("Hello!"), await talk.say("Hello!", Preferences(level=2))]

    assert [each.notes.level for each in told] == [1, 2]


# --- seed detection


async def test_the_next_detector_is_asked_when_one_fails_or_passes() -> None:
    talk = Talk(
        plugins=[
            Detector("sd-broken", broken()),
            Detector("sd-passing", Detection(status=DetectionStatus.UNSUPPORTED)),
            Detector("sd-sound", ASKING),
        ],
        only=True,
    )

    told = await talk.say("Port?")

    assert told.executions()[:3] == [("sd-broken", "error"), ("sd-passing", "unsupported"), ("sd-sound", "success")]
    assert told.notes.plugins[PluginKind.SEED_DETECTOR] == "sd-sound"


async def test_fault_8_when_all_detectors_fail_the_explanation_names_what_really_ran() -> None:
    talk = Talk(plugins=[Detector("sd-broken", broken())], only=True, preferred=Preferences(level=3))

    with pytest.raises(PluginStageExhausted) as failed:
        await talk.say("Port?")

    assert (failed.value.code, failed.value.http_status) == ("plugin_stage_exhausted", 502)
    assert talk.last is not None
    assert talk.last.executions() == [("sd-broken", "error")]
    assert talk.last.notes.plugins == {}
    (frame,) = talk.last.nodes(NodeType.FRAME)
    assert (frame.status, frame.metadata["error"]) == ("failed", "plugin_stage_exhausted")


async def test_what_a_plugin_raised_is_never_told_in_its_own_words(caplog: pytest.LogCaptureFixture) -> None:
    talk = Talk(plugins=[Solver("gs-mine", broken())])

    with caplog.at_level(logging.DEBUG):
        told = await talk.say("What is the port?")

    everything = f"{told.graph} {told.text} {told.document} {caplog.text} {[vars(each) for each in caplog.records]}"
    assert "the words of a user" not in everything
    assert "raised RuntimeError" in everything


# --- units of this turn


async def test_fact_4_staged_units_are_told_to_knowledge_plugins_at_once() -> None:
    listener = Knowledge("kb-mine", ENOUGH)
    talk = Talk(plugins=[listener], extractor=ScriptedExtractor().knows(PORT))

    told = await talk.say("The port is 80.")

    (event,) = listener.events
    assert (event.type, event.session_id, event.run_id) == (KnowledgeEventType.UNITS_STAGED, "sess_1", "run_1")
    assert event.units == tuple(told.turn.staged_units)


async def test_a_knowledge_plugin_that_does_not_listen_is_a_warning() -> None:
    talk = Talk(plugins=[Knowledge("kb-deaf", TOO_LITTLE, deaf=True)], extractor=ScriptedExtractor().knows(PORT))

    told = await talk.say("The port is 80.")

    assert told.notes.warnings == {"knowledge_plugin_not_told": {"plugins": ["kb-deaf"]}}


async def test_a_knowledge_plugin_that_never_stops_listening_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(Knowledge):
        async def heard(self, event: KnowledgeEvent) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr("turnkeeper.agents.symbolic.agent.HEARING_SECONDS", 0.01)
    talk = Talk(plugins=[Endless("kb-endless", TOO_LITTLE)], extractor=ScriptedExtractor().knows(PORT))

    told = await talk.say("The port is 80.")

    assert told.notes.warnings == {"knowledge_plugin_not_told": {"plugins": ["kb-endless"]}}


async def test_what_is_committed_is_told_to_every_knowledge_plugin() -> None:
    listener = Knowledge("kb-mine", ENOUGH)
    event = KnowledgeEvent(
        type=KnowledgeEventType.UNITS_COMMITTED, tenant=TenantId("t"), session_id=SessionId("s"), units=(PORT,)
    )

    deaf = await Talk(plugins=[listener, Knowledge("kb-deaf", ENOUGH, deaf=True)]).agent().heard(event)

    assert (listener.events, deaf) == ([event], ["kb-deaf"])


async def test_guidance_for_judging_reaches_the_validator_and_nobody_else() -> None:
    seen: list[list[str]] = []

    class Reading(Judge):
        async def judge(self, task: Task, solution: Solution, call: PluginCall) -> Judgement:
            seen.append([each.content for each in task.guidance])
            return ACCEPTED

    solver = Solver("gs-mine", answer("So."))
    rule = guidance("Reject what is rude.", scope=PhaseScope.VALIDATE)
    talk = Talk(plugins=[solver, Reading("val-reading", ACCEPTED)], only=True, known=[rule])

    await talk.say("What is the port?")

    assert seen == [["Reject what is rude."]]
    assert [list(task.guidance) for task in solver.tasks] == [[]]


async def test_fact_19_units_of_the_turn_are_filtered_for_each_question() -> None:
    cat = unit("The cat sleeps.", "cat")
    knowledge = Knowledge("kb-mine", ENOUGH)
    talk = Talk(plugins=[knowledge], only=True, extractor=ScriptedExtractor().knows(PORT, cat))

    await talk.say("The port is 80. The cat sleeps. What is the port? Where is the cat?")

    assert [(seed.text, [each.content for each in staged]) for seed, staged in knowledge.seen] == [
        ("What is the port?", ["The port is 80."]),
        ("Where is the cat?", ["The cat sleeps."]),
    ]


async def test_fact_19_guidance_is_no_evidence_and_what_does_not_concern_the_plan_is_not_attached() -> None:
    planner = ScriptedPlanner("planner-mine", Plan(knowledge=("kb-fast",), solvers=("gs-mine",)))
    solver = Solver("gs-mine", answer("So."))
    talk = Talk(
        plugins=[planner, solver],
        known=[
            PORT,
            guidance("Answer in JSON."),
            guidance("Plan questions about a port with care.", scope=PhaseScope.PLAN),
            guidance("Plan questions about cats with care.", scope=PhaseScope.PLAN),
        ],
    )

    await talk.say("What is the port?", pinned(PluginKind.PLANNER, "planner-mine"))

    (task,) = solver.tasks
    assert [found.unit.content for found in task.evidence] == ["The port is 80."]
    assert [each.content for each in task.guidance] == ["Answer in JSON."]
    assert [each.content for each in planner.requests[0].guidance] == ["Plan questions about a port with care."]


# --- planning


async def test_fact_20_the_planner_is_asked_after_the_seeds_and_after_the_knowledge() -> None:
    planner = ScriptedPlanner("planner-mine", Plan(knowledge=("kb-fast",), solvers=("gs-symbolic",)))
    talk = Talk(plugins=[planner], known=[PORT])

    await talk.say("What is the port?", pinned(PluginKind.PLANNER, "planner-mine"))

    assert [request.phase for request in planner.requests] == [PlanPhase.POST_SEED, PlanPhase.POST_KNOWLEDGE]
    assert [len(request.retrievals) for request in planner.requests] == [0, 1]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What is the port?", "gs-light"),
        ("Give a thorough analysis of the port?", "gs-heavy"),
        ("What is the tariff for copper?", "gs-tariffs"),
    ],
)
async def test_fact_20_depth_words_and_descriptions_decide_who_is_asked_first(question: str, first: str) -> None:
    talk = Talk(
        plugins=[
            Solver("gs-light", answer("Light."), hints=PlannerHints(depth=Depth.SHALLOW)),
            Solver("gs-tariffs", answer("Tariff."), description="Knows every tariff for copper and tin."),
            Solver("gs-heavy", answer("Heavy."), hints=PlannerHints(depth=Depth.DEEP), cost=CostClass.EXPENSIVE),
        ],
        only=True,
    )

    told = await talk.say(question)

    assert told.notes.plugins[PluginKind.GOAL_SOLVER] == first


async def test_fact_21_the_second_planner_is_used_when_the_first_is_exhausted() -> None:
    talk = Talk(
        plugins=[
            ScriptedPlanner("planner-lost", Plan(knowledge=("kb-broken",))),
            ScriptedPlanner("planner-found", Plan(knowledge=("kb-fast",), solvers=("gs-symbolic",))),
            Knowledge("kb-broken", broken()),
        ],
        known=[PORT],
        preferred=pinned(PluginKind.PLANNER, "planner-lost"),
    )

    told = await talk.say("What is the port?")

    assert told.text == "The port is 80 [1]."
    assert told.notes.plugins[PluginKind.PLANNER] == "planner-found"
    assert [plugin for plugin, _ in told.executions()][:3] == ["sd-symbolic", "planner-lost", "kb-broken"]
    assert ("planner-1", "planner-2") in told.edges(EdgeType.RETRY)
    led_by = [node.metadata["planner"] for node in told.nodes(NodeType.PLUGIN)]
    assert led_by == [None, "planner-lost", "planner-found", "planner-found"]


async def test_fact_21_the_second_planner_is_used_after_no_context_from_too_little() -> None:
    talk = Talk(
        plugins=[
            ScriptedPlanner("planner-poor", Plan(knowledge=("kb-poor",), solvers=("gs-lost",))),
            Knowledge("kb-poor", TOO_LITTLE),
            Solver("gs-lost", no_idea()),
        ],
        known=[PORT],
        preferred=pinned(PluginKind.PLANNER, "planner-poor"),
    )

    told = await talk.say("What is the port?")

    assert told.text == "The port is 80 [1]."
    assert told.notes.plugins[PluginKind.PLANNER] == "planner-default"


async def test_fact_21_when_all_end_weak_the_weak_answer_is_given() -> None:
    talk = Talk(
        plugins=[
            ScriptedPlanner("planner-a", Plan(knowledge=("kb-poor",), solvers=("gs-lost",))),
            ScriptedPlanner("planner-b", broken()),
            Knowledge("kb-poor", TOO_LITTLE),
            Solver("gs-lost", no_idea("No idea at all.")),
        ],
        only=True,
    )

    told = await talk.say("What is the port?")

    assert (told.text, told.notes.status) == ("No idea at all.", "no-context")
    assert told.notes.plugins[PluginKind.PLANNER] == "planner-a"


async def test_fact_21_the_next_solver_is_tried_after_no_context() -> None:
    talk = Talk(plugins=[Solver("gs-lost", no_idea()), Solver("gs-found", answer("It is 80."))], only=True)

    told = await talk.say("What is the port?")

    assert told.text == "It is 80."
    assert told.executions()[-2:] == [("gs-lost", "no-context"), ("gs-found", "success")]


async def test_a_planner_that_is_pinned_has_no_stand_in() -> None:
    talk = Talk(plugins=[ScriptedPlanner("planner-broken", broken())])

    with pytest.raises(PluginStageExhausted, match="mrp-plan-plugin"):
        await talk.say("What is the port?", pinned(PluginKind.PLANNER, "planner-broken"))


# --- budget


async def test_fact_22_a_plugin_that_needs_more_calls_than_are_left_is_never_called() -> None:
    greedy = Solver("gs-greedy", answer("Expensive."), uses_model=True, most_model_calls=3)
    talk = Talk(plugins=[greedy, Solver("gs-modest", answer("Cheap."))], only=True, limits=BudgetLimits(model_calls=2))

    told = await talk.say("What is the port?")

    assert (told.text, greedy.tasks) == ("Cheap.", [])
    assert ("gs-greedy", "skipped-budget") in told.executions()
    assert (told.budget.model_calls, told.budget.reserved) == (0, 0)


async def test_a_run_in_which_only_the_budget_was_missing_says_so() -> None:
    greedy = Solver("gs-greedy", answer("Expensive."), uses_model=True, most_model_calls=3)
    talk = Talk(plugins=[greedy], only=True, limits=BudgetLimits(model_calls=2))

    with pytest.raises(BudgetExceeded) as refused:
        await talk.say("What is the port?")

    assert (refused.value.code, refused.value.http_status) == ("budget_exceeded", 429)
    assert talk.last is not None
    assert ("gs-greedy", "skipped-budget") in talk.last.executions()


async def test_fact_22_child_frames_share_the_budget_of_the_run() -> None:
    solver = Solver("gs-model", answer("So."), model_calls=2, uses_model=True, most_model_calls=2)
    talk = Talk(plugins=[solver], only=True, limits=BudgetLimits(model_calls=5))

    told = await talk.say("What is A? What is B? What is C?")

    assert told.budget.model_calls == 4
    assert [group["status"] for group in told.document["groups"]].count("plugin-error") == 1
    assert told.notes.warnings["question_failed"] == {"seeds": ["seed-3"]}


async def test_a_plugin_that_calls_more_often_than_it_declared_fails() -> None:
    solver = Solver("gs-model", answer("So."), model_calls=2, uses_model=True, most_model_calls=1)
    talk = Talk(plugins=[solver, Solver("gs-plain", answer("Plain."))], only=True)

    told = await talk.say("What is the port?")

    assert told.text == "Plain."
    assert told.budget.model_calls == 1


async def test_a_plugin_that_hangs_leaves_time_for_the_next_one() -> None:
    class Hanging(Solver):
        async def solve(self, task: Task, call: PluginCall) -> Solution:
            await asyncio.Event().wait()
            raise AssertionError

    talk = Talk(
        plugins=[Hanging("gs-hanging", answer("")), Solver("gs-quick", answer("Quick."))], only=True, seconds=0.6
    )

    told = await talk.say("What is the port?")

    assert told.text == "Quick."
    (hanging,) = [node for node in told.nodes(NodeType.PLUGIN) if node.label == "gs-hanging"]
    assert (hanging.status, hanging.error) == ("error", "timed_out")


async def test_a_cancelled_turn_leaves_no_reservation_and_an_unfinished_node() -> None:
    begun = asyncio.Event()

    class Hanging(Solver):
        async def solve(self, task: Task, call: PluginCall) -> Solution:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

    talk = Talk(plugins=[Hanging("gs-hanging", answer(""), uses_model=True, most_model_calls=2)], only=True)
    task = asyncio.create_task(talk.say("What is the port?"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert talk.last is not None
    assert talk.last.budget.reserved == 0
    assert ("gs-hanging", "unfinished") in talk.last.executions()


# --- frames


async def test_fact_24_independent_questions_run_in_child_frames_and_keep_their_order() -> None:
    class Slow(Solver):
        async def solve(self, task: Task, call: PluginCall) -> Solution:
            # The first question is answered last.
            for _ in range(10 if "A" in task.seed.text else 0):
                await asyncio.sleep(0)
            return answer(f"Answer to {task.seed.text}")

    talk = Talk(plugins=[Slow("gs-slow", answer(""))], only=True, extractor=ScriptedExtractor().knows(PORT))

    told = await talk.say("The port is 80. What is A? What is B?")

    assert told.text == "Answer to What is A?\n\nAnswer to What is B?"
    frames = told.nodes(NodeType.FRAME)
    assert [(frame.metadata["purpose"], frame.status) for frame in frames] == [
        ("chat-turn", "succeeded"),
        ("parallel-question", "succeeded"),
        ("parallel-question", "succeeded"),
    ]
    assert frames[0].metadata["closure"] == "parallel_question_aggregation"
    assert told.document["closure"] == "parallel_question_aggregation"


async def test_fact_24_units_of_the_turn_are_visible_in_child_frames() -> None:
    solver = Solver("gs-mine", answer("So."))
    talk = Talk(plugins=[solver], only=True, extractor=ScriptedExtractor().knows(PORT))

    await talk.say("The port is 80. What is A? What is B?")

    assert [[each.content for each in task.staged] for task in solver.tasks] == [["The port is 80."]] * 2


async def test_at_most_four_child_frames_run_at_once() -> None:
    running = most = 0

    class Counting(Solver):
        async def solve(self, task: Task, call: PluginCall) -> Solution:
            nonlocal running, most
            running += 1
            most = max(most, running)
            for _ in range(5):
                await asyncio.sleep(0)
            running -= 1
            return answer(task.seed.text)

    talk = Talk(plugins=[Counting("gs-counting", answer(""))], only=True)

    told = await talk.say("A? B? C? D? E? F? G?")

    assert most == 4
    assert [group["question"] for group in told.document["groups"]] == ["A?", "B?", "C?", "D?", "E?", "F?", "G?"]


async def test_a_question_that_needs_taking_apart_is_answered_in_child_frames() -> None:
    class Splitting(Solver):
        async def solve(self, task: Task, call: PluginCall) -> Solution:
            if call.depth == 0:
                return Solution(status=SolveStatus.NEEDS_DECOMPOSITION, questions=("First?", "Second?"))
            return answer(f"{task.seed.text[:-1]}.")

    told = await Talk(plugins=[Splitting("gs-splitting", answer(""))], only=True).say("Both?")

    assert told.text == "First.\n\nSecond."
    assert ("gs-splitting", "needs-decomposition") in told.executions()


async def test_a_question_may_be_taken_apart_only_so_deep() -> None:
    splitting = Solver("gs-splitting", Solution(status=SolveStatus.NEEDS_DECOMPOSITION, questions=("And this?",)))
    talk = Talk(plugins=[splitting], only=True)

    with pytest.raises(FrameDepthExceeded) as refused:
        await talk.say("What is this?")

    assert (refused.value.code, refused.value.http_status) == ("frame_depth_exceeded", 422)
    assert talk.last is not None
    assert [frame.metadata["depth"] for frame in talk.last.nodes(NodeType.FRAME)] == [0, 1, 2, 3]


async def test_fault_6_the_frame_keeps_what_it_was_given_and_what_came_of_it() -> None:
    talk = Talk(extractor=ScriptedExtractor().knows(PORT))

    told = await talk.say("The port is 80. What is the port?")

    (frame,) = told.nodes(NodeType.FRAME)
    assert frame.input == "The port is 80. What is the port?"
    assert frame.metadata["seeds"] == ["What is the port?"]
    assert frame.metadata["units"] == ["staged::unit-001"]
    (knowledge,) = [node for node in told.nodes(NodeType.PLUGIN) if node.label == "kb-fast"]
    assert knowledge.input == '{"seed":"What is the port?","staged":["staged::unit-001"]}'
    assert knowledge.output == '["staged::unit-001"]'


# --- levels and judging


def two_views() -> list[Any]:
    return [
        Solver(
            "gs-a", Solution(status=SolveStatus.SUCCESS, statements=answer("It is 80.").statements, sources=(FOUND,))
        ),
        Solver("gs-b", answer("It is 81.")),
    ]


async def test_fact_23_level_2_weighs_two_candidates_against_each_other() -> None:
    told = await Talk(plugins=two_views(), only=True).say("What is the port?", Preferences(level=2))

    assert told.text == "It is 80."
    assert [(node.status, node.metadata["selected"]) for node in told.nodes(NodeType.CANDIDATE)] == [
        ("accepted", True),
        ("candidate", False),
    ]
    assert [node.status for node in told.nodes(NodeType.COMPARISON)] == ["resolved"]
    assert [node.label for node in told.nodes(NodeType.CHALLENGE)] == ["gs-b says something else"]


async def test_fact_23_what_a_validator_rejects_gives_way_to_the_next_candidate() -> None:
    talk = Talk(plugins=[*two_views(), Judge("val-strict", REJECTED, ACCEPTED)], only=True)

    told = await talk.say("What is the port?", Preferences(level=2))

    assert told.text == "It is 81."
    assert [node.status for node in told.nodes(NodeType.CANDIDATE)] == ["rejected", "accepted"]
    assert len(told.edges(EdgeType.NEEDS)) == 2


async def test_level_0_takes_the_first_valid_answer() -> None:
    solvers = two_views()

    told = await Talk(plugins=solvers, only=True).say("What is the port?")

    assert (told.text, solvers[1].tasks) == ("It is 80.", [])
    assert told.nodes(NodeType.COMPARISON) == []


async def test_level_3_warns_when_an_answer_rests_on_too_little() -> None:
    told = await Talk(plugins=[Solver("gs-a", answer("It is 80."))], only=True).say("Port?", Preferences(level=3))

    assert told.notes.warnings == {
        "answer_below_floor": {"strength": "weak", "floor": "strong"},
        "too_few_kinds_of_answers": {"found": 1, "wanted": 2},
    }


async def test_an_answer_that_every_validator_turns_down_is_not_given() -> None:
    talk = Talk(plugins=[Judge("val-strict", REJECTED)], known=[PORT])

    with pytest.raises(AnswerRejected, match="it is not polite"):
        await talk.say("What is the port?")


async def test_fault_26_a_validator_that_fails_is_not_an_acceptance() -> None:
    talk = Talk(plugins=[Judge("val-broken", broken(), uses_model=True, most_model_calls=1)], known=[PORT])

    with pytest.raises(PluginStageExhausted, match=r"val-plugin.*val-broken"):
        await talk.say("What is the port?")

    assert talk.last is not None
    assert [node.status for node in talk.last.nodes(NodeType.CANDIDATE)] == ["not-judged"]


async def test_fault_26_a_validator_is_charged_for_the_calls_it_made_and_no_others() -> None:
    talk = Talk(plugins=[Judge("val-free", ACCEPTED, uses_model=True, most_model_calls=1)], known=[PORT])

    told = await talk.say("What is the port?")

    assert told.budget.model_calls == 0


async def test_fault_26_the_next_validator_is_asked_when_one_fails() -> None:
    talk = Talk(plugins=[Judge("val-broken", broken()), Judge("val-sound", ACCEPTED)], known=[PORT])

    told = await talk.say("What is the port?")

    assert told.text == "The port is 80 [1]."
    assert told.executions()[-2:] == [("val-broken", "error"), ("val-sound", "accepted")]


# --- the graph


async def test_the_graph_joins_everything_that_happened_and_nothing_dangles() -> None:
    talk = Talk(plugins=[Solver("gs-broken", broken())], known=[PORT])

    told = await talk.say("What is the port?", Preferences(level=1))

    graph = told.graph
    assert graph.root_frame_id == "frame-0"
    assert {node.type for node in graph.nodes} == {
        NodeType.FRAME,
        NodeType.SEED,
        NodeType.POLICY,
        NodeType.PLANNER,
        NodeType.PLUGIN,
        NodeType.BRANCH,
        NodeType.RESULT,
        NodeType.FAILURE,
        NodeType.CANDIDATE,
    }
    assert len(told.edges(EdgeType.FAILED_AS)) == len(told.edges(EdgeType.PRODUCED)) == 1
    assert len(told.edges(EdgeType.USES)) == len(told.edges(EdgeType.DERIVED_FROM)) == 1
    assert len(told.edges(EdgeType.RETRY)) == 1
    inside = {target for source, target in told.edges(EdgeType.CONTAINS) if source == "frame-0"}
    assert inside == {node.id for node in graph.nodes} - {"frame-0"}


async def test_executions_are_joined_in_the_order_in_which_they_began() -> None:
    told = await Talk(known=[PORT]).say("What is the port? What is the port?")

    order = [node.id for node in told.graph.nodes if node.type in (NodeType.PLUGIN, NodeType.PLANNER)]
    followed = {target for _, target in told.edges(EdgeType.FLOW)}
    assert followed == set(order[1:])
    in_children = [node for node in told.nodes(NodeType.PLUGIN) if node.frame_id != "frame-0"]
    assert {node.label for node in in_children} == {"kb-fast", "gs-symbolic"}


async def test_every_execution_tells_its_kind_its_name_and_its_time() -> None:
    told = await Talk(known=[PORT]).say("What is the port?")

    solved = told.nodes(NodeType.PLUGIN)[-1]
    assert solved.metadata["plugin_kind"] == PluginKind.GOAL_SOLVER
    assert solved.metadata["plugin_name"] == "Symbolic goal solver"
    assert solved.took_us >= 0
    assert solved.output == "The port is 80."


async def test_fault_3_two_sessions_with_the_same_unit_id_do_not_mix() -> None:
    first = Talk(known=[unit("The port is 80.", "port", id="session::1::unit-001")], session="sess_1")
    second = Talk(known=[unit("The port is 443.", "port", id="session::1::unit-001")], session="sess_2")

    answers = [(await talk.say("What is the port?")).text for talk in (first, second, first)]

    assert answers == ["The port is 80 [1].", "The port is 443 [1].", "The port is 80 [1]."]


async def test_fault_20_no_plugin_is_handed_more_than_a_frozen_context() -> None:
    seen: list[PluginCall] = []

    class Curious(Solver):
        async def solve(self, task: Task, call: PluginCall) -> Solution:
            seen.append(call)
            return answer("So.")

    await Talk(plugins=[Curious("gs-curious", answer(""))], only=True).say("Port?")

    with pytest.raises(AttributeError):
        seen[0].context.history = ()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        seen[0].level = 3  # type: ignore[misc]


async def test_plugins_of_a_kind_that_nobody_asks_for_are_kept() -> None:
    class Odd:
        def __init__(self) -> None:
            self.descriptor = descriptor("odd-one", "odd-plugin")

    talk = Talk(plugins=[Odd()], kinds=["odd-plugin"])

    assert (await talk.agent().plugins()).ids("odd-plugin") == ("odd-one",)
    assert (await talk.say("Hello!")).text.startswith("Hello")


async def test_a_seed_knows_what_its_pronoun_stands_for() -> None:
    knowledge = Knowledge("kb-mine", ENOUGH)
    talk = Talk(plugins=[knowledge], only=True)

    await talk.say("What is Orion? Who runs it?")

    assert [seed.refers_to for seed, _ in knowledge.seen] == [None, "orion"]


def test_a_solution_cannot_rest_on_what_it_does_not_have() -> None:
    with pytest.raises(ValueError, match="rests on sources"):
        Solution(
            status=SolveStatus.SUCCESS,
            statements=(Statement(text="So.", rests_on=(0,)),),
        )
    with pytest.raises(ValueError, match="says something"):
        Solution(status=SolveStatus.SUCCESS)
    with pytest.raises(ValueError, match="names questions"):
        Solution(status=SolveStatus.NEEDS_DECOMPOSITION)


# --- plugins that misbehave


@pytest.mark.parametrize("raised", [asyncio.CancelledError(), SystemExit(1), KeyboardInterrupt()])
@pytest.mark.parametrize("asked", ["What is the port?", "What is the port? What is the colour?"])
async def test_whatever_a_plugin_raises_the_next_one_is_tried(raised: BaseException, asked: str) -> None:
    talk = Talk(plugins=[Solver("gs-broken", raised), Solver("gs-sound", answer("So."))], only=True)

    told = await talk.say(asked)

    assert told.text.startswith("So.")
    assert ("gs-broken", "error") in told.executions()


@pytest.mark.parametrize("raised", [asyncio.CancelledError(), SystemExit(1), KeyboardInterrupt()])
async def test_whatever_a_listener_raises_the_turn_goes_on(raised: BaseException) -> None:
    class Leaving(Knowledge):
        async def heard(self, event: KnowledgeEvent) -> None:
            raise raised

    talk = Talk(plugins=[Leaving("kb-leaving", TOO_LITTLE)], extractor=ScriptedExtractor().knows(PORT))

    told = await talk.say("The port is 80.")

    assert told.notes.warnings == {"knowledge_plugin_not_told": {"plugins": ["kb-leaving"]}}


async def test_all_who_do_not_listen_are_left_after_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    listening = 0

    class Endless(Knowledge):
        async def heard(self, event: KnowledgeEvent) -> None:
            nonlocal listening
            listening += 1
            if listening == 3:
                everybody.set()
            await everybody.wait()

    everybody = asyncio.Event()
    monkeypatch.setattr("turnkeeper.agents.symbolic.agent.HEARING_SECONDS", 5.0)
    plugins = [Endless(f"kb-{number}", TOO_LITTLE) for number in range(3)]

    told = await Talk(plugins=[*plugins], extractor=ScriptedExtractor().knows(PORT)).say("The port is 80.")

    # Each waits for the others, so nobody ends unless they are told at once.
    assert told.notes.warnings == {}


class Raw:
    """A plugin of any kind that gives back what its types forbid."""

    def __init__(self, id: str, kind: PluginKind, make: Callable[[], object]) -> None:
        self.descriptor = descriptor(id, kind)
        self._make = make

    async def _give(self, *given: object) -> Any:
        return self._make()

    plan = detect = retrieve = solve = judge = _give

    async def heard(self, event: KnowledgeEvent) -> None: ...


@pytest.mark.parametrize(
    ("kind", "nonsense"),
    [
        (PluginKind.PLANNER, lambda: Plan(knowledge=5)),  # type: ignore[arg-type]
        (PluginKind.PLANNER, lambda: Plan(solvers="gs-symbolic")),  # type: ignore[arg-type]
        (PluginKind.PLANNER, lambda: None),
        (PluginKind.SEED_DETECTOR, lambda: Detection(asked=(None,))),  # type: ignore[arg-type]
        (PluginKind.SEED_DETECTOR, lambda: Detection(asked="What?")),  # type: ignore[arg-type]
        (PluginKind.SEED_DETECTOR, lambda: Detection(asked=("What\x00?",))),
        (PluginKind.SEED_DETECTOR, lambda: Detection(units=("The port is 80.",))),  # type: ignore[arg-type]
        (PluginKind.SEED_DETECTOR, lambda: Detection(units=(replace(PORT, claim="\x00"),))),
        (PluginKind.SEED_DETECTOR, lambda: Detection(status="perhaps")),  # type: ignore[arg-type]
        (PluginKind.KNOWLEDGE, lambda: Retrieval(status="perhaps")),  # type: ignore[arg-type]
        (PluginKind.KNOWLEDGE, lambda: Retrieval(status=RetrievalStatus.SUCCESS, evidence=(PORT,))),  # type: ignore[arg-type]
        (PluginKind.GOAL_SOLVER, lambda: Solution(status="perhaps", statements=(Statement(text="So."),))),  # type: ignore[arg-type]
        (PluginKind.GOAL_SOLVER, lambda: answer(None)),  # type: ignore[arg-type]
        (PluginKind.GOAL_SOLVER, lambda: answer("\ud800")),
        (PluginKind.GOAL_SOLVER, lambda: "So."),
        (PluginKind.VALIDATOR, lambda: Judgement(accepted="no")),  # type: ignore[arg-type]
        (PluginKind.VALIDATOR, lambda: True),
    ],
)
async def test_nonsense_is_a_failure_of_the_plugin_that_gives_it(
    kind: PluginKind, nonsense: Callable[[], object]
) -> None:
    raw = Raw("a-raw", kind, nonsense)
    talk = Talk(plugins=[raw, Judge("val-sound", ACCEPTED)], known=[PORT], preferred=pinned(kind, "a-raw"))

    told = await talk.say("What is the port?")

    assert told.text == "The port is 80 [1]."
    assert ("a-raw", "error") in told.executions()


@pytest.mark.parametrize("status", ["success", "no-context"])
def test_a_status_may_be_given_as_a_plain_word(status: str) -> None:
    solution = Solution(status=status, statements=[Statement(text="So.")])  # type: ignore[arg-type]

    assert (solution.status, solution.statements) == (SolveStatus(status), (Statement(text="So."),))
    assert solution.status is SolveStatus(status)


async def test_a_plugin_that_failed_is_logged_with_its_run(caplog: pytest.LogCaptureFixture) -> None:
    await Talk(plugins=[Solver("gs-broken", broken())]).say("What is the port?")

    (record,) = [vars(each) for each in caplog.records if each.message == "plugin failed"]
    assert (record["plugin"], record["run_id"], record["kind"]) == ("gs-broken", "run_1", "RuntimeError")


# --- too much, and too little


async def test_a_question_is_taken_apart_into_so_many_and_the_others_are_named() -> None:
    class Splitting(Solver):
        async def solve(self, task: Task, call: PluginCall) -> Solution:
            if call.depth == 0:
                questions = tuple(f"Part {number}?" for number in range(40))
                return Solution(status=SolveStatus.NEEDS_DECOMPOSITION, questions=questions)
            return answer("So.")

    told = await Talk(plugins=[Splitting("gs-splitting", answer(""))], only=True).say("All?")

    assert len(told.document["groups"]) == 16
    assert told.notes.warnings == {"questions_left_out": {"asked": 40, "answered": 16}}
    assert "the first 16 of your 40 questions" in told.text


async def test_a_compound_question_has_so_many_parts_and_no_more() -> None:
    told = await Talk().say(" and ".join(f"who is person{number}" for number in range(20)) + "?")

    assert len(told.document["groups"]) == 16
    assert told.notes.warnings == {"questions_left_out": {"asked": 20, "answered": 16}}


async def test_of_a_huge_answer_the_explanation_keeps_the_first_groups_and_counts_the_others() -> None:
    talk = Talk(plugins=[Solver("gs-long", answer("So. " * 5_000))], only=True)

    told = await talk.say("A? B? C? D? E?")

    assert [group["question"] for group in told.document["groups"]] == ["A?", "B?", "C?"]
    assert told.document["groups_left_out"] == 2
    assert len(msgspec.json.encode(told.document)) <= 65_536


async def test_a_missing_answer_says_that_no_model_calls_were_left() -> None:
    greedy = Solver("gs-greedy", answer("Expensive."), uses_model=True, most_model_calls=3)
    talk = Talk(plugins=[greedy], limits=BudgetLimits(model_calls=2))

    told = await talk.say("What is the port?")

    assert told.notes.warnings == {"budget_exhausted": {"plugins": ["gs-greedy"]}}
    assert "No model was asked" in told.text
    assert told.notes.status == "no-context"


async def test_two_questions_with_one_answer_have_it_each() -> None:
    told = await Talk(plugins=[Solver("gs-lost", no_idea())], only=True).say("What is A? What is B?")

    assert told.text == "No idea.\n\nNo idea."


async def test_of_answers_that_do_not_know_one_with_sources_is_given() -> None:
    related = Solution(
        status=SolveStatus.NO_CONTEXT, statements=(Statement(text="Perhaps.", rests_on=(0,)),), sources=(FOUND,)
    )
    talk = Talk(plugins=[Solver("gs-lost", no_idea()), Solver("gs-near", related)], only=True)

    assert (await talk.say("What is the colour?")).text == "Perhaps [1]."


async def test_of_answers_that_do_not_know_without_sources_our_own_is_given() -> None:
    talk = Talk(plugins=[Solver("gs-lost", no_idea("Ask the moon."))])

    told = await talk.say("What is the colour?")

    assert "Ask the moon." not in told.text
    assert told.notes.plugins[PluginKind.GOAL_SOLVER] == "gs-symbolic"


async def test_frames_side_by_side_are_told_apart_by_their_question() -> None:
    told = await Talk().say("What is A? What is B?")

    assert [frame.label for frame in told.nodes(NodeType.FRAME)] == ["frame 0", "What is A?", "What is B?"]
