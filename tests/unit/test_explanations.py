"""Why a run came out as it did: its graph and its pictures, whatever was recorded and however it ended."""

import dataclasses
import re
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.builders import NODE, a_session, run_saying
from turnkeeper.ledger.mermaid import as_mermaid
from turnkeeper.ledger.notes import RunNotes
from turnkeeper.ledger.pictures import Tone, span, tone_of
from turnkeeper.ledger.trace import Trace
from turnkeeper.ledger.tree import as_tree, tree_lines
from turnkeeper.model.explanation import Detail, Explanation, Stage, Summary
from turnkeeper.model.graph import Edge, EdgeType, Graph, Node, NodeType
from turnkeeper.model.ids import Fence, RunId, SessionId, UnitId
from turnkeeper.model.lease import Lease
from turnkeeper.model.run import RunError, RunStatus
from turnkeeper.model.unit import UnitChanges
from turnkeeper.settings import Settings
from turnkeeper.steps.commit import explain
from turnkeeper.steps.draft import TurnDraft
from turnkeeper.stores import explained, rows

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
STEPS = ("intake", "open_session", "reset", "hold_intent", "materialize", "hand_off", "commit")
SPITEFUL = ['"', "]", "[", "\n", "end", "#quot;", "`", "%%{", "<b>", "\x1b[31m", "|", ";", "subgraph x", "style a:b"]
texts = st.one_of(st.text(max_size=30), st.lists(st.sampled_from(SPITEFUL), max_size=4).map("".join))
ids = st.one_of(st.sampled_from(["frame-0", "step-0", "step-4", "step_-1", "step"]), st.text(max_size=5))
facts = st.dictionaries(st.text(max_size=5), st.one_of(st.text(max_size=5), st.integers(-9, 9)), max_size=2)
micros = st.integers(0, 10**8)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Whatever an agent may record: frames in rings, parts of nothing, edges in every direction."""
    known = draw(st.lists(ids, unique=True, max_size=9))
    nodes = [
        Node(
            id=id,
            type=draw(st.sampled_from(NodeType)),
            label=draw(texts),
            status=draw(st.one_of(st.sampled_from(["success", "failed", "no-context", "unfinished"]), texts)),
            frame_id=draw(st.one_of(st.none(), st.sampled_from(known), ids)),
            began_us=draw(micros),
            took_us=draw(micros),
            input=draw(st.none() | texts),
            output=draw(st.none() | texts),
            error=draw(st.none() | texts),
            metadata=draw(facts),
        )
        for id in known
    ]
    ends = st.sampled_from(known) if known else st.nothing()
    edges = draw(st.lists(st.tuples(st.sampled_from(EdgeType), ends, ends), unique=True, max_size=14)) if known else []
    return Graph(
        root_frame_id=draw(st.none() | ends) if known else None,
        nodes=tuple(nodes),
        edges=tuple(Edge(type=type, source=source, target=target) for type, source, target in edges),
        left_out=draw(st.integers(0, 5)),
    )


stages = st.lists(
    st.builds(Stage, name=st.sampled_from(STEPS) | st.text(max_size=5), began_us=micros, took_us=micros, data=facts),
    max_size=8,
)
errors = st.builds(RunError, code=texts, message=texts, stage=st.none() | st.sampled_from(STEPS))
explanations = st.builds(
    Explanation,
    run_id=st.just(RunId("run_1")),
    session_id=st.just(SessionId("sess_1")),
    status=st.sampled_from(RunStatus),
    at=st.just(NOON),
    turn=st.none() | st.integers(1, 9),
    stages=stages.map(tuple),
    budget=facts,
    error=st.none() | errors,
    warnings=st.lists(texts, max_size=2).map(tuple),
    partial=st.booleans(),
    plugins=st.dictionaries(texts, texts, max_size=2),
    answer_status=st.none() | texts,
    model=st.none() | texts,
    level=st.none() | st.integers(0, 3),
    document=st.none() | facts,
    units=facts,
    notes=st.none() | graphs(),
    details=facts,
)


def an_explanation(status: RunStatus, *steps: str, notes: Graph | None = None) -> Explanation:
    told = tuple(Stage(name=name, began_us=place, took_us=1) for place, name in enumerate(steps))
    return Explanation(
        run_id=RunId("run_1"), session_id=SessionId("sess_1"), status=status, at=NOON, stages=told, notes=notes
    )


# --- the graph


@given(told=explanations)
def test_whatever_was_recorded_the_graph_holds_together(told: Explanation) -> None:
    graph = told.graph  # A Graph cannot have loose ends; making it is the proof.

    staged, recorded = graph.nodes[: len(told.stages)], graph.nodes[len(told.stages) :]
    assert [node.label for node in staged] == [stage.name for stage in told.stages]
    assert recorded == (told.notes.nodes if told.notes else ())
    steps = [node for node in staged if node.type is NodeType.STEP]
    flow = [(one.id, after.id) for one, after in pairwise(steps)]
    assert [(edge.source, edge.target) for edge in graph.edges[: len(flow)]] == flow
    assert {edge.type for edge in graph.edges[: len(flow)]} <= {EdgeType.FLOW}


def test_what_a_step_decided_stands_under_it() -> None:
    decided = ("INTENT_RESOLVE_START", "INTENT_LOCK_SET")
    told = an_explanation(RunStatus.COMPLETED, "reset", *decided, "hold_intent", "commit")

    tree = as_tree(told.graph)

    assert tree.splitlines() == [
        "├─ reset",
        "├─ hold_intent",
        "│  ├─ INTENT_RESOLVE_START",
        "│  └─ INTENT_LOCK_SET",
        "└─ commit",
    ]


@given(told=explanations)
def test_exactly_one_step_of_a_run_without_an_answer_is_not_ok(told: Explanation) -> None:
    statuses = [node.status for node in told.graph.nodes[: len(told.stages)]]

    has_answer = told.status is RunStatus.COMPLETED or not told.stages
    assert len(statuses) - statuses.count("ok") == (0 if has_answer else 1)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (RunStatus.COMPLETED, "ok"),
        (RunStatus.WAITING, "waiting"),
        (RunStatus.RUNNING, "unfinished"),
        (RunStatus.CANCELLED, "stopped"),
        (RunStatus.SUPERSEDED, "stopped"),
        (RunStatus.ABANDONED, "stopped"),
    ],
)
def test_the_last_step_tells_how_the_run_ended(status: RunStatus, told: str) -> None:
    graph = an_explanation(status, "intake", "hand_off").graph

    assert [node.status for node in graph.nodes] == ["ok", told]


def test_the_step_that_the_error_names_has_failed_and_says_why() -> None:
    error = RunError(code="agent_failed", message="The agent failed.", stage="hand_off")
    told = dataclasses.replace(an_explanation(RunStatus.FAILED, "hand_off", "commit"), error=error)

    assert [(node.status, node.error) for node in told.graph.nodes] == [
        ("failed", "agent_failed: The agent failed."),
        ("ok", None),
    ]


def test_what_the_agent_recorded_hangs_under_the_step_in_which_it_ran() -> None:
    notes = RunNotes()
    notes.begin("frame-0", NodeType.FRAME, "frame 0", frame_id="frame-0")
    notes.begin("plugin-1", NodeType.PLUGIN, "kb-fast", frame_id="frame-0")
    notes.edge(EdgeType.CONTAINS, "frame-0", "plugin-1")

    graph = an_explanation(RunStatus.COMPLETED, *STEPS, notes=notes.graph()).graph

    assert graph.root_frame_id == "frame-0"
    assert [(edge.source, edge.target) for edge in graph.edges if edge.type is EdgeType.CONTAINS] == [
        ("step-5", "frame-0"),
        ("frame-0", "plugin-1"),
    ]


loop: list[Any] = []
loop.append(loop)
told_things = st.one_of(
    st.tuples(
        st.just("begin"), ids, st.sampled_from(NodeType), texts, st.sampled_from([None, "x", loop, {1j}, object()])
    ),
    st.tuples(st.just("end"), ids, texts),
    st.tuples(st.just("edge"), st.sampled_from(EdgeType), ids, ids),
)


@given(things=st.lists(told_things, max_size=20))
def test_whatever_an_agent_tells_in_whatever_order_holds_together(things: list[tuple[Any, ...]]) -> None:
    notes = RunNotes()

    for how, *what in things:
        match how, what:
            case "begin", [id, type, label, given]:
                notes.begin(id, type, label, input=given)
            case "end", [id, status]:
                notes.end(id, status, output=loop)
            case "edge", [type, source, target]:
                notes.edge(type, source, target)

    graph = notes.graph()
    begun = {what[0] for how, *what in things if how == "begin"}
    assert {node.id for node in (graph.nodes if graph else ())} == begun


def test_an_agent_may_name_its_parts_like_our_steps() -> None:
    notes = RunNotes()
    notes.begin("step-0", NodeType.PLUGIN, "its own")

    graph = an_explanation(RunStatus.COMPLETED, "hand_off", notes=notes.graph()).graph

    assert [node.id for node in graph.nodes] == ["step_-0", "step-0"]


# --- how much is told


@given(told=explanations)
def test_a_summary_says_of_each_field_what_the_explanation_says(told: Explanation) -> None:
    for field in dataclasses.fields(Summary):
        assert getattr(told.summary, field.name) == getattr(told, field.name)


@given(told=explanations)
def test_an_explanation_is_read_as_it_was_written(told: Explanation) -> None:
    text = explained.written(told)

    assert rows.explanation_of(text) == told
    assert msgspec.json.decode(text.encode(), type=Summary) == told.summary


@given(told=explanations)
def test_what_was_written_before_fields_were_left_out_is_still_read(told: Explanation) -> None:
    assert rows.explanation_of(msgspec.json.encode(told).decode()) == told


def test_what_a_trivial_turn_does_not_say_takes_no_room() -> None:
    text = explained.written(an_explanation(RunStatus.COMPLETED, *STEPS))

    assert msgspec.json.decode(text).keys() == {"run_id", "session_id", "status", "at", "stages"}
    assert msgspec.json.decode(text)["stages"][0].keys() == {"name", "began_us", "took_us"}


@pytest.mark.parametrize(
    ("metadata", "kept"),
    [
        ({"seen": {1j}}, {"seen": ["1j"]}),
        ({"kind": Stage}, {"kind": str(Stage)}),
        ({(1, 2): 3}, {"(1, 2)": 3}),
        ({"a": "\ud800"}, None),
    ],
)
def test_what_no_json_can_hold_does_not_keep_a_run_from_its_end(
    metadata: dict[Any, Any], kept: dict[str, Any] | None
) -> None:
    notes = RunNotes()
    notes.begin("plugin-1", NodeType.PLUGIN, "kb-odd", metadata=metadata)
    told = an_explanation(RunStatus.COMPLETED, *STEPS, notes=notes.graph())

    read = rows.explanation_of(explained.written(told))

    assert read.stages == told.stages
    assert (read.notes.nodes[0].metadata if read.notes else None) == kept
    assert read.warnings == (() if kept else (explained.NOT_WRITABLE,))


@pytest.mark.parametrize("kind", ["_Explanation", "_Graph", "_Node", "_Stage"])
def test_every_field_has_its_place_in_what_is_written(kind: str) -> None:
    of_the_model = {"_Explanation": Explanation, "_Graph": Graph, "_Node": Node, "_Stage": Stage}[kind]

    assert getattr(explained, kind).__struct_fields__ == tuple(each.name for each in dataclasses.fields(of_the_model))


def test_without_details_notes_keep_what_happened_and_not_what_was_said() -> None:
    notes = RunNotes(keeps_details=False)
    notes.begin("plugin-1", NodeType.PLUGIN, "kb-fast", input="secret", metadata={"plugin": "kb-fast"})
    notes.end("plugin-1", "success", output="secret")
    notes.answered("answered", document={"answer": "secret"}, level=1)

    graph = notes.graph()

    assert graph is not None
    assert (graph.nodes[0].status, graph.nodes[0].metadata) == ("success", {"plugin": "kb-fast"})
    assert (notes.status, notes.level, notes.document) == ("answered", 1, None)
    assert "secret" not in repr(graph)


def test_how_much_is_kept_is_full_or_summary() -> None:
    assert Settings().explanation_detail == Detail.FULL
    with pytest.raises(ValueError, match="explanation_detail is full or summary"):
        Settings(explanation_detail="most")


# --- pictures


@given(graph=graphs(), full=st.booleans())
def test_every_node_stands_once_in_the_tree_on_a_line_of_its_own(graph: Graph, full: bool) -> None:
    lines = list(tree_lines(graph, full=full))

    assert sorted(line.node.id for line in lines if line.said is None) == sorted(node.id for node in graph.nodes)
    assert len(as_tree(graph, full=full).splitlines()) == len(lines)
    assert all(line.text.isprintable() for line in lines)


@given(told=explanations)
def test_the_steps_stand_in_their_order_in_the_tree(told: Explanation) -> None:
    places = [line.node.label for line in tree_lines(told.graph) if line.said is None and line.node.type == "step"]
    recorded = [node.label for node in (told.notes.nodes if told.notes else ()) if node.type is NodeType.STEP]

    steps = [stage.name for stage in told.stages if not stage.is_decision]

    assert sorted(places) == sorted(steps + recorded)
    assert recorded or places == steps


def test_a_tree_shows_what_belongs_to_what_and_how_long_it_took() -> None:
    notes = Graph(
        root_frame_id="frame-0",
        nodes=(
            Node(
                id="frame-0",
                type=NodeType.FRAME,
                label="frame 0",
                status="failed",
                frame_id="frame-0",
                took_us=1_250_000,
                metadata={"purpose": "chat-turn"},
            ),
            Node(id="b", type=NodeType.BRANCH, label="gs-rule", status="failed", frame_id="frame-0", took_us=90),
            Node(
                id="p",
                type=NodeType.PLUGIN,
                label="gs-rule",
                status="error",
                frame_id="frame-0",
                took_us=12_340,
                input="Where?",
                error="TimeoutError",
            ),
        ),
        edges=(
            Edge(type=EdgeType.CONTAINS, source="frame-0", target="b"),
            Edge(type=EdgeType.CONTAINS, source="frame-0", target="p"),
            Edge(type=EdgeType.USES, source="b", target="p"),
        ),
    )
    graph = an_explanation(RunStatus.COMPLETED, "hand_off", "commit", notes=notes).graph

    assert as_tree(graph, full=True).splitlines() == [
        "├─ hand_off",
        "│  └─ frame 0, chat-turn  failed  1.2 s",
        "│     └─ branch gs-rule  failed  0.1 ms",
        "│        └─ plugin gs-rule  error  12.3 ms",
        "│              in: Where?",
        "│              error: TimeoutError",
        "└─ commit",
    ]
    assert "in: Where?" not in as_tree(graph)


LINES = re.compile(
    r"""  (subgraph |  )?n\d+\["[^"\[\]]*"\]|  end"""
    r"|  n\d+ (-->|-\.->|==>)(\|[a-z ]+\|)? n\d+"
    r"|  classDef [a-z]+ fill:#\w{6},stroke:#\w{6},color:#\w{6}"
    r"|  class n\d+(,n\d+)* [a-z]+"
)


