"""The inspectable record of one run, failed ones too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from turnkeeper.model.feed import FeedEntry
from turnkeeper.model.graph import Graph
from turnkeeper.model.ids import RunId, SessionId
from turnkeeper.model.run import Run, RunError, RunStatus

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one step of the pipeline decided: its name, when it began and how long it took, in microseconds."""

    name: str
    began_us: int
    took_us: int
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """`plugins` are those that really ran, by kind; `units` what was added, superseded and dropped, by id.

    `notes` is what the agent told about its own doing; `details` says more about a warning, by its code.
    """

    run_id: RunId
    session_id: SessionId
    status: RunStatus
    at: datetime
    turn: int | None = None
    stages: tuple[Stage, ...] = ()
    budget: Mapping[str, Any] = field(default_factory=dict)
    error: RunError | None = None
    warnings: tuple[str, ...] = ()
    partial: bool = False
    plugins: Mapping[str, str] = field(default_factory=dict)
    answer_status: str | None = None
    model: str | None = None
    level: int | None = None
    document: Mapping[str, Any] | None = None
    units: Mapping[str, Any] = field(default_factory=dict)
    notes: Graph | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def graph(self) -> dict[str, Any]:
        """The stages as nodes in the order in which they followed each other."""
        nodes = [
            {"id": f"{place}:{stage.name}", "label": stage.name, "took_us": stage.took_us, **stage.data}
            for place, stage in enumerate(self.stages)
        ]
        edges = [{"from": before["id"], "to": after["id"], "kind": "then"} for before, after in pairwise(nodes)]
        return {"nodes": nodes, "edges": edges}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRun:
    """An Explanation beside the beginning of what was asked and of what was answered, or of why it was not."""

    explanation: Explanation
    asked: str
    preview: str


def explain_from_feed(
    run: Run, entries: tuple[FeedEntry, ...], status: RunStatus, at: datetime, error: RunError | None
) -> Explanation:
    """What can still be told of a run whose own node no longer speaks. It may be partial, and says so."""
    stages = tuple(
        Stage(name=entry.type.value, began_us=(entry.at - run.accepted_at) // _MICROSECOND, took_us=0)
        for entry in entries
    )
    return Explanation(
        run_id=run.id, session_id=run.session_id, status=status, at=at, stages=stages, error=error, partial=True
    )
