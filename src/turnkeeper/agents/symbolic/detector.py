"""sd-symbolic: what a message says and asks, by rules."""

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
        return Detection(units=extraction.units, asked=extraction.asked)
