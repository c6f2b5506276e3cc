"""The plugins that come with turnkeeper."""

from collections.abc import Collection

from turnkeeper.agents.symbolic.detector import SymbolicDetector
from turnkeeper.agents.symbolic.entry_points import add_installed
from turnkeeper.agents.symbolic.fast_knowledge import FastKnowledge
from turnkeeper.agents.symbolic.planner import DefaultPlanner
from turnkeeper.agents.symbolic.registry import PluginRegistry
from turnkeeper.agents.symbolic.solver import SymbolicSolver
from turnkeeper.ports.extractor import Extractor
from turnkeeper.ports.plugins import PluginKind, Plugins


def gather_plugins(extractor: Extractor) -> PluginRegistry:
    """Ours first, then those of installed distributions."""
    registry = PluginRegistry()
    registry.declare(PluginKind.VALIDATOR)
    add_builtin(registry, extractor)
    add_installed(registry)
    return registry


def add_builtin(registry: Plugins, extractor: Extractor, *, without: Collection[str] = ()) -> None:
    """In their default order; `without` leaves out whole kinds."""
    for plugin in (DefaultPlanner(), SymbolicDetector(extractor), FastKnowledge(), SymbolicSolver()):
        if plugin.descriptor.kind not in without:
            registry.add(plugin)