@given(graph=graphs())
def test_any_text_leaves_a_mermaid_chart_well_formed(graph: Graph) -> None:
    chart = as_mermaid(graph)

    first, *lines = chart.split("\n")
    assert first == "flowchart TD"
    assert [line for line in lines if not LINES.fullmatch(line)] == []
    declared = re.findall(r'^ +(?:subgraph )?(n\d+)\["', chart, flags=re.MULTILINE)
    assert sorted(declared) == sorted(f"n{place}" for place in range(len(graph.nodes)))
    assert chart.count("\n  end") == sum(node.type is NodeType.FRAME for node in graph.nodes)


@given(graph=graphs())
def test_no_frame_of_a_chart_has_an_arrow_to_its_own_inside(graph: Graph) -> None:
    inside: dict[str, str] = {}
    around = ""
    for line in as_mermaid(graph).splitlines():
        if found := re.match(r"  subgraph (n\d+)", line):
            around = found[1]
        elif found := re.match(r"    (n\d+)\[", line):
            inside[found[1]] = around
        elif found := re.match(r"  (n\d+) \S.*? (n\d+)$", line):
            assert found[1] != found[2]
            assert inside.get(found[2]) != found[1]
            assert inside.get(found[1]) != found[2]


def test_what_mermaid_would_obey_is_told_by_its_code() -> None:
    node = Node(id="x", type=NodeType.SEED, label='"]\nend; #quot; `%%{init}%%` <b>', status="active")

    chart = as_mermaid(Graph(nodes=(node,)))

    assert chart.splitlines()[1] == (
        '  n0["seed #34;#93; end#59; #35;quot#59; #96;#37;#37;#123;init#125;#37;#37;#96; #60;b#62;"]'
    )


