"""Noting what happens inside a turn as a graph: frames, seeds, executions, branches and what came of them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from turnkeeper.agents.symbolic.levels import Level
from turnkeeper.model.graph import EdgeType, NodeType
from turnkeeper.ports.notes import Notes
from turnkeeper.ports.plugins import PluginDescriptor, PluginKind, Seed


class FrameTrail:
    """One frame in the graph. Executions in it are joined in the order in which they began."""

    def __init__(self, trail: "Trail", id: str, depth: int, last: str | None) -> None:
        self.trail, self.id, self.depth = trail, id, depth
        self._last = last
        self._planned: str | None = None
        self._failed_at: dict[str, str] = {}

    def child(self, *, purpose: str, seed: Seed, level: Level, max_depth: int) -> "FrameTrail":
        child = self.trail.frame(
            depth=self.depth + 1, purpose=purpose, seeds=(seed,), level=level, max_depth=max_depth, last=self._last
        )
        self.trail.notes.edge(EdgeType.SPAWNED_FROM, self.id, child.id)
        self.trail.notes.edge(EdgeType.SPAWNED_FROM, self.seed_id(seed), child.seed_id(seed))
        return child

    def seed_id(self, seed: Seed) -> str:
        return f"{self.id}:{seed.id}"

    def begin_seed(self, seed: Seed) -> None:
        metadata = {"acts": [act.value for act in seed.acts], "asks": seed.asks}
        self._begin(self.seed_id(seed), NodeType.SEED, seed.text, metadata=metadata)
        self.trail.notes.end(self.seed_id(seed), "active")

    def begin_execution(self, descriptor: PluginDescriptor, input: object) -> str:
        """A plugin starts. One that follows a failure of its own kind is tried in its place."""
        type = NodeType.PLANNER if descriptor.kind == PluginKind.PLANNER else NodeType.PLUGIN
        id = self.trail.new_id(type.value)
        metadata = {
            "plugin": descriptor.id,
            "plugin_name": descriptor.name,
            "plugin_kind": descriptor.kind,
            "planner": self.trail.planner,
        }
        self._begin(id, type, descriptor.id, input=input, metadata=metadata)
        if self._last is not None:
            self.trail.notes.edge(EdgeType.FLOW, self._last, id)
        if descriptor.kind in self._failed_at:
            self.trail.notes.edge(EdgeType.RETRY, self._failed_at.pop(descriptor.kind), id)
        self._last = id
        if type is NodeType.PLANNER:
            self._planned = id
        return id

    def planner_led_nowhere(self) -> None:
        """What follows is tried in place of the last plan."""
        if self._planned is not None:
            self._failed_at[PluginKind.PLANNER] = self._planned

    def failed_execution(self, id: str, kind: str) -> None:
        self._failed_at[kind] = id

    def begin(self, type: NodeType, label: str, *, metadata: Mapping[str, Any] | None = None) -> str:
        """A branch, result, failure, candidate, comparison or challenge of this frame."""
        id = self.trail.new_id(type.value)
        self._begin(id, type, label, metadata=metadata)
        return id

    def _begin(
        self,
        id: str,
        type: NodeType,
        label: str,
        *,
        input: object = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.trail.notes.begin(id, type, label, frame_id=self.id, input=input, metadata=metadata)
        self.trail.notes.edge(EdgeType.CONTAINS, self.id, id)

    def policy_id(self) -> str:
        return f"{self.id}:policy"

    def end(self, status: str, **metadata: Any) -> None:
        self.trail.notes.end(self.id, status, metadata=metadata)


class Trail:
    """All frames of one turn. `planner` is the one whose plans are followed now."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.planner: str | None = None
        self._numbers: Counter[str] = Counter()

    def new_id(self, prefix: str) -> str:
        self._numbers[prefix] += 1
        return f"{prefix}-{self._numbers[prefix]}"

    def frame(
        self,
        *,
        depth: int,
        purpose: str,
        level: Level,
        max_depth: int,
        seeds: tuple[Seed, ...] = (),
        input: object = None,
        last: str | None = None,
    ) -> FrameTrail:
        id = f"frame-{self._numbers['frame']}"
        self._numbers["frame"] += 1
        metadata = {"purpose": purpose, "depth": depth, "max_depth": max_depth, "level": level.number}
        shown = input if input is not None else [seed.text for seed in seeds]
        # Frames side by side are told apart by their question.
        label = seeds[0].text if len(seeds) == 1 else f"frame {depth}"
        self.notes.begin(id, NodeType.FRAME, label, frame_id=id, input=shown, metadata=metadata)
        frame = FrameTrail(self, id, depth, last)
        for seed in seeds:
            frame.begin_seed(seed)
        policy = {"closure": level.closure, "floor": level.floor, "candidates": level.candidates}
        frame._begin(frame.policy_id(), NodeType.POLICY, f"level {level.number}", metadata=policy)
        self.notes.end(frame.policy_id(), "single-shot" if level.number == 0 else "exploring")
        return frame
