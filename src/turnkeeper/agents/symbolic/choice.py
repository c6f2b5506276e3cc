"""Which plugins may do a part of the turn, and in which order they are tried."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnkeeper.agents.symbolic.registry import PluginRegistry
from turnkeeper.errors import PluginNotFound
from turnkeeper.model.run_context import RunContext
from turnkeeper.ports.notes import Notes
from turnkeeper.ports.plugins import PluginKind

DEFAULTS: Mapping[str, str] = {PluginKind.PLANNER: "planner-default"}
PREFERENCE_UNKNOWN = "preferred_plugin_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """`pinned` were chosen by this request and are tried alone. `preferred` come first, and others follow."""

    registry: PluginRegistry
    pinned: Mapping[str, str]
    preferred: Mapping[str, str]
    limit: int

    def order(self, kind: str, ranked: Sequence[str] | None = None) -> tuple[str, ...]:
        """Ids to try, best first. `ranked` is a wish, so ids that are not registered are passed over."""
        if kind in self.pinned:
            return (self.pinned[kind],)
        known = self.registry.ids(kind)
        wished = known if ranked is None else [plugin for plugin in ranked if plugin in known]
        first = self.preferred.get(kind) or (DEFAULTS.get(kind) if ranked is None else None)
        if first is not None and first in known:
            wished = [first, *wished]
        return tuple(dict.fromkeys(wished))[: self.limit]

    def is_pinned(self, kind: str) -> bool:
        return kind in self.pinned


def choice_for(context: RunContext, registry: PluginRegistry, notes: Notes) -> Choice:
    """Raises PluginNotFound for a plugin that this request names and nobody knows. A preference may have gone."""
    for kind, plugin in context.explicit.plugins.items():
        if plugin and registry.get(kind, plugin) is None:
            raise PluginNotFound(kind, plugin, registry.ids(kind))
    preferred = {}
    unknown = {}
    for kind, plugin in context.preferred.plugins.items():
        if registry.get(kind, plugin) is not None:
            preferred[kind] = plugin
        elif plugin:
            unknown[kind] = plugin
    if unknown:
        notes.warn(PREFERENCE_UNKNOWN, unknown)
    return Choice(
        registry=registry,
        pinned={kind: plugin for kind, plugin in context.explicit.plugins.items() if plugin},
        preferred=preferred,
        limit=context.budget.limits.plugins_per_stage,
    )