@pytest.mark.parametrize(
    ("status", "tone"),
    [
        ("success", Tone.GOOD),
        ("unsupported", Tone.DECLINED),
        ("insufficient", Tone.LACKING),
        ("no-context", Tone.LACKING),
        ("error", Tone.BAD),
        ("failed", Tone.BAD),
        ("skipped-budget", Tone.IDLE),
        ("unfinished", Tone.IDLE),
        ("active", Tone.BUSY),
        ("peculiar", Tone.PLAIN),
    ],
)
def test_a_status_has_a_tone_that_an_eye_finds(status: str, tone: Tone) -> None:
    assert tone_of(status) is tone


@pytest.mark.parametrize(
    ("microseconds", "told"),
    [(0, ""), (49, ""), (50, "0.1 ms"), (1_500, "1.5 ms"), (999_900, "999.9 ms"), (999_950, "1.0 s"), (61e6, "61.0 s")],
)
def test_spans_are_milliseconds_below_a_thousand_and_then_seconds(microseconds: int, told: str) -> None:
    assert span(microseconds) == told


@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.TIMED_OUT])
def test_only_a_run_that_was_kept_says_that_units_were_changed(status: RunStatus) -> None:
    run = run_saying("Forget it", a_session())
    lease = Lease(
        tenant=run.tenant, subject=run.subject, run_id=run.id, holder=NODE, fence=Fence(1), expires_at=run.wait_until
    )
    changes = UnitChanges(forgotten=(UnitId("session::t0001::unit-000"),))
    draft = TurnDraft(run=run, lease=lease, trace=Trace(), unit_changes=changes)

    told = explain(draft, status).units

    assert bool(told) == (status is RunStatus.COMPLETED)
