"""What the stages of an old pipeline are called here.

Clients of the old kind send their whole pipeline with every utterance, and know nothing of agents. Theirs ends with
the last fallback, so that is where the agents follow: who understands nothing else is answered by one of them.
"""

import itertools
from collections.abc import Mapping, Sequence

STOP, CONVERSE, INTENTS, AGENTS = "stop", "converse", "intents", "agents"
LEVELS = ("high", "medium", "low")

_ENGINES = ("padatious", "padacioso", "adapt")


def _named(family: str, level: str) -> tuple[str, ...]:
    """As plugins are called, and as their stages were called before there were plugins."""
    return f"ovos-{family}-pipeline-plugin-{level}", f"{family}_{level}"


def _stages() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {
        "ovos-converse-pipeline-plugin": (CONVERSE,),
        "ovos-stop-pipeline-plugin": (STOP,),
        "ovos-persona-pipeline-plugin-low": (AGENTS,),
        "persona_low": (AGENTS,),
        "common_qa": (),
        "ovos-common-query-pipeline-plugin": (),
    }
    for level in LEVELS:
        found[f"ovos-m2v-pipeline-{level}"] = found[f"m2v_{level}"] = (INTENTS,)
        found.update(dict.fromkeys(_named("stop", level), (STOP,)))
        stage = f"fallback-{level}"
        found.update(dict.fromkeys(_named("fallback", level), (stage, AGENTS) if level == "low" else (stage,)))
    for family, level in itertools.product(_ENGINES, LEVELS):
        found.update(dict.fromkeys(_named(family, level), (INTENTS,)))
    # Media: every old client asks for it with every utterance, so nobody need be told each time that it is not here.
    for level in LEVELS:
        found.update(dict.fromkeys(_named("ocp", level), ()))
    return found


STAGES: Mapping[str, Sequence[str]] = _stages()


def stages(entry: str) -> Sequence[str]:
    """The stages that an entry stands for; what is not known stands for itself."""
    return STAGES.get(entry, (entry,))
