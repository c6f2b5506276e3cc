"""sd-symbolic: what a message says and asks, by rules."""

from dataclasses import replace

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.reference import antecedent
from turnkeeper.agents.symbolic.wishes import as_wished
from turnkeeper.agents.symbolic.words import words_of
from turnkeeper.model.message import Speaker
from turnkeeper.model.unit import Unit
from turnkeeper.ports.extractor import Extractor
from turnkeeper.ports.plugins import Depth, Detection, PlannerHints, PluginCall, PluginDescriptor, PluginKind

MOST_KNOWN = 50


class SymbolicDetector:
    descriptor = PluginDescriptor(
        id="sd-symbolic",
        kind=PluginKind.SEED_DETECTOR,
        name="Symbolic seed detector",
        description="Reads facts, rules, preferences and questions out of a message by rules, without a model.",
        hints=PlannerHints(depth=Depth.SHALLOW),
    )

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor

    async def detect(self, text: str, call: PluginCall) -> Detection:
        corrects = self._extractor.corrects(text)
        known = await call.memory.newest(limit=MOST_KNOWN) if corrects else ()
        extraction = self._extractor.extract(text, known=known)
        said = [message.content for message in reversed(call.context.history) if message.role is Speaker.USER]
        units = extraction.units
        if any(_speaks_of_it(unit) for unit in units):
            topics = [unit.topic for unit in known or await call.memory.newest(limit=MOST_KNOWN)]
            name = antecedent(said, topics)
            units = tuple(replace(unit, topic=name) if name and _speaks_of_it(unit) else unit for unit in units)
        return as_wished(Detection(units=units, asked=extraction.asked), text)


def _speaks_of_it(unit: Unit) -> bool:
    """Whether it says "it" of something that its own message does not name."""
    first = unit.content.partition(" ")[0].casefold()
    named_here = not set(words_of(unit.topic)) <= set(words_of(unit.content))
    return first in speech().words["subject_pronouns"] and not named_here
