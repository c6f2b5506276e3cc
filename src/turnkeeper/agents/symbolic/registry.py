"""The plugins that this process has."""

from collections.abc import Sequence
from typing import cast

from turnkeeper.ports.plugins import (
    GoalSolver,
    KnowledgePlugin,
    Planner,
    Plugin,
    PluginDescriptor,
    PluginKind,
    SeedDetector,
    Validator,
)

WORK_OF_KIND: dict[str, tuple[str, ...]] = {
    PluginKind.PLANNER: ("plan",),
    PluginKind.SEED_DETECTOR: ("detect",),
    PluginKind.KNOWLEDGE: ("retrieve", "heard"),
    PluginKind.GOAL_SOLVER: ("solve",),
    PluginKind.VALIDATOR: ("judge",),
}
FIRST_KINDS = (PluginKind.PLANNER, PluginKind.SEED_DETECTOR, PluginKind.KNOWLEDGE, PluginKind.GOAL_SOLVER)


class PluginRegistry:
    """Knows four kinds from the start; a fifth is declared before its first plugin is added.

    Plugins of a kind stand in the order in which they were added, which is their default order.
    """

    def __init__(self) -> None:
        self._of_kind: dict[str, dict[str, Plugin]] = {kind: {} for kind in FIRST_KINDS}

    @property
    def kinds(self) -> Sequence[str]:
        return tuple(self._of_kind)

    def declare(self, kind: str) -> None:
        self._of_kind.setdefault(kind, {})

    def add(self, plugin: Plugin) -> None:
        descriptor = getattr(plugin, "descriptor", None)
        if not isinstance(descriptor, PluginDescriptor):
            raise ValueError(f"{type(plugin).__name__} has no descriptor of type PluginDescriptor")
        if descriptor.kind not in self._of_kind:
            known = ", ".join(self._of_kind)
            raise ValueError(
                f"plugin {descriptor.id!r} is of the unknown kind {str(descriptor.kind)!r}; known are {known}"
            )
        if any(descriptor.id in plugins for plugins in self._of_kind.values()):
            raise ValueError(f"a plugin {descriptor.id!r} is already registered")
        for name in WORK_OF_KIND.get(descriptor.kind, ()):
            if not callable(getattr(plugin, name, None)):
                raise ValueError(f"plugin {descriptor.id!r} is of kind {str(descriptor.kind)!r} and cannot {name}")
        self._of_kind[descriptor.kind][descriptor.id] = plugin

    def ids(self, kind: str) -> Sequence[str]:
        return tuple(self._of_kind.get(kind, ()))

    def descriptors(self, kind: str) -> tuple[PluginDescriptor, ...]:
        return tuple(plugin.descriptor for plugin in self._of_kind.get(kind, {}).values())

    def get(self, kind: str, plugin: str) -> Plugin | None:
        return self._of_kind.get(kind, {}).get(plugin)

    # `add` has seen that a plugin can do the work of its kind.

    def planner(self, plugin: str) -> Planner:
        return cast("Planner", self._of_kind[PluginKind.PLANNER][plugin])

    def seed_detector(self, plugin: str) -> SeedDetector:
        return cast("SeedDetector", self._of_kind[PluginKind.SEED_DETECTOR][plugin])

    def knowledge(self, plugin: str) -> KnowledgePlugin:
        return cast("KnowledgePlugin", self._of_kind[PluginKind.KNOWLEDGE][plugin])

    def goal_solver(self, plugin: str) -> GoalSolver:
        return cast("GoalSolver", self._of_kind[PluginKind.GOAL_SOLVER][plugin])

    def validator(self, plugin: str) -> Validator:
        return cast("Validator", self._of_kind[PluginKind.VALIDATOR][plugin])
