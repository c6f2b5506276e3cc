"""How an Explanation is written down: what it does not say takes no room.

Every turn writes one. Reading needs nothing of this, since a field that is missing has its default.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from turnkeeper.model.explanation import Explanation
from turnkeeper.model.graph import Edge, Graph
from turnkeeper.model.run import RunError

NOT_WRITABLE = "explanation_not_writable"
_encode = msgspec.json.Encoder(enc_hook=str).encode


class _Stage(msgspec.Struct, omit_defaults=True):
    name: str
    began_us: int
    took_us: int
    data: Mapping[str, Any] = msgspec.field(default_factory=dict)


class _Node(msgspec.Struct, omit_defaults=True):
    id: str
    type: str
    label: str
    status: str
    frame_id: str | None = None
    began_us: int = 0
    took_us: int = 0
    input: str | None = None
    output: str | None = None
    error: str | None = None
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)


class _Graph(msgspec.Struct, omit_defaults=True):
    root_frame_id: str | None
    nodes: list[_Node]
    edges: tuple[Edge, ...]
    left_out: int = 0


class _Explanation(msgspec.Struct, omit_defaults=True):
    run_id: str
    session_id: str
    status: str
    at: datetime
    turn: int | None = None
    stages: list[_Stage] = msgspec.field(default_factory=list)
    budget: Mapping[str, Any] = msgspec.field(default_factory=dict)
    error: RunError | None = None
    warnings: tuple[str, ...] = ()
    partial: bool = False
    plugins: Mapping[str, str] = msgspec.field(default_factory=dict)
    answer_status: str | None = None
    model: str | None = None
    level: int | None = None
    document: Mapping[str, Any] | None = None
    units: Mapping[str, Any] = msgspec.field(default_factory=dict)
    notes: _Graph | None = None
    details: Mapping[str, Any] = msgspec.field(default_factory=dict)


def written(explanation: Explanation) -> str:
    """As JSON. What an agent told and no JSON can hold is left out: it must not keep the run from its end."""
    try:
        return _written(explanation)
    except (TypeError, ValueError, RecursionError):
        warnings = (*explanation.warnings, NOT_WRITABLE)
        return _written(replace(explanation, notes=None, document=None, details={}, warnings=warnings))


def _written(explanation: Explanation) -> str:
    # By place, not by name: every turn does this, and names would make it dearer than writing everything.
    return _encode(
        _Explanation(
            explanation.run_id,
            explanation.session_id,
            explanation.status,
            explanation.at,
            explanation.turn,
            [_Stage(stage.name, stage.began_us, stage.took_us, stage.data) for stage in explanation.stages],
            explanation.budget,
            explanation.error,
            explanation.warnings,
            explanation.partial,
            explanation.plugins,
            explanation.answer_status,
            explanation.model,
            explanation.level,
            explanation.document,
            explanation.units,
            None if explanation.notes is None else _graph(explanation.notes),
            explanation.details,
        )
    ).decode()


def _graph(notes: Graph) -> _Graph:
    nodes = [
        _Node(
            node.id,
            node.type,
            node.label,
            node.status,
            node.frame_id,
            node.began_us,
            node.took_us,
            node.input,
            node.output,
            node.error,
            node.metadata,
        )
        for node in notes.nodes
    ]
    return _Graph(notes.root_frame_id, nodes, notes.edges, notes.left_out)
