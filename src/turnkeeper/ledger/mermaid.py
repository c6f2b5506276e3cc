"""The graph of a run as a Mermaid flowchart, for pages that draw it."""

from collections.abc import Iterator

from turnkeeper.ledger.pictures import Tone, on_one_line, span, tone_of
from turnkeeper.model.graph import Edge, EdgeType, Graph, Node, NodeType

MOST_CHARS = 80
_COLOURS = {
    Tone.GOOD: "fill:#d8f5dd,stroke:#2b8a3e,color:#12351b",
    Tone.DECLINED: "fill:#ffe2bf,stroke:#c76a00,color:#432400",
    Tone.LACKING: "fill:#fff6bf,stroke:#b59a00,color:#3b3300",
    Tone.BAD: "fill:#ffd9d9,stroke:#c92a2a,color:#4a0e0e",
    Tone.IDLE: "fill:#ececec,stroke:#8a8a8a,color:#333333",
    Tone.BUSY: "fill:#d6e8ff,stroke:#1c6ed2,color:#0b2b54",
}
_ARROWS = {EdgeType.FLOW: "-->", EdgeType.SPAWNED_FROM: "-.->", EdgeType.CONTAINS: "-.->", EdgeType.RETRY: "==>"}


def as_mermaid(graph: Graph) -> str:
    """A frame is a subgraph around what happened in it. Any text in a label leaves the chart well formed."""
    names = {node.id: f"n{place}" for place, node in enumerate(graph.nodes)}
    frames = {node.id for node in graph.nodes if node.type is NodeType.FRAME}
    lines = ["flowchart TD"]
    for node in graph.nodes:
        if node.id in frames:
            lines.append(f'  subgraph {names[node.id]}["{_label(node)}"]')
            lines += [f"    {_box(each, names)}" for each in graph.nodes if _frame_of(each, frames) == node.id]
            lines.append("  end")
        elif _frame_of(node, frames) is None:
            lines.append(f"  {_box(node, names)}")
    lines += [f"  {line}" for line in _arrows(graph, names, frames)]
    lines += [f"  {line}" for line in _paint(graph, names)]
    return "\n".join(lines)


def _box(node: Node, names: dict[str, str]) -> str:
    return f'{names[node.id]}["{_label(node)}"]'


def _label(node: Node) -> str:
    kind = "" if node.type.shows_in_its_label else f"{node.type.value} "
    text = on_one_line(f"{kind}{node.label}")
    shown = text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"
    took = span(node.took_us)
    return quoted(f"{shown} · {took}" if took else shown)


def quoted(text: str) -> str:
    """For the inside of a pair of quotes: all but letters, digits and harmless marks becomes its character code."""
    return "".join(letter if letter.isalnum() or letter in " ,.·…?!'_/=+-" else f"#{ord(letter)};" for letter in text)


def _frame_of(node: Node, frames: set[str]) -> str | None:
    """The frame that is drawn around a node. Frames stand beside each other."""
    return node.frame_id if node.frame_id in frames and node.id not in frames else None


def _arrows(graph: Graph, names: dict[str, str], frames: set[str]) -> Iterator[str]:
    frame_of = {node.id: _frame_of(node, frames) for node in graph.nodes}
    for edge in graph.edges:
        if not _is_shown_by_its_frame(edge, frame_of):
            said = "" if edge.type is EdgeType.FLOW else f"|{edge.type.value.replace('_', ' ')}|"
            yield f"{names[edge.source]} {_ARROWS.get(edge.type, '-->')}{said} {names[edge.target]}"


def _is_shown_by_its_frame(edge: Edge, frame_of: dict[str, str | None]) -> bool:
    """A box cannot have an arrow to what is inside it, and needs none."""
    return edge.source in (edge.target, frame_of[edge.target]) or edge.target == frame_of[edge.source]


def _paint(graph: Graph, names: dict[str, str]) -> Iterator[str]:
    for tone, colours in _COLOURS.items():
        painted = [names[node.id] for node in graph.nodes if tone_of(node.status) is tone]
        if painted:
            yield f"classDef {tone.value} {colours}"
            yield f"class {','.join(painted)} {tone.value}"
