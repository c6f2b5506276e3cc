"""Critics that come with turnkeeper."""

from turnkeeper.model.event import Event
from turnkeeper.model.verdict import Judgement, Phase, Verdict
from turnkeeper.ports.agent import AgentTurn

LOW_CONFIDENCE = "low_confidence"
_BADLY_HEARD = {
    "asr_truncated": "The end of what you said was cut off. Please say it again.",
    "asr_low_confidence": "I did not hear you well. Please say it again.",
}


class HeardWell:
    """Refuses a spoken turn whose transcript is doubtful, rather than act on words that were never said.

    `least` is how sure the transcript must be, from 0 to 1. What was written passes.
    """

    def __init__(self, least: float = 0.6) -> None:
        if not 0 <= least <= 1:
            raise ValueError("least lies between 0 and 1")
        self.least = least

    async def verify(self, turn: AgentTurn) -> Verdict:
        reasons = tuple(dict.fromkeys(reason for event in turn.events for reason in self._doubts(event)))
        if not reasons:
            return Verdict(phase=Phase.VERIFY, value=Judgement.OK)
        return Verdict(phase=Phase.VERIFY, value=Judgement.REJECT, kind=LOW_CONFIDENCE, reasons=reasons)

    def _doubts(self, event: Event) -> list[str]:
        doubts = [_BADLY_HEARD[warning.code] for warning in event.warnings if warning.code in _BADLY_HEARD]
        if event.confidence is not None and event.confidence < self.least:
            doubts.append(_BADLY_HEARD["asr_low_confidence"])
        return doubts
