"""Finding a skill that would take what nobody else understood."""

import logging
import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from turnkeeper.bus import recency, topics
from turnkeeper.bus.message import Message
from turnkeeper.bus.pipeline.polling import Question, asked, first_claim
from turnkeeper.bus.plugins import FALLBACK, Claim, KnownIntent, Match, Utterance

log = logging.getLogger(__name__)

WINDOW_SECONDS = 0.5
MOST_SKILLS = 1024
DEFAULT_PRIORITY = 50


class Tier(StrEnum):
    """Which priorities are asked at which stage: the more special a skill is, the lower its priority."""

    HIGH = "fallback-high"
    MEDIUM = "fallback-medium"
    LOW = "fallback-low"

    def holds(self, priority: float) -> bool:
        lowest, end = RANGES[self]
        return lowest <= priority < end


RANGES = {Tier.HIGH: (-math.inf, 5.0), Tier.MEDIUM: (5.0, 90.0), Tier.LOW: (90.0, math.inf)}


class FallbackSkills:
    """Who offers to take what nobody understood; each says so over the bus, or is told of in this process."""

    def __init__(self) -> None:
        self._priorities: dict[str, float] = {}
        self.claims: dict[str, Claim] = {}

    def add(self, skill_id: str, priority: int = DEFAULT_PRIORITY, claim: Claim | None = None) -> None:
        """A `claim` makes it a skill of this process, which nobody asks over the bus. Raises ValueError."""
        if not self._put(skill_id, priority):
            raise ValueError(f"{skill_id!r} cannot be a fallback of priority {priority!r}")
        if claim is not None:
            self.claims[skill_id] = claim

    def heard(self, message: Message) -> None:
        skill_id = message.data.get("skill_id")
        if message.type == topics.FALLBACK_REGISTER:
            if not self._put(skill_id, message.data.get("priority", DEFAULT_PRIORITY)):
                log.warning("fallback not registered", extra={"skill_id": repr(skill_id)[:200]})
        elif message.type == topics.FALLBACK_DEREGISTER and isinstance(skill_id, str) and skill_id not in self.claims:
            self._priorities.pop(skill_id, None)

    def of(self, tier: Tier, session: Mapping[str, Any]) -> list[str]:
        """In which order the skills of a tier are asked: as the session prefers, then by priority."""
        there = [skill for skill, priority in self._priorities.items() if tier.holds(priority)]
        preferred = session.get("fallback_handlers")
        ranks = {skill: rank for rank, skill in enumerate(preferred)} if isinstance(preferred, list) else {}
        refused = recency.blacklisted(session)
        wanted = [skill for skill in there if skill not in refused]
        return sorted(wanted, key=lambda skill: (ranks.get(skill, math.inf), self._priorities[skill], skill))

    def _put(self, skill_id: Any, priority: Any) -> bool:
        is_sound = isinstance(skill_id, str) and bool(skill_id) and ":" not in skill_id and len(skill_id) <= 200
        is_number = isinstance(priority, int | float) and not isinstance(priority, bool)
        if not is_sound or not is_number:
            return False
        if skill_id not in self._priorities and len(self._priorities) >= MOST_SKILLS:
            return False
        self._priorities[skill_id] = priority
        return True


class Fallback:
    """One stage of three, each with the skills of its tier."""

    def __init__(self, tier: Tier, skills: FallbackSkills, *, window_seconds: float = WINDOW_SECONDS) -> None:
        self._tier = tier
        self._skills = skills
        self._question = Question(topic=topics.FALLBACK_PING, answers=topics.FALLBACK_PONG, seconds=window_seconds)

    @property
    def pipeline_id(self) -> str:
        return self._tier.value

    def heard(self, message: Message) -> None:
        self._skills.heard(message)

    async def match(self, utterance: Utterance) -> Match | None:
        order = self._skills.of(self._tier, utterance.session)
        if not order:
            return None
        winner = first_claim(order, await asked(self._question, utterance, order, self._skills.claims))
        if winner is None:
            return None
        return Match(skill_id=winner, intent_name=FALLBACK, lang=utterance.lang, utterance=utterance.first)

    def intents(self) -> Sequence[KnownIntent]:
        return ()


def fallbacks(skills: FallbackSkills, *, window_seconds: float = WINDOW_SECONDS) -> tuple[Fallback, ...]:
    """The three stages over the same skills."""
    return tuple(Fallback(tier, skills, window_seconds=window_seconds) for tier in Tier)
