"""The plugins that come with turnkeeper."""

from collections.abc import Collection

from turnkeeper.agents.symbolic.detector import SymbolicDetector
from turnkeeper.agents.symbolic.entry_points import add_installed
from turnkeeper.agents.symbolic.fast_knowledge import FastKnowledge
from turnkeeper.agents.symbolic.model_detector import ModelDetector
from turnkeeper.agents.symbolic.model_solver import ModelSolver
from turnkeeper.agents.symbolic.planner import DefaultPlanner
from turnkeeper.agents.symbolic.registry import PluginRegistry
from turnkeeper.agents.symbolic.solver import SymbolicSolver
from turnkeeper.ports.chat_model import ChatModel
from turnkeeper.ports.extractor import Extractor
from turnkeeper.ports.plugins import Plugin, PluginKind, Plugins


def gather_plugins(extractor: Extractor, model: ChatModel | None = None) -> PluginRegistry:
    """Ours first, then those of installed distributions. Without a model there are none that need one."""
    registry = PluginRegistry()
    registry.declare(PluginKind.VALIDATOR)
    add_builtin(registry, extractor, model)
    add_installed(registry)
    return registry


def add_builtin(
    registry: Plugins, extractor: Extractor, model: ChatModel | None = None, *, without: Collection[str] = ()
) -> None:
    """In their default order; `without` leaves out whole kinds."""
    ours: list[Plugin] = [DefaultPlanner(), SymbolicDetector(extractor), FastKnowledge(), SymbolicSolver()]
    if model is not None:
        ours += [ModelDetector(model), ModelSolver(model)]
    for plugin in ours:
        if plugin.descriptor.kind not in without:
            registry.add(plugin)
