"""Letting the skills that a conversation is with speak up before anybody else.

Who waits for an answer gets the next utterance, once. Else all that converse are asked, and the most recent one that
would take it has it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from turnkeeper.bus import recency, topics
from turnkeeper.bus.pipeline.polling import Question, asked, first_claim
from turnkeeper.bus.plugins import CONVERSE, RESPONSE, Claim, KnownIntent, Match, Utterance

WINDOW_SECONDS = 0.5
TTL_SECONDS = 300.0
DONE = "done"
"""What a skill says that wants to be asked no more."""


class Converse:
    def __init__(
        self,
        *,
        claims: Mapping[str, Claim] | None = None,
        window_seconds: float = WINDOW_SECONDS,
        ttl_seconds: float = TTL_SECONDS,
    ) -> None:
        """`claims` are the skills in this process, also those that come later. Who was last dispatched longer ago than
        the ttl is not asked."""
        self._claims: Mapping[str, Claim] = {} if claims is None else claims
        self._question = Question(topic=topics.CONVERSE_PING, answers=topics.CONVERSE_PONG, seconds=window_seconds)
        self._ttl_seconds = ttl_seconds

    @property
    def pipeline_id(self) -> str:
        return "converse"

    async def match(self, utterance: Utterance) -> Match | None:
        session = self.pruned(utterance.session, utterance.now)
        refused = recency.blacklisted(session)
        waiting = recency.holder(session, utterance.now)
        if waiting is not None and waiting not in refused:
            return _match(waiting, RESPONSE, utterance, recency.without_response_mode(session))
        order = [each["skill_id"] for each in recency.conversing(session) if each["skill_id"] not in refused]
        if not order:
            return None
        said = await asked(self._question, utterance, order, self._claims)
        winner = first_claim(order, said)
        if winner is None:
            return None
        done = [skill for skill, answer in said.items() if answer.error_code == DONE and skill != winner]
        return _match(winner, CONVERSE, utterance, recency.not_conversing(session, done))

    def intents(self) -> Sequence[KnownIntent]:
        return ()

    def pruned(self, session: Mapping[str, Any], now: float) -> dict[str, Any]:
        """The session as far as it still converses; also what a query about it is told."""
        kept = recency.pruned_converse(session, self._ttl_seconds, now)
        mode = kept.get("response_mode")
        return recency.without_response_mode(kept) if mode is not None and mode["expires_at"] <= now else kept


def _match(skill_id: str, intent_name: str, utterance: Utterance, session: dict[str, Any]) -> Match:
    return Match(
        skill_id=skill_id,
        intent_name=intent_name,
        lang=utterance.lang,
        utterance=utterance.first,
        updated_session=session,
    )
