"""The inspectable record of one run, failed ones too."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any, Generic, TypeVar

from turnkeeper.model.feed import FeedEntry
from turnkeeper.model.graph import Edge, EdgeType, Graph, Node, NodeType
from turnkeeper.model.ids import RunId, SessionId
from turnkeeper.model.run import Run, RunError, RunStatus

HAND_OFF = "hand_off"
PREVIEW_CHARS = 160
_MICROSECOND = timedelta(microseconds=1)


class Detail(StrEnum):
    """How much is told of a run: how it came out, or all that happened in it."""

    SUMMARY = "summary"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one step of the pipeline decided: its name, when it began and how long it took, in microseconds."""

    name: str
    began_us: int
    took_us: int
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_decision(self) -> bool:
        """Whether it is something that a step decided, rather than the step; those names are in capitals."""
        return self.name.isupper()


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
    def summary(self) -> "Summary":
        return Summary(
            run_id=self.run_id,
            session_id=self.session_id,
            status=self.status,
            at=self.at,
            turn=self.turn,
            error=self.error,
            warnings=self.warnings,
            partial=self.partial,
            plugins=self.plugins,
            answer_status=self.answer_status,
            model=self.model,
            level=self.level,
            units=self.units,
        )

    @property
    def graph(self) -> Graph:
        """The steps in the order in which they followed each other, under each what it decided, and under `hand_off`
        what the agent told.

        It can be drawn whatever the end of the run: every step has a status, and no edge dangles.
        """
        notes = self.notes or Graph()
        stages = self._stage_nodes(_prefix_beside(notes))
        steps = [node for node in stages if node.type is NodeType.STEP]
        flow = [Edge(type=EdgeType.FLOW, source=one.id, target=next.id) for one, next in pairwise(steps)]
        under = next((node for node in reversed(steps) if node.label == HAND_OFF), steps[-1] if steps else None)
        tops = _tops_of(notes) if under is not None else ()
        hung = [Edge(type=EdgeType.CONTAINS, source=under.id, target=top) for top in tops] if under else []
        return Graph(
            root_frame_id=notes.root_frame_id,
            nodes=(*stages, *notes.nodes),
            edges=(*flow, *_decided(stages), *hung, *notes.edges),
            left_out=notes.left_out,
        )

    def _stage_nodes(self, prefix: str) -> list[Node]:
        last = self._place_of_its_end()
        return [
            Node(
                id=f"{prefix}-{place}",
                type=NodeType.DECISION if stage.is_decision else NodeType.STEP,
                label=stage.name,
                status=self._status_of_its_end() if place == last else "ok",
                began_us=stage.began_us,
                took_us=stage.took_us,
                error=f"{self.error.code}: {self.error.message}" if place == last and self.error else None,
                metadata=stage.data,
            )
            for place, stage in enumerate(self.stages)
        ]

    def _place_of_its_end(self) -> int | None:
        """The step in which a run came to an end that is no answer, by its place."""
        if self.status is RunStatus.COMPLETED or not self.stages:
            return None
        named = [place for place, stage in enumerate(self.stages) if self.error and stage.name == self.error.stage]
        return named[-1] if named else len(self.stages) - 1

    def _status_of_its_end(self) -> str:
        if self.error is not None:
            return "failed"
        if self.status is RunStatus.WAITING:
            return "waiting"
        return "unfinished" if self.status.is_open else "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What an Explanation tells of how a run came out, without what happened in it."""

    run_id: RunId
    session_id: SessionId
    status: RunStatus
    at: datetime
    turn: int | None = None
    error: RunError | None = None
    warnings: tuple[str, ...] = ()
    partial: bool = False
    plugins: Mapping[str, str] = field(default_factory=dict)
    answer_status: str | None = None
    model: str | None = None
    level: int | None = None
    units: Mapping[str, Any] = field(default_factory=dict)


Told = TypeVar("Told", Explanation, Summary)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRun(Generic[Told]):
    """An Explanation beside the beginning of what was asked and of what was answered, or of why it was not."""

    explanation: Told
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


def _decided(stages: list[Node]) -> Iterator[Edge]:
    """A decision is told before the step that takes it is over, so it belongs to the step that comes next."""
    step = None
    for node in reversed(stages):
        if node.type is NodeType.STEP:
            step = node
        elif step is not None:
            yield Edge(type=EdgeType.CONTAINS, source=step.id, target=node.id)


def _prefix_beside(notes: Graph) -> str:
    """What the ids of steps begin with, so that none of them is an id that the agent chose."""
    prefix = "step"
    while any(node.id.startswith(f"{prefix}-") for node in notes.nodes):
        prefix += "_"
    return prefix


def _tops_of(notes: Graph) -> tuple[str, ...]:
    """The root frame, and whatever else nothing leads to."""
    led_to = {edge.target for edge in notes.edges if edge.source != edge.target} - {notes.root_frame_id}
    return tuple(node.id for node in notes.nodes if node.id not in led_to)
