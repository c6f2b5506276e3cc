"""The graph of a run as a tree, for terminals."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from turnkeeper.ledger.pictures import on_one_line, span
from turnkeeper.model.graph import Edge, EdgeType, Graph, Node, NodeType

OK = "ok"
# Nearer than the frame that holds them both: what an attempt used, gave and led to.
_NEAR = (EdgeType.PRODUCED, EdgeType.FAILED_AS, EdgeType.USES, EdgeType.SPAWNED_FROM, EdgeType.CONTAINS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLine:
    """One node, or with `said` one detail of the node above it; `lead` draws its place in the tree."""

    lead: str
    node: Node
    said: tuple[str, str] | None = None

    @property
    def kind(self) -> str:
        """What the label does not say by itself."""
        return "" if self.node.type.shows_in_its_label else self.node.type.value

    @property
    def label(self) -> str:
        if self.node.type is NodeType.DECISION:
            return on_one_line(" ".join([self.node.label, *(f"{name}={value}" for name, value in self.facts)]))
        purpose = self.node.metadata.get("purpose") if self.node.type is NodeType.FRAME else None
        return on_one_line(f"{self.node.label}, {purpose}" if purpose else self.node.label)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What a decision was made of, in short; what says nothing is left out."""
        return list(_facts(self.node.metadata)) if self.node.type is NodeType.DECISION else []

    @property
    def below(self) -> str:
        """What leads to a second line of the same node."""
        return self.lead.replace("├─ ", "│  ").replace("└─ ", "   ")

    @property
    def status(self) -> str:
        return "" if self.node.status == OK else on_one_line(self.node.status)

    @property
    def took(self) -> str:
        return span(self.node.took_us)

    @property
    def text(self) -> str:
        if self.said is not None:
            return f"{self.lead}{self.said[0]}: {self.said[1]}"
        name = " ".join(part for part in (self.kind, self.label) if part)
        return self.lead + "  ".join(part for part in (name, self.status, self.took) if part)


def _facts(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in metadata.items():
        if isinstance(value, list) and value:
            yield name, ",".join(map(str, value))
        elif isinstance(value, str | int | float) and value != "":
            yield name, str(value).lower() if isinstance(value, bool) else str(value)


def as_tree(graph: Graph, *, full: bool = False) -> str:
    """Every node once, under what it belongs to; with `full` also what it was given and what it gave."""
    return "\n".join(line.text for line in tree_lines(graph, full=full))


def tree_lines(graph: Graph, *, full: bool = False) -> Iterator[TreeLine]:
    parts = _parts_of(graph)
    # What is still to be told, last first: the node, what leads to it, and what leads to its own parts.
    waiting = _children("", parts[None])
    while waiting:
        node, lead, below = waiting.pop()
        yield TreeLine(lead=lead, node=node)
        children = parts.get(node.id, [])
        margin = below + ("│  " if children else "   ")
        details = (("in", node.input if full else None), ("out", node.output if full else None), ("error", node.error))
        for name, text in details:
            if text:
                yield TreeLine(lead=margin, node=node, said=(name, on_one_line(text)))
        waiting += _children(below, children)


def _children(below: str, nodes: list[Node]) -> list[tuple[Node, str, str]]:
    last = len(nodes) - 1
    placed = [
        (node, below + ("└─ " if place == last else "├─ "), below + ("   " if place == last else "│  "))
        for place, node in enumerate(nodes)
    ]
    return placed[::-1]


def _parts_of(graph: Graph) -> dict[str | None, list[Node]]:
    """The parts of every node, in the order in which they began; under None what belongs to nothing."""
    nodes = {node.id: node for node in graph.nodes}
    wholes: dict[str, str] = {}
    for type in _NEAR:
        for edge in graph.edges:
            if edge.type is type and edge.target not in wholes and _belongs(edge, nodes):
                wholes[edge.target] = edge.source
    _open_rings(wholes)
    parts: dict[str | None, list[Node]] = {None: []}
    for node in graph.nodes:
        parts.setdefault(wholes.get(node.id), []).append(node)
    return parts


def _belongs(edge: Edge, nodes: dict[str, Node]) -> bool:
    """Whether an edge leads from a whole to its part; a question does not hold the attempts at its answer."""
    source, target = nodes[edge.source], nodes[edge.target]
    if edge.type is EdgeType.CONTAINS or target.type is NodeType.FRAME:
        return True
    return source.frame_id == target.frame_id and source.type is not NodeType.SEED


def _open_rings(wholes: dict[str, str]) -> None:
    """Nothing is a part of its own parts: where an agent told so, one of them stands by itself."""
    safe: set[str] = set()
    for start in list(wholes):
        way: set[str] = set()
        at = start
        while at in wholes and at not in safe:
            if at in way:
                del wholes[at]
                break
            way.add(at)
            at = wholes[at]
        safe |= way
