"""What happened inside a run as nodes and edges: frames, plugins, branches, results and what followed what."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class NodeType(StrEnum):
    STEP = "step"
    DECISION = "decision"
    FRAME = "frame"
    SEED = "seed"
    POLICY = "policy"
    PLANNER = "planner"
    PLUGIN = "plugin"
    TOOL = "tool"
    BRANCH = "branch"
    RESULT = "result"
    FAILURE = "failure"
    CANDIDATE = "candidate"
    COMPARISON = "comparison"
    CHALLENGE = "challenge"

    @property
    def shows_in_its_label(self) -> bool:
        """Whether one sees by the label what kind of node it is."""
        return self in (NodeType.STEP, NodeType.DECISION, NodeType.FRAME)


class EdgeType(StrEnum):
    """From cause to effect, from whole to part. `flow` joins executions in the order in which they began."""

    CONTAINS = "contains"
    SPAWNED_FROM = "spawned_from"
    USES = "uses"
    NEEDS = "needs"
    PRODUCED = "produced"
    FAILED_AS = "failed_as"
    DERIVED_FROM = "derived_from"
    COMPARES = "compares"
    CHALLENGES = "challenges"
    FLOW = "flow"
    RETRY = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """`began_us` counts from the beginning of the run. `input` and `output` are shortened where they are long."""

    id: str
    type: NodeType
    label: str
    status: str
    frame_id: str | None = None
    began_us: int = 0
    took_us: int = 0
    input: str | None = None
    output: str | None = None
    error: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    type: EdgeType
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Node ids are unique, and no edge dangles. `left_out` counts the nodes that were too many to keep."""

    root_frame_id: str | None = None
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    left_out: int = 0

    def __post_init__(self) -> None:
        ids = {node.id for node in self.nodes}
        if len(ids) != len(self.nodes):
            raise ValueError("the nodes of a Graph have ids of their own")
        if any(edge.source not in ids or edge.target not in ids for edge in self.edges):
            raise ValueError("an edge of a Graph joins two of its nodes")
        if len({(edge.type, edge.source, edge.target) for edge in self.edges}) != len(self.edges):
            raise ValueError("a Graph holds each edge once")
        if self.root_frame_id is not None and self.root_frame_id not in ids:
            raise ValueError("the root frame of a Graph is one of its nodes")
