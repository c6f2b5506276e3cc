"""What travels over HTTP about why a run came out as it did."""

from datetime import datetime
from typing import Any

from pydantic import Field

from turnkeeper.model.explanation import ExplainedRun, Explanation, Summary
from turnkeeper.model.graph import Graph
from turnkeeper.server.wire import Outbound
from turnkeeper.server.wire_runs import RunErrorOut


class StageOut(Outbound):
    """One step of the pipeline; it began so many microseconds after the run did."""

    name: str
    began_us: int
    took_us: int
    data: dict[str, Any]


class NodeOut(Outbound):
    """Something that happened. `input` and `output` are shortened where they are long."""

    id: str
    type: str
    label: str
    status: str
    frame_id: str | None
    began_us: int
    took_us: int
    input: str | None
    output: str | None
    error: str | None
    metadata: dict[str, Any]


class EdgeOut(Outbound):
    """From cause to effect, from whole to part, from earlier to later; both ends are ids of nodes."""

    type: str
    source: str = Field(serialization_alias="from")
    target: str = Field(serialization_alias="to")


class GraphOut(Outbound):
    """Node ids are unique and no edge dangles. `left_out` counts the nodes that were too many to keep."""

    root_frame_id: str | None
    nodes: list[NodeOut]
    edges: list[EdgeOut]
    left_out: int

    @classmethod
    def of(cls, graph: Graph) -> "GraphOut":
        return cls(
            root_frame_id=graph.root_frame_id,
            nodes=[
                NodeOut(
                    id=node.id,
                    type=node.type.value,
                    label=node.label,
                    status=node.status,
                    frame_id=node.frame_id,
                    began_us=node.began_us,
                    took_us=node.took_us,
                    input=node.input,
                    output=node.output,
                    error=node.error,
                    metadata=dict(node.metadata),
                )
                for node in graph.nodes
            ],
            edges=[EdgeOut(type=edge.type.value, source=edge.source, target=edge.target) for edge in graph.edges],
            left_out=graph.left_out,
        )


class SummaryOut(Outbound):
    """How a run came out. `partial` says that it is still open, or that its own node could not tell.

    `plugins` are those that really ran, by kind. `units` are those that were added, superseded and dropped.
    """

    run_id: str
    session_id: str
    turn: int | None
    at: datetime
    status: str
    partial: bool
    asked: str
    preview: str
    answer_status: str | None
    plugins: dict[str, str]
    model: str | None
    level: int | None = Field(description="How hard the agent was to think.")
    warnings: list[str]
    error: RunErrorOut | None
    units: dict[str, Any]

    @classmethod
    def of(cls, told: ExplainedRun[Summary]) -> "SummaryOut":
        return cls(**_summarized(told.explanation, told.asked, told.preview))


class ExplanationOut(SummaryOut):
    """Why a run came out as it did: what happened in it, step by step."""

    stages: list[StageOut]
    budget: dict[str, Any]
    graph: GraphOut
    document: dict[str, Any] | None
    details: dict[str, Any]

    @classmethod
    def in_full(cls, told: ExplainedRun[Explanation]) -> "ExplanationOut":
        explanation = told.explanation
        return cls(
            **_summarized(explanation.summary, told.asked, told.preview),
            stages=[
                StageOut(name=stage.name, began_us=stage.began_us, took_us=stage.took_us, data=dict(stage.data))
                for stage in explanation.stages
            ],
            budget=dict(explanation.budget),
            graph=GraphOut.of(explanation.graph),
            document=None if explanation.document is None else dict(explanation.document),
            details=dict(explanation.details),
        )


def _summarized(summary: Summary, asked: str, preview: str) -> dict[str, Any]:
    return {
        "run_id": summary.run_id,
        "session_id": summary.session_id,
        "turn": summary.turn,
        "at": summary.at,
        "status": summary.status.value,
        "partial": summary.partial,
        "asked": asked,
        "preview": preview,
        "answer_status": summary.answer_status,
        "plugins": dict(summary.plugins),
        "model": summary.model,
        "level": summary.level,
        "warnings": list(summary.warnings),
        "error": None if summary.error is None else RunErrorOut.of(summary.error),
        "units": dict(summary.units),
    }
