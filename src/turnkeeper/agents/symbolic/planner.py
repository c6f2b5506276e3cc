"""planner-default: cheap plugins first, unless the question asks for depth or a plugin says that it fits better."""

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.words import stem, words_of
from turnkeeper.model.unit import Act
from turnkeeper.ports.plugins import (
    CostClass,
    Depth,
    Plan,
    PlannerHints,
    PlanRequest,
    PluginCall,
    PluginDescriptor,
    PluginKind,
)

COST = {CostClass.CHEAP: 0.0, CostClass.MODERATE: 0.08, CostClass.EXPENSIVE: 0.16}
DEPTH = {Depth.SHALLOW: -1, Depth.MEDIUM: 0, Depth.DEEP: 1}


class DefaultPlanner:
    """Orders by what plugins say of themselves; it learns nothing, so the same question is planned the same way."""

    descriptor = PluginDescriptor(
        id="planner-default",
        kind=PluginKind.PLANNER,
        name="Default planner",
        description="Cheap plugins first; heavy ones when depth is asked for.",
        hints=PlannerHints(depth=Depth.SHALLOW),
    )

    async def plan(self, request: PlanRequest, call: PluginCall) -> Plan:
        text = " ".join([*(seed.text for seed in request.seeds), *(unit.content for unit in request.guidance)])
        acts = {act for seed in request.seeds for act in seed.acts}
        return Plan(
            knowledge=_ranked(request.knowledge, text, acts, call.level),
            solvers=_ranked(request.solvers, text, acts, call.level),
            separate=len(request.seeds) > 1,
        )


def _ranked(plugins: tuple[PluginDescriptor, ...], text: str, acts: set[Act], level: int) -> tuple[str, ...]:
    words = set(words_of(text))
    stems = {stem(word) for word in words - speech().words["asking"]}
    depth = bool(words.intersection(speech().questions["depth"])) or level >= 2
    speed = bool(words.intersection(speech().questions["speed"]))

    def worth(place: int, plugin: PluginDescriptor) -> float:
        hints = plugin.hints
        value = 0.18 - 0.04 * place
        value += 0.24 if acts.intersection(hints.acts) else 0.0
        value += 0.08 * len(stems.intersection(stem(topic.casefold()) for topic in hints.topics))
        described = {stem(word) for word in words_of(plugin.description)}
        value += min(0.15, 0.03 * len(stems & described))
        heaviness = DEPTH[hints.depth] + COST[plugin.cost] * 6
        if depth:
            return value + 0.4 * heaviness
        return value - COST[plugin.cost] - (0.2 * heaviness if speed else 0.0)

    worths = {plugin.id: worth(place, plugin) for place, plugin in enumerate(plugins)}
    return tuple(sorted(worths, key=lambda plugin: -worths[plugin]))
