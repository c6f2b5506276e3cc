"""Collecting what an agent tells about its own doing."""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter_ns
from typing import Any

import msgspec

from turnkeeper.model.graph import Edge, EdgeType, Graph, Node, NodeType

UNFINISHED = "unfinished"
MOST_NODES = 500
MOST_CHARS = 300
_NOTHING: Mapping[str, Any] = {}


class RunNotes:
    """A Graph can be made of it at any moment; what is over the limits is left out and counted.

    Without details it keeps that something happened and how it came out: no input, no output, no document.
    """

    def __init__(self, began_ns: int | None = None, *, keeps_details: bool = True) -> None:
        self._keeps_details = keeps_details
        self._began = perf_counter_ns() if began_ns is None else began_ns
        self._nodes: dict[str, Node] = {}
        self._edges: dict[tuple[EdgeType, str, str], Edge] = {}
        self._root: str | None = None
        self._left_out = 0
        self.plugins: dict[str, str] = {}
        self.warnings: dict[str, Mapping[str, Any]] = {}
        self.status: str | None = None
        self.document: Mapping[str, Any] | None = None
        self.model: str | None = None
        self.level: int | None = None
        self.manifests: dict[str, str] = {}

    def begin(
        self,
        id: str,
        type: NodeType,
        label: str,
        *,
        frame_id: str | None = None,
        input: object = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if id not in self._nodes and len(self._nodes) >= MOST_NODES:
            self._left_out += 1
            return
        if type is NodeType.FRAME and self._root is None:
            self._root = id
        self._nodes[id] = Node(
            id=id,
            type=type,
            label=short(label) or id,
            status=UNFINISHED,
            frame_id=frame_id,
            began_us=self._now_us(),
            input=short(input) if self._keeps_details else None,
            metadata=dict(metadata or _NOTHING),
        )

    def end(
        self,
        id: str,
        status: str,
        *,
        output: object = None,
        error: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        begun = self._nodes.get(id)
        if begun is None:
            return
        self._nodes[id] = replace(
            begun,
            status=status,
            took_us=self._now_us() - begun.began_us,
            output=short(output) if self._keeps_details else None,
            error=short(error),
            metadata={**begun.metadata, **(metadata or _NOTHING)},
        )

    def edge(self, type: EdgeType, source: str, target: str) -> None:
        self._edges[(type, source, target)] = Edge(type=type, source=source, target=target)

    def ran(self, kind: str, plugin: str) -> None:
        self.plugins[kind] = plugin

    def answered(
        self,
        status: str,
        *,
        document: Mapping[str, Any] | None = None,
        model: str | None = None,
        level: int | None = None,
    ) -> None:
        self.status, self.model, self.level = status, model, level
        self.document = document if self._keeps_details else None

    def warn(self, code: str, detail: Mapping[str, Any] | None = None) -> None:
        self.warnings[code] = detail or _NOTHING

    def graph(self) -> Graph | None:
        """What was told so far; None when nothing was."""
        if not self._nodes:
            return None
        edges = tuple(
            edge for edge in self._edges.values() if edge.source in self._nodes and edge.target in self._nodes
        )
        return Graph(root_frame_id=self._root, nodes=tuple(self._nodes.values()), edges=edges, left_out=self._left_out)

    def _now_us(self) -> int:
        return (perf_counter_ns() - self._began) // 1000


def short(value: object) -> str | None:
    """As text, shortened so that an Explanation stays small."""
    if value is None:
        return None
    text = value if isinstance(value, str) else _as_json(value)
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"


def _as_json(value: object) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError):
        # Noting never fails: of what cannot be shown, such as a list that holds itself, its kind is told.
        return type(value).__name__
