"""What an orchestrator tells about itself when it is asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from turnkeeper.bus import carrier, recency, topics
from turnkeeper.bus.chains import Chains
from turnkeeper.bus.device import OwnedDevice
from turnkeeper.bus.matching import Pipeline
from turnkeeper.bus.message import Message
from turnkeeper.bus.pipeline.converse import Converse
from turnkeeper.bus.plugins import PipelinePlugin
from turnkeeper.bus.transformers import Hook
from turnkeeper.bus.working import Session

HOOKS = (Hook.UTTERANCE, Hook.METADATA, Hook.INTENT)
"""Where something passes here; the other hooks are where there is sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    pipeline: Pipeline
    chains: Chains
    converse: Converse
    device: OwnedDevice
    now: Callable[[], float]

    def answer(self, message: Message, session: Session) -> dict[str, Any] | None:
        """None is no question of this kind."""
        if message.type == topics.CONVERSE_LIST:
            known = self.device.read() if carrier.is_default(session) else session
            return {"converse_handlers": recency.conversing(self.converse.pruned(known, self.now()))}
        for hook in HOOKS:
            if message.type == topics.transformers_of(hook):
                return self.chains.listing(hook)
        for plugin in self.pipeline.plugins():
            if message.type == topics.intents_of(plugin.pipeline_id):
                return {"pipeline_id": plugin.pipeline_id, "intents": _listed(plugin, message.data)}
        return None


def _listed(plugin: PipelinePlugin, wanted: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a plugin could match, as far as it is asked for."""
    known = [
        {"intent_name": each.intent_name, "skill_id": each.skill_id, "lang": each.lang} for each in plugin.intents()
    ]
    filters = {name: wanted[name] for name in ("lang", "skill_id") if isinstance(wanted.get(name), str)}
    return [each for each in known if all(each[name] == value for name, value in filters.items())]
