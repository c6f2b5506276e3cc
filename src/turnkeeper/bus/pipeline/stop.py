"""Stopping what goes on, or everything, when that is all that somebody says."""

from collections.abc import Mapping, Sequence

from turnkeeper.bus import recency, topics
from turnkeeper.bus.handlers import Dispatch
from turnkeeper.bus.pipeline.polling import Question, asked, first_claim
from turnkeeper.bus.pipeline.stop_words import EVERYTHING, STOP
from turnkeeper.bus.pipeline.words import MOST_CHARACTERS, folded
from turnkeeper.bus.plugins import GLOBAL_STOP, STOPPED, Claim, KnownIntent, Match, Utterance

WINDOW_SECONDS = 0.5


class Stop:
    """Recognises a stop only if nothing else is said. It goes to one skill: the most recent that can be stopped."""

    def __init__(self, *, claims: Mapping[str, Claim] | None = None, window_seconds: float = WINDOW_SECONDS) -> None:
        """`claims` are the skills in this process, also those that come later."""
        self._claims: Mapping[str, Claim] = {} if claims is None else claims
        self._question = Question(topic=topics.STOP_PING, answers=topics.STOP_PONG, seconds=window_seconds)

    @property
    def pipeline_id(self) -> str:
        return "stop"

    async def match(self, utterance: Utterance) -> Match | None:
        if len(utterance.first) > MOST_CHARACTERS:
            return None
        language, words = utterance.lang.split("-")[0].casefold(), " ".join(folded(utterance.first))
        if words in EVERYTHING.get(language, ()):
            return self._everything(utterance)
        if words not in STOP.get(language, ()):
            return None
        active = recency.without(recency.active(utterance.session), {self.pipeline_id})
        if not active:
            return self._everything(utterance)
        allowed = recency.without(active, recency.blacklisted(utterance.session))
        if not allowed:
            return None
        # Sorting keeps the one nearer the head first where two are equally recent.
        order = [each["skill_id"] for each in sorted(allowed, key=lambda each: -float(each["activated_at"]))]
        said = await asked(self._question, utterance, order, self._claims)
        return self._one(utterance, first_claim(order, said) or order[0])

    def intents(self) -> Sequence[KnownIntent]:
        return [KnownIntent(skill_id=self.pipeline_id, intent_name=GLOBAL_STOP, lang=lang) for lang in sorted(STOP)]

    def _one(self, utterance: Utterance, skill_id: str) -> Match:
        session = recency.deactivated(utterance.session, skill_id)
        if session.get("response_mode", {}).get("skill_id") == skill_id:
            session = recency.without_response_mode(session)
        return Match(
            skill_id=skill_id,
            intent_name=STOPPED,
            lang=utterance.lang,
            utterance=utterance.first,
            updated_session=session,
        )

    def _everything(self, utterance: Utterance) -> Match:
        session = recency.without_response_mode(utterance.session)
        return Match(
            skill_id=self.pipeline_id,
            intent_name=GLOBAL_STOP,
            lang=utterance.lang,
            utterance=utterance.first,
            updated_session={**session, "active_handlers": [], "converse_handlers": []},
        )


async def stop_everything(dispatch: Dispatch) -> None:
    """Handles a global stop: everybody stops what they do for this session."""
    await dispatch.emit(topics.STOP)
